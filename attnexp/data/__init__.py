"""Data sets, one a file. They know no architecture."""
