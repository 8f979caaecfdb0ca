"""One attention, computed step by step from tensors that are described in words."""
