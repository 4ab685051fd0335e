"""The store: one append-only SQLite log a project, the only channel between a worker and whoever watches."""
