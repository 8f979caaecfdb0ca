"""The tools that a run's numbers and pictures are copied to, next to its folder."""
