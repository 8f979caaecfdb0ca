"""Pictures of runs, drawn from what runs left on disk."""
