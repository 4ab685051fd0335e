"""The full-screen cockpit: Textual only. It reads the log by `view.follow` and writes nothing but commands."""
