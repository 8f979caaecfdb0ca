"""Published claims as data: what is run, what was predicted, and how the runs decide."""
