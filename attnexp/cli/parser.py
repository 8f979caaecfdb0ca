"""The parser of a verb, made from the signature and the docstring of its function.

A parameter that can be positional is a positional argument, and a keyword-only one an option:
`dry_run` is `--dry-run`. The section `Args:` of the docstring has the help of each, after a metavar
in parentheses: `minutes (M): how long it takes`. `Annotated[TYPE, Argument(...)]` adds what else
argparse needs. A parameter whose type is a dataclass stands for the arguments of its fields.
"""

import argparse
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from importlib import import_module
from inspect import Parameter, cleandoc, signature
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, get_args, get_origin

from attnexp.cli.candidates import files
from attnexp.cli.verbs import VERBS
from attnexp.core.errors import CommandEnded, RequestError, nearest_text, none_of

DESCRIPTION = r"^ {4}(\w+)(?: \((.+?)\))?: (.+(?:\n {8}.*)*)"
"""A parameter in the section `Args:` of a docstring: name, metavar and help."""


PLAIN = {str: "NAME", int: "N", float: "X", Path: "FILE"}
"""The types that argparse converts to, each with its usual metavar."""


OF_TESTS = {"and", "or", "not", "in", "=", "==", "!=", "<", ">", "<=", ">="}
"""Words by which several words behind --where are a test that lacks quotes."""


class Argument:
    """What a parser needs to know of a parameter beyond its name, type, default and docstring.

    `option` is the name of the option, if it is not that of the parameter. `completes` returns
    candidates for completion, by default files for a path. `help` and all others are arguments of
    `argparse.ArgumentParser.add_argument`.
    """

    def __init__(self, help: str | None = None, **settings: Any) -> None:
        self.settings = settings if help is None else {"help": help, **settings}


class Arguments(argparse.ArgumentParser):
    """An argument parser that accepts no abbreviations of options.

    A parse raises RequestError for words that do not fit.
    """

    def __init__(self, verb: str, description: str, epilog: str, **settings: Any) -> None:
        super().__init__(
            prog=f"attnexp {verb}",
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **settings,
        )
        # A tensor such as -1,0 is a value, and no option.
        self._negative_number_matcher = re.compile(r"-\d+$|-\d*\.\d+$|-[\d.]+[,;]")

    def add_parameters(self, function: Callable[..., object]) -> None:
        """Add an argument for each parameter of a function. A dataclass stands for its fields."""
        self.set_defaults(function=function)
        self._add(function)

    def _add(self, function: Callable[..., object]) -> None:
        described = _described(function)
        for parameter in signature(function).parameters.values():
            kind = parameter.annotation
            if is_dataclass(kind) and isinstance(kind, type):
                self._add(kind)
            else:
                self._add_parameter(parameter, described.get(parameter.name, {}))

    def _add_parameter(self, parameter: Parameter, described: Mapping[str, str]) -> None:
        kind, given = _kind_and_settings(parameter.annotation)
        settings = {**_settings_of(kind, parameter, given), **given, **described}
        option = settings.pop("option", f"--{parameter.name.replace('_', '-')}")
        completes = settings.pop("completes", files if settings.get("type") is Path else None)
        if "choices" in settings and "metavar" not in given:
            settings.pop("metavar", None)  # the help lists the choices
        if parameter.kind is Parameter.KEYWORD_ONLY:
            action = self.add_argument(option, dest=parameter.name, **settings)
        else:
            action = self.add_argument(parameter.name, **settings)
        setattr(action, "completer", completes)

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Return the arguments of the words, and as `function` the function to call with them.

        Raises RequestError for words that do not fit.
        """
        self._require_quoted_test(words)
        return (self.parse_args if self._subparsers else self.parse_intermixed_args)(words)

    def _require_quoted_test(self, words: Sequence[str]) -> None:
        """Raise RequestError if the test behind --where is several words, as without quotes."""
        for place, word in enumerate(words):
            if word.partition("=")[0] != "--where":
                continue
            rest = takewhile(lambda each: not each.startswith("--"), words[place + 1 :])
            test = [*filter(None, [word.partition("=")[2]]), *rest]
            if len(test) > 1 and not OF_TESTS.isdisjoint(test[:2]):
                whole = shlex.quote(" ".join(test))
                raise RequestError(f"--where takes one word: quote the test, --where {whole}")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise CommandEnded(status)

    def parse_known_intermixed_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the arguments, after refusing an unknown option.

        argparse would first read the words behind the option, and complain of these.
        """
        for word in args or ():
            if word == "--":
                break
            if word.startswith("--") and word.partition("=")[0] not in self._option_string_actions:
                self.error(f"unrecognized arguments: {word}")
        return super().parse_known_intermixed_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        options = [name for action in self._actions for name in action.option_strings]
        found = re.fullmatch(r"unrecognized arguments: ([^\s=]+).*", message, re.DOTALL)
        near = nearest_text(found[1], options) if found else ""
        text = f"{message.removesuffix('.')}.{near}"
        raise RequestError(f"{text} `{self.prog} --help` shows what there is")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            name = "/".join(action.option_strings) or action.dest
            raise RequestError(f"{name} {none_of(str(value), list(action.choices))}")


