"""What claims compute without training: from a seed to points of curves."""
