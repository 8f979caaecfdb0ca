"""The help page: what attnexp is, what can be chosen, how it is used."""

from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape

from attnexp.cli.verbs import VERBS
from attnexp.config.groups import choices
from attnexp.core.console import out
from attnexp.runs.settings import GROUPS

EXAMPLES = (
    ("attnexp", "fit a noisy curve with a learned Gaussian kernel"),
    ("attnexp model=additive seed=3", "the same data set with another scoring function"),
    ("attnexp model=dot arch.features=16", "a dot product of learned features of x"),
    ("attnexp precision=fp64", "in double precision, to check; bf16 is for GPUs"),
    ("attnexp -m model=average,gaussian,gaussian_learned seed=0,1,2", "a sweep: nine runs"),
    ("attnexp results --sort test_mse", "compare the runs in a table"),
)


def show_help(argv: Sequence[str]) -> None:
    """Print the page, with the choices of a --config-dir where the command line names one."""
    extra = _config_dir(argv)
    out.print("[bold]attnexp[/] runs and compares attention mechanisms.\n")
    out.print("[bold]Usage[/]")
    out.print("  attnexp \\[NAME=VALUE ...]           one run")
    out.print("  attnexp -m NAME=VALUE,VALUE ...    a sweep: one run for every combination")
    for verb, (_, line) in VERBS.items():
        out.print(f"  {f'attnexp {verb} --help':<35}{escape(line)}")
    out.print("  attnexp --cfg job                  the whole configuration, and no run")
    out.print("  attnexp --hydra-help               Hydra's own options\n")
    for group in GROUPS:
        out.print(f"[bold]{group}=[/]")
        listed = choices(group, extra)
        width = max((len(choice.name) for choice in listed), default=0)
        for choice in listed:
            out.print(f"  [cyan]{choice.name:<{width}}[/]  {escape(choice.line)}")
    out.print("\n[bold]Examples[/]")
    for command, line in EXAMPLES:
        out.print(f"  {escape(command)}\n      {escape(line)}", soft_wrap=True)


def _config_dir(argv: Sequence[str]) -> Path | None:
    for flag, value in zip(argv, [*argv[1:], ""], strict=True):
        if flag in ("--config-dir", "-cd"):
            return Path(value)
        if flag.startswith("--config-dir="):
            return Path(flag.partition("=")[2])
    return None
