"""Statistics: numbers by seed in, intervals, tests and verdicts out. Knows nothing of runs."""
