"""Models that are built around a scoring function. They know no data set."""
