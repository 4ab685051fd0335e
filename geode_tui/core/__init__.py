"""Values and pure functions that every room shares. No I/O, no clock, no globals."""
