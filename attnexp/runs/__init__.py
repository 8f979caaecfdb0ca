"""Runs on disk: their files are written and read only here."""