def parser_of(verb: str) -> Arguments:
    """Return the parser of a verb, after importing the verb's module.

    The description is the first paragraph of the docstring of `main`, and the epilog is `EPILOG`. A
    module with `make_parser` makes its own parser.
    """
    module = import_module(VERBS[verb][0])
    if hasattr(module, "make_parser"):
        parser: Arguments = module.make_parser()
        return parser
    parser = Arguments(verb, summary(module.main), module.EPILOG)
    parser.add_parameters(module.main)
    return parser


def run_verb(verb: str, words: Sequence[str]) -> None:
    """Carry out a verb with the words behind it. Raises RequestError for words that do not fit."""
    arguments = parser_of(verb).parse(words)
    _called(arguments.function, arguments)


def summary(function: Callable[..., object]) -> str:
    """Return the first paragraph of a function's docstring as one line."""
    return " ".join((function.__doc__ or "").split("\n\n")[0].split())


def _kind_and_settings(annotation: Any) -> tuple[Any, dict[str, Any]]:
    """Return the type of a parameter, and the settings of the Argument that annotates it.

    An annotation inside `... | None` counts too.
    """
    for part in (annotation, *get_args(annotation)):
        if get_origin(part) is Annotated:
            kind, *arguments = get_args(part)
            return kind, {key: own for each in arguments for key, own in each.settings.items()}
    return annotation, {}


def _described(function: Callable[..., object]) -> dict[str, dict[str, str]]:
    """Return help and metavar of the parameters that a docstring describes under `Args:`."""
    _, _, section = cleandoc(function.__doc__ or "").partition("\nArgs:\n")
    return {
        name: {"help": " ".join(text.split()), **({"metavar": metavar} if metavar else {})}
        for name, metavar, text in re.findall(DESCRIPTION, section, re.MULTILINE)
    }


def _settings_of(kind: Any, parameter: Parameter, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the type, the default and the kind of a parameter tell `add_argument`.

    `given` are the settings of its Argument.

    Raises TypeError for a bool that is not False by default.
    """
    parts, default = (kind, *get_args(kind)), parameter.default
    if kind is bool:
        if default is not False:
            raise TypeError(
                f"{parameter.name}: an option that is true or false is false by default"
            )
        return {"action": "store_true"}
    several = get_origin(kind) is Sequence
    settings: dict[str, Any] = {}
    for part, metavar in PLAIN.items():
        if part in parts:
            settings = {"type": part, "metavar": metavar}
    for part in parts:
        if get_origin(part) is Literal:
            settings["choices"] = get_args(part)
    if parameter.kind is Parameter.KEYWORD_ONLY:
        settings["default"] = list(default) if several and default is not None else default
        if several and not given.keys() & {"type", "nargs", "action"}:
            settings["action"] = "append"
    elif several:
        settings["nargs"] = "+" if default is Parameter.empty else "*"
    elif default is not Parameter.empty:
        settings |= {"nargs": "?", "default": default}
    return settings


def _called(function: Callable[..., Any], arguments: argparse.Namespace) -> Any:
    """Call a function with the parsed arguments of its parameters, and return the result."""
    given = {}
    for name, parameter in signature(function).parameters.items():
        kind = parameter.annotation
        if is_dataclass(kind) and isinstance(kind, type):
            given[name] = _called(kind, arguments)
        else:
            given[name] = getattr(arguments, name)
    return function(**given)
