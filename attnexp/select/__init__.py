"""Selection of runs: finding, filtering and grouping them, and the samples of their rows."""
