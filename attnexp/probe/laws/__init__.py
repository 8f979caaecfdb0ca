"""The laws of interventions: pure functions from the weights of rows to those that replace them."""
