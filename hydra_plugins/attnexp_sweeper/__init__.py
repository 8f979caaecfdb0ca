"""attnexp's sweepers, for Hydra to find. Imported at every start, so nothing heavy is here."""
