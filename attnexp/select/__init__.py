"""Which runs: collecting, testing and grouping them, and their rows."""
