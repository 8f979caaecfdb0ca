"""Cards: a battery of trials of a score, a normalizer or positions, next to named baselines."""
