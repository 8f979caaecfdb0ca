"""Pictures of runs, drawn from what runs stored."""
