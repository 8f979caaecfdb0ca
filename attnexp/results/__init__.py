"""Tables and statistics of runs, read back from what runs left on disk."""
