"""The tools of an agent: each checks, prepares and then acts inside the project."""
