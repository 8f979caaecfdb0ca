"""Tables of runs and their statistics."""
