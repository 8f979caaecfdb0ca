"""The training loop, and the parts of one run around it."""
