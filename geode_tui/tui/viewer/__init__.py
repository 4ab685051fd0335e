"""Looking at bytes of any size: as text, as a JSON tree, in hexadecimal. Only what is on screen is read."""
