"""Whole files and folders of text: cut into parts, translated here or on a Ray cluster, put together again in order."""
