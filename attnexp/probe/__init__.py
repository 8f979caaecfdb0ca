"""What a trained model answers once its attention weights are replaced."""
