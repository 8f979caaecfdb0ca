"""The forward pass of a trained model as a graph of operations, which a page computes again."""
