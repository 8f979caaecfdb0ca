"""`attnexp completion`: writes the shell's part of tab completion, and answers it.

The shell runs `attnexp` with the variables of argcomplete, which hold the line and the cursor.
"""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NoReturn

from attnexp.cli.candidates import files
from attnexp.cli.parser import parser_of
from attnexp.cli.verbs import ASKED, VERBS
from attnexp.core.packages import require_package
from attnexp.runs.settings import GROUPS

EPILOG = """examples:
  eval "$(attnexp completion bash)"     in ~/.bashrc
  eval "$(attnexp completion zsh)"      in ~/.zshrc, after compinit
"""


def main(
    shell: Literal["bash", "zsh"],
) -> None:
    """Complete command lines by the tab key.

    Prints the code that the shell evaluates. Raises RequestError without the package argcomplete.

    Args:
        shell: the shell that evaluates it
    """
    require_package("argcomplete", "attnexp[completion]", "completion")
    from argcomplete.shell_integration import shellcode

    sys.stdout.write(shellcode(["attnexp"], shell=shell, complete_arguments=["-o", "nospace"]))


def answer() -> NoReturn:
    """Write the candidates for the shell's line, and end the process. An error gives none."""
    code = 1
    with suppress(BaseException):
        _write_candidates()
        code = 0
    os._exit(code)


def _write_candidates() -> None:
    from argcomplete.completers import SuppressCompleter
    from argcomplete.finders import CompletionFinder
    from argcomplete.lexers import split_line

    _, _, _, words, _ = split_line(os.environ["COMP_LINE"], int(os.environ["COMP_POINT"]))
    if words[1:] and words[1] in VERBS:
        os.environ[ASKED] = "2"  # arguments begin after the second word
        parser: ArgumentParser = parser_of(words[1])
    else:
        parser = _without_verb(words[1:])
    for action in parser._actions:
        if action.type is not Path:  # a word that is refused must not end the completion
            action.type = None
    CompletionFinder()(
        parser,
        always_complete_options=False,
        default_completer=SuppressCompleter(),
        exit_method=lambda _: None,
    )


def _without_verb(before: Sequence[str]) -> ArgumentParser:
    """Return the parser of a line without a verb. `before` are the words before the cursor."""
    from attnexp.config.completion import settings
    from attnexp.config.compose import make_parser as parser_of_hydra

    def words(prefix: str, parsed_args: Namespace, **_: Any) -> Iterator[str]:
        if not before:
            yield from VERBS
        if not (before or prefix):
            yield from (f"{group}=" for group in GROUPS)
            return
        typed = [word for word in before if "=" in word and not word.startswith("-")]
        yield from settings(prefix, typed, parsed_args.config_dir, parsed_args.config_name)

    parser = parser_of_hydra()
    for action in parser._actions:
        if not action.option_strings:
            setattr(action, "completer", words)
        elif action.dest in ("config_dir", "config_path"):
            setattr(action, "completer", files)
    return parser
