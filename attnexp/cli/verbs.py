"""The verbs of the command line."""

VERBS = {
    "attend": ("attnexp.cli.attend", "compute attention once and show every step of it"),
    "results": ("attnexp.cli.results", "compare runs in a table"),
    "plot": ("attnexp.cli.plot", "draw pictures of runs"),
    "report": ("attnexp.cli.report", "write a page with tables, curves and maps"),
    "decode": ("attnexp.cli.decode", "answer a source with a run's trained sequence model"),
    "probe": (
        "attnexp.cli.probe",
        "replace attention weights of trained runs, and see what changes",
    ),
    "claims": ("attnexp.cli.claims", "run published claims again, and judge them"),
    "card": ("attnexp.cli.card", "try a mechanism in a battery of tasks, next to baselines"),
    "verify": ("attnexp.cli.verify", "do finished runs again and compare the numbers"),
    "import": ("attnexp.cli.import_", "take runs of other programs, in a CSV file, into tables"),
    "status": ("attnexp.cli.status", "show the progress of runs and sweeps"),
    "new": ("attnexp.cli.new", "write a score, normalizer, data set or architecture of your own"),
    "chapter": ("attnexp.cli.chapter", "run the experiments of a chapter of the course"),
    "exercise": ("attnexp.cli.exercise", "begin an exercise of the course, and check it"),
    "docs": ("attnexp.cli.docs", "read a document: `attnexp docs recipes`"),
    "completion": ("attnexp.cli.completion", "complete command lines in bash or zsh"),
    "diff": ("attnexp.cli.diff", "print what differs between two runs"),
    "show": ("attnexp.cli.show", "show losses and maps in the terminal"),
}
"""Each verb with the module whose `main` it calls and its line on the help page."""

ASKED = "_ARGCOMPLETE"
"""The environment variable that a shell sets to ask for completions of a line."""
