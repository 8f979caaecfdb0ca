"""One page about runs, to send to somebody."""
