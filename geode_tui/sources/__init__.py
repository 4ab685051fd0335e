"""Foreign runs: what other programs wrote of their agents, turned into the same messages and events."""
