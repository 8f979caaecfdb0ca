"""Modules that every part may import: batches, masks, errors, the console, whole files."""
