"""Executors, which run the jobs of a sweep on this machine or through one of Hydra's launchers."""
