"""attnexp's sweepers, which Hydra imports at every start. Nothing heavy is imported here."""
