"""What runs the jobs of a sweep: this machine, or one of Hydra's launchers."""
