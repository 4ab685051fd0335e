"""The front door: wiring only. Every command is a small module; everything heavy is imported inside it."""
