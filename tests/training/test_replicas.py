"""Replicas: each run has the bits that it has in any company, and a course of its own."""

import math

import pytest
import torch
from composed import prepared
from conftest import choice_names

from attnexp.scores.base import Score
from attnexp.training.base import Epoch, NotReplicableError, TrainingDivergedError
from attnexp.training.loop import Training
from attnexp.training.replicas.group import Replicas
from attnexp.training.replicas.optimizer import SharedOptimizer
from attnexp.training.replicas.structure import structure

SMALL = ("data.num_train=37", "arch.features=7", "train.max_epochs=3", "train.tolerance=null")
"""Regression in which no number of entries is a multiple of a vector's."""

NOTHING_TO_TRAIN = ("average", "boxcar")
"""Scores whose regression has no parameters."""

OF_EACH_KIND = ("additive", "scaled_dot", "linear", "epanechnikov", "gaussian_learned")
"""The scores that are not slow: a network, a product, features, a kernel that ends, a width."""

SEQUENCES = (
    "data=reverse",
    "data.num_train=40",
    "data.num_validation=9",
    "data.num_test=5",
    "train.batch_size=17",
    "train.max_epochs=1",
)


def trained(seeds, *overrides, each=lambda seed: ()):
    """Train these seeds together, and return the final parameters and events of each seed."""
    runs = [prepared(*overrides, *each(seed), f"seed={seed}") for seed in seeds]
    assert len({structure(run) for run in runs}) == 1
    events = {seed: [] for seed in seeds}
    for number, event in Replicas(runs).fit():
        events[seeds[number]].append(event)
    states = {
        seed: [p.detach().clone() for p in run.model.parameters()]
        for seed, run in zip(seeds, runs, strict=True)
    }
    return states, events


