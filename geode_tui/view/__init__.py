"""The fold: everything a person sees is `RunState`, made from the log's events and nothing else."""
