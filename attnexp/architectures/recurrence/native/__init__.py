"""The steps of the recurrences in C: see `attnexp.architectures.compiled`."""
