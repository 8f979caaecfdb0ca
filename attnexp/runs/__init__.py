"""What runs leave on disk: the one door through which it is written and read."""
