"""Pictures of runs, drawn from their files."""
