"""Vocabularies of tokenisers, compressed. See NOTICE."""
