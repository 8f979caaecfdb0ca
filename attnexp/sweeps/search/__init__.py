"""Search: Optuna proposes points of a space, which are run as jobs."""
