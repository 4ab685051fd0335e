"""geode-tui: a runtime for long LLM-agent runs and the terminal cockpit to watch and steer them."""

__version__ = "0.1.0"
