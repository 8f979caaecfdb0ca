"""The training loop and the course of one run."""
