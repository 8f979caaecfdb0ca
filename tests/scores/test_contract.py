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

from attnexp.scores import Score

BATCH = (2, 11)
CONF = Path(__file__).parents[2] / "conf" / "model"


def class_of(name):
    return get_object(yaml.safe_load((CONF / f"{name}.yaml").read_text())["_target_"])


def make(name, query_dim=7, key_dim=7):
    settings = yaml.safe_load((CONF / f"{name}.yaml").read_text())
    del settings["_target_"]
    torch.manual_seed(0)
    return class_of(name)(query_dim=query_dim, key_dim=key_dim, **settings).double()


@pytest.fixture
def make_score(model_name):
    return partial(make, model_name)


NAMES = sorted(path.stem for path in CONF.glob("*.yaml"))
WITH_DOT_PRODUCT = [
    name for name in NAMES if class_of(name).as_dot_product is not Score.as_dot_product
]
LEARNED = [name for name in NAMES if list(make(name).parameters())]


def test_takes_any_leading_axes(make_score, vectors):
    score = make_score()
    for batch in ((), (2,), BATCH):
        assert score(*vectors(*batch)).shape == (*batch, 3, 5)


def test_a_batch_is_a_stack_of_singles(make_score, vectors):
    score = make_score()
    queries, keys = vectors(*BATCH)
    singles = torch.stack(
        [
            torch.stack([score(q, k) for q, k in zip(*row, strict=True)])
            for row in zip(queries, keys, strict=True)
        ]
    )
    torch.testing.assert_close(score(queries, keys), singles)


def test_permuting_keys_permutes_columns(make_score, vectors):
    score = make_score()
    queries, keys = vectors()
    order = torch.tensor([4, 2, 0, 1, 3])
    torch.testing.assert_close(score(queries, keys[order]), score(queries, keys)[:, order])


def test_permuting_queries_permutes_rows(make_score, vectors):
    score = make_score()
    queries, keys = vectors()
    order = torch.tensor([2, 0, 1])
    torch.testing.assert_close(score(queries[order], keys), score(queries, keys)[order])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_keeps_the_dtype(make_score, vectors, dtype):
    queries, keys = vectors()
    assert make_score().to(dtype)(queries.to(dtype), keys.to(dtype)).dtype == dtype


def test_never_gives_nan_or_plus_infinity(make_score, vectors):
    queries, keys = vectors()
    scores = make_score()(queries, torch.cat([keys, queries, 1e3 * keys]))
    assert not scores.isnan().any()
    assert not (scores == torch.inf).any()


def test_gradients_are_finite_where_query_and_key_are_equal(make_score, vectors):
    queries, _ = vectors()
    queries.requires_grad_()
    scores = make_score()(queries, queries)
    # A constant beside it, so that a score that does not depend on the queries has a gradient: 0.
    (scores.masked_fill(scores == -torch.inf, 0.0).sum() + 0 * queries.sum()).backward()
    assert queries.grad.isfinite().all()


def test_gradients_are_right(make_score, vectors):
    score = make_score()
    queries, keys = vectors()

    def finite(queries, keys, *parameters):
        named = dict(zip(dict(score.named_parameters()), parameters, strict=True))
        scores = functional_call(score, named, (queries, keys))
        # A constant beside it, so that a score without parameters has a gradient too: zero.
        still = 0 * (queries.sum() + keys.sum())
        return scores.masked_fill(scores == -torch.inf, 0.0) + still

    inputs = [queries, keys, *score.parameters()]
    leaves = [tensor.detach().clone().requires_grad_() for tensor in inputs]
    assert torch.autograd.gradcheck(finite, leaves)


def test_state_dict_round_trip(make_score, vectors):
    first, second = make_score(), make_score()
    with torch.no_grad():
        for parameter in first.parameters():
            parameter.add_(1.0)
    second.load_state_dict(first.state_dict())
    torch.testing.assert_close(second(*vectors()), first(*vectors()))


def test_one_dimension_works(make_score, vectors):
    assert make_score(1, 1)(*vectors(query_dim=1, key_dim=1)).shape == (3, 5)


def test_unequal_dimensions_work_or_are_refused_in_words(make_score, vectors):
    try:
        score = make_score(query_dim=2, key_dim=7)
    except ValueError as error:
        assert "got 2 and 7" in str(error)  # noqa: PT017
    else:
        assert score(*vectors(query_dim=2, key_dim=7)).shape == (3, 5)


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


@pytest.mark.parametrize("name", WITH_DOT_PRODUCT)
def test_the_dot_product_form_has_the_same_weights(name, vectors):
    score = make(name)
    queries, keys = vectors(*BATCH)
    projected = score.project_queries(queries), score.project_keys(keys)
    dot_queries, dot_keys = score.as_dot_product(*projected)
    plain = score.compare(*projected).softmax(dim=-1)
    torch.testing.assert_close((dot_queries @ dot_keys.mT).softmax(dim=-1), plain)


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
