"""The tools whose runs are imported."""

SOURCES = {
    "csv": ("attnexp.imported.csv_table", "a CSV file, one row per run"),
    "trackio": ("attnexp.imported.trackio", "the database of a project, PROJECT.db"),
    "tensorboard": ("attnexp.imported.tensorboard", "a folder with event files in it or below"),
    "mlflow": ("attnexp.imported.mlflow", "its database, mlflow.db, or a folder such as mlruns"),
    "wandb": ("attnexp.imported.wandb", "run-ID.wandb of an offline run, or a folder of them"),
}
"""Each tool, the module whose `read` reads its runs, and the words for its PATH.

`read(path, request)` returns the runs, with all that the tool has recorded, and notes.
"""
