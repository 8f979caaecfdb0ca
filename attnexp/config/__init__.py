"""Hydra's side: composing a configuration, checking it, and building its objects."""
