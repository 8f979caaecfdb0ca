"""The example at the end of the docstring of a score or normalizer."""

import doctest
import inspect

import torch


def require_example(target: type) -> None:
    """Fail unless the docstring ends in an example of three lines that is true."""
    text = inspect.getdoc(target) or ""
    assert text.splitlines()[-4] == "Example:"
    known = {"torch": torch, target.__name__: target}
    example = doctest.DocTestParser().get_doctest(text, known, target.__name__, None, None)
    assert len(example.examples) == 2
    report = []
    doctest.DocTestRunner(verbose=False).run(example, out=report.append)
    assert not report, "".join(report)
