"""The own.py of claims that ship with attnexp, with the shapes of its functions checked."""

from functools import cache
from inspect import isfunction

from jaxtyping import jaxtyped
from shapecheck import check

from attnexp.claims.claim import read_claim


@cache
def own_of(name):
    """Return the own.py of a claim, loaded by the function that the program uses."""
    module = read_claim(name).own.module("own.py")
    for each, value in list(vars(module).items()):
        if isfunction(value) and value.__module__ == module.__name__:
            setattr(module, each, jaxtyped(value, typechecker=check))
    return module
