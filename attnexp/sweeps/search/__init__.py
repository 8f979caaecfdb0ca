"""The search of hydra/sweeper=optuna: Optuna proposes points of a space, which are run as jobs."""
