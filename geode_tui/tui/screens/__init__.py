"""One module a screen, each with its look beside it."""
