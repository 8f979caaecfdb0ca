"""The answers of a trained model with other attention weights."""
