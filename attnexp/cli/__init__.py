"""One verb of the command line a file; nothing else reads the arguments."""