def equal(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def rows(events):
    return [event for event in events if isinstance(event, Epoch)]


def alone(*overrides):
    run = prepared(*overrides)
    epochs = list(Training(run).epochs())
    return [p.detach() for p in run.model.parameters()], epochs


def assert_same_bits(*overrides):
    two, events = trained([0, 1], *overrides)
    three, others = trained([2, 0, 1], *overrides)
    assert equal(two[0], three[0])
    assert equal(two[1], three[1])
    assert [row.loss for row in rows(events[1])] == [row.loss for row in rows(others[1])]


@pytest.mark.first(2)
@pytest.mark.check
@pytest.mark.parametrize(
    "model",
    [
        pytest.param(name, marks=() if name in OF_EACH_KIND else pytest.mark.slow)
        for name in choice_names("model")
        if name not in NOTHING_TO_TRAIN
    ],
)
def test_every_score_has_the_same_bits_in_any_company(model):
    assert_same_bits(f"model={model}", *SMALL)


@pytest.mark.slow
def test_every_normalizer_has_the_same_bits_in_any_company(normalizer_name):
    assert_same_bits(f"normalizer={normalizer_name}", "model=additive", *SMALL)


@pytest.mark.first(2)
@pytest.mark.check
@pytest.mark.parametrize(
    "arch",
    [
        ("model=additive", "arch.hidden_dim=12", "arch.embed_dim=7"),
        pytest.param(
            ("model=additive", "arch.cell=lstm", "arch.hidden_dim=12", "arch.embed_dim=7"),
            marks=pytest.mark.slow,
        ),
        ("model=scaled_dot", "arch=transformer", "arch.dim=12", "arch.ff_dim=9"),
        pytest.param(
            ("model=scaled_dot", "arch=decoder_only", "arch.dim=12", "arch.ff_dim=9"),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["gru", "lstm", "transformer", "decoder_only"],
)
def test_every_architecture_has_the_same_bits_in_any_company(arch):
    assert_same_bits(*SEQUENCES, *arch)


@pytest.mark.parametrize(
    "words",
    [
        ("model=gaussian_learned", *SMALL),
        ("model=scaled_dot", "arch=transformer", "arch.dim=12", "arch.ff_dim=9", *SEQUENCES),
    ],
    ids=["rprop", "adam"],
)
def test_a_replica_trains_as_a_run_does_alone(words):
    """The same up to rounding: losses, validation, learning rates, parameters."""
    states, events = trained([0, 1], *words)
    for seed in (0, 1):
        parameters, epochs = alone(*words, f"seed={seed}")
        for ours, theirs in zip(rows(events[seed]), epochs, strict=True):
            assert ours.loss == pytest.approx(theirs.loss, rel=1e-4)
            assert ours.lr == theirs.lr
            assert (ours.epoch, ours.step, ours.ended) == (theirs.epoch, theirs.step, theirs.ended)
            assert ours.validation == pytest.approx(theirs.validation, rel=1e-3)
            assert ours.gradient_norm is theirs.gradient_norm or (
                ours.gradient_norm == pytest.approx(theirs.gradient_norm, rel=1e-3)
            )
        if "arch=transformer" in words:  # Rprop goes by signs, and magnifies what rounding does
            for one, other in zip(states[seed], parameters, strict=True):
                torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


@pytest.mark.check
def test_plain_numbers_may_differ():
    """Each replica has its own learning rate, noise and width of the kernel."""
    words = ("model=gaussian", "arch.features=3", "optim=sgd", *SMALL[2:])
    own = {0: ("optim.lr=0.1", "model.width=1.5"), 1: ("optim.lr=0.01", "data.noise=0.1"), 2: ()}
    _, events = trained([0, 1, 2], *words, each=own.get)
    for seed, more in own.items():
        _, epochs = alone(*words, *more, f"seed={seed}")
        assert [row.lr for row in rows(events[seed])] == [row.lr for row in epochs]
        losses = [row.loss for row in epochs]
        assert [row.loss for row in rows(events[seed])] == pytest.approx(losses, rel=1e-4)


def test_no_update_of_replicas_is_fused():
    """It would round the last numbers of a tensor otherwise."""
    parameter = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.Adam([parameter], fused=True)
    SharedOptimizer(optimizer, [parameter])
    assert [group["fused"] for group in optimizer.param_groups] == [False]


@pytest.mark.check
def test_one_that_diverges_does_not_touch_the_others():
    words = ("optim=sgd", "train.max_epochs=5", "train.tolerance=null", "arch.features=3")
    fates = {seed: (f"optim.lr={'1e30' if seed % 2 else '0.01'}",) for seed in range(4)}
    states, events = trained([0, 1, 2, 3], *words, each=fates.get)
    assert isinstance(events[1][-1], TrainingDivergedError)
    assert "optim.lr" in str(events[1][-1])
    assert not math.isfinite(rows(events[1])[-1].loss)
    calm, _ = trained([0, 2], *words, "optim.lr=0.01")
    assert equal(states[0], calm[0])
    assert equal(states[2], calm[2])
    assert len(rows(events[0])) == 5


@pytest.mark.slow
@pytest.mark.check
def test_one_that_ends_early_does_not_touch_the_others():
    together, events = trained([0, 1, 2, 3])
    ends = {seed: rows(own)[-1].epoch for seed, own in events.items()}
    assert len(set(ends.values())) > 1
    assert all(own[-1] is None and own[-2].converged for own in events.values())
    for seed in ends:
        apart, own = trained([seed])
        assert equal(together[seed], apart[seed])
        assert rows(own[seed])[-1].epoch == ends[seed]


@pytest.mark.check
def test_one_that_leaves_does_not_touch_the_others():
    runs = [prepared(*SMALL, f"seed={seed}") for seed in range(3)]
    replicas, seen = Replicas(runs), []
    for number, event in replicas.fit():
        seen.append(number)
        if number == 1 and event.epoch == 2:
            replicas.drop(1)
    assert seen.count(1) == 2
    apart, _ = trained([0, 2], *SMALL)
    assert equal([p.detach() for p in runs[0].model.parameters()], apart[0])
    assert equal([p.detach() for p in runs[2].model.parameters()], apart[2])


class Deciding(Score):
    """Decides by its numbers."""

    def compare(self, queries, keys):
        scores = queries @ keys.mT
        return scores if bool((scores > 0).any()) else -scores


class Drawing(Score):
    """Holds noise of its own, which is neither a parameter nor a buffer."""

    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.noise = torch.randn(query_dim)

    def compare(self, queries, keys):
        return (queries * self.noise) @ keys.mT


def replaced(run, score):
    run.model.pooling.score = score
    return run


def test_a_score_that_decides_by_its_numbers_cannot_be_mapped():
    runs = [replaced(prepared(*SMALL, f"seed={seed}"), Deciding(7, 7)) for seed in range(2)]
    before = [p.detach().clone() for p in runs[0].model.parameters()]
    with pytest.raises(NotReplicableError, match="cannot be mapped over replicas"):
        Replicas(runs)
    assert equal(before, [p.detach() for p in runs[0].model.parameters()])


def test_tensors_that_a_score_holds_stay_its_own():
    def runs():
        torch.manual_seed(0)
        return [replaced(prepared(*SMALL, f"seed={seed}"), Drawing(7, 7)) for seed in range(2)]

    losses = {0: [], 1: []}
    for number, event in Replicas(runs()).fit():
        if event is not None:
            losses[number].append(event.loss)
    for number, run in enumerate(runs()):
        own = [row.loss for row in Training(run).epochs()]
        assert losses[number] == pytest.approx(own, rel=1e-4)


def test_dropout_cannot_be_mapped():
    run = prepared(*SEQUENCES, "model=additive", "arch.dropout=0.2")
    with pytest.raises(NotReplicableError, match="random"):
        Replicas([run])


def test_an_optimizer_that_is_not_known_is_refused():
    class Own(torch.optim.SGD):
        """Nobody knows what it does."""

    run = prepared(*SMALL)
    object.__setattr__(run, "optimizer", lambda params: Own(params, lr=0.1))
    with pytest.raises(NotReplicableError, match="Own is not known"):
        Replicas([run])


def test_models_that_differ_in_more_than_numbers_are_not_alike():
    one = structure(prepared(*SMALL))
    assert one == structure(prepared(*SMALL, "seed=5", "data.noise=0.1"))
    assert one != structure(prepared(*SMALL, "arch.features=8"))
    assert one != structure(prepared(*SMALL, "data.num_train=38"))
    two, four = (prepared(*SMALL, "model=polynomial", f"model.degree={n}") for n in (2, 4))
    assert structure(two) != structure(four)
    with pytest.raises(NotReplicableError, match="nothing to train"):
        structure(prepared("model=average"))
