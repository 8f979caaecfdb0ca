"""The steps of the recurrences in C, compiled at first use: see `library`."""
