"""Where a run comes from: its code and machine, its command line, and its repetition."""
