"""Runs of other tools, written as run folders. Nothing in their files is executed or unpickled."""
