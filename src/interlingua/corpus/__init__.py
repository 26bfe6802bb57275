"""Parallel text to pairs of strings: read lines, pair them, split, fingerprint; the embedded corpora."""
