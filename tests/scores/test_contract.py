"""What every scoring function of conf/model promises, whoever wrote it."""

import doctest
import inspect
from functools import partial
from pathlib import Path

import pytest
import torch
import yaml
from hydra.utils import get_object
from torch.func import functional_call

from attnexp.course.contract import SCORE_CONTRACT

CONF = Path(__file__).parents[2] / "conf" / "model"


def class_of(name):
    return get_object(yaml.safe_load((CONF / f"{name}.yaml").read_text())["_target_"])


def make(name, query_dim=7, key_dim=7):
    settings = yaml.safe_load((CONF / f"{name}.yaml").read_text())
    del settings["_target_"]
    torch.manual_seed(0)
    return class_of(name)(query_dim=query_dim, key_dim=key_dim, **settings).double()


NAMES = sorted(path.stem for path in CONF.glob("*.yaml"))
LEARNED = [name for name in NAMES if list(make(name).parameters())]


@pytest.mark.parametrize("promise", SCORE_CONTRACT, ids=lambda promise: promise.__name__)
def test_keeps_a_promise(promise, model_name):
    promise(partial(make, model_name))


def test_the_docstring_ends_in_an_example_of_three_lines_that_is_true(model_name):
    target = class_of(model_name)
    text = inspect.getdoc(target)
    assert text.splitlines()[-4] == "Example:"
    known = {"torch": torch, target.__name__: target}
    example = doctest.DocTestParser().get_doctest(text, known, target.__name__, None, None)
    assert len(example.examples) == 2
    report = []
    doctest.DocTestRunner(verbose=False).run(example, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("name", [name for name in NAMES if class_of(name).derivative])
def test_a_derivative_that_is_written_out_is_right(name, vectors):
    """One query a step, the steps taken back in the opposite order."""
    score = make(name)
    queries, keys = (tensor.requires_grad_() for tensor in vectors(4))
    expected = score(queries, keys)
    factors = torch.linspace(-1, 1, expected.numel(), dtype=torch.float64).view_as(expected)
    leaves = [queries, score.project_keys(keys).detach().requires_grad_(), *score.own_parameters()]
    scores = score.compare(score.project_queries(queries), leaves[1])
    wanted = torch.autograd.grad(scores, leaves, factors)
    with torch.no_grad():
        written = score.derivative(leaves[1], *score.own_parameters())
        steps = (queries @ written.W.mT).unbind(dim=-2)
        room = written.room(len(steps))
        rows = torch.cat([*map(written.compare, steps, room)], dim=-2)
        torch.testing.assert_close(rows, expected)
        of_steps = [torch.empty_like(step) for step in steps]
        for i in reversed(range(len(steps))):
            written.pull_back(factors[..., i : i + 1, :], room[i], of_steps[i])
        of_projected = torch.stack(of_steps, dim=-2)
        of_W = of_projected.flatten(0, 1).mT @ queries.flatten(0, 1)
        found = (of_projected @ written.W, *written.gradients(of_W))
    for mine, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("name", LEARNED)
def test_copies_train_as_one_batched_program(name, vectors):
    """Stacked parameters under vmap give what each copy gives on its own."""
    copies = [make(name) for _ in range(2)]
    with torch.no_grad():
        for number, copy in enumerate(copies):
            for parameter in copy.parameters():
                parameter.add_(0.1 * number)
    stacked, buffers = torch.func.stack_module_state(copies)
    inputs = vectors()
    together = torch.vmap(
        lambda parameters, buffers: functional_call(copies[0], (parameters, buffers), inputs)
    )(stacked, buffers)
    torch.testing.assert_close(together, torch.stack([copy(*inputs) for copy in copies]))
