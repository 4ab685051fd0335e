"""Numbered migrations: ``NNNN_name.sql``, applied in order, each once."""
