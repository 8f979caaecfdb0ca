"""Forward passes with an intervention: one head, recurrences and decoding, rows that count."""

from functools import partial
from itertools import combinations

import pytest
import torch
from composed import prepared
from torch.testing import assert_close

from attnexp.architectures.base import Architecture
from attnexp.attention.multihead import MultiHead
from attnexp.config.laws import read_laws
from attnexp.core.batch import Points, Prediction, RegressionSpec
from attnexp.core.errors import RequestError
from attnexp.probe import passes
from attnexp.probe.interventions import Intervention, named
from attnexp.probe.laws.base import Law
from attnexp.probe.laws.hard import Hard
from attnexp.probe.laws.largest import TopK
from attnexp.probe.laws.shuffled import Shuffled
from attnexp.probe.laws.uniform import Uniform
from attnexp.probe.laws.zero import Zero
from attnexp.probe.measure import heads_of
from attnexp.probe.passes import answers, draws, main_part
from attnexp.scores.scaled_dot import ScaledDot

LAWS = read_laws()
SIZES = ("data.num_train=20", "data.num_validation=10", "data.num_test=12")
RUNS = {
    "rnn": ("data=reverse", "model=additive", "arch.hidden_dim=8", *SIZES),
    "heads": ("data=reverse", "model=dot", "arch.hidden_dim=8", "arch.heads=2", *SIZES),
    "transformer": ("data=reverse", "model=scaled_dot", "arch=transformer", "arch.dim=8", *SIZES),
    "decoder_only": ("data=reverse", "model=scaled_dot", "arch=decoder_only", "arch.dim=8", *SIZES),
    "mqar": (
        *("data=mqar", "model=scaled_dot", "arch=decoder_only", "arch.dim=8", *SIZES),
        "data.vocab_size=64",
    ),
    "curve": ("model=gaussian",),
}


class TwoHeads(Architecture):
    """Two heads whose values are the two features, joined by the identity."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = MultiHead(ScaledDot, 2, 2, 2, heads=2, head_dim=1)
        for matrix in (self.attention.W_v, self.attention.W_o):
            matrix.weight.data = torch.eye(2)

    def forward(self, batch, need_weights=False):
        contexts, weights = self.attention(
            batch.queries, batch.keys, batch.values, need_weights=need_weights
        )
        return Prediction(contexts, {"attention": weights.unsqueeze(1)})


@pytest.fixture(scope="module")
def two_heads():
    torch.manual_seed(0)
    x = torch.randn(7, 2)
    keys, values = torch.randn(5, 2), torch.arange(10.0).view(5, 2)
    return TwoHeads(), Points.of_rows(x, torch.zeros(7, 2), keys, values, None)


SPEC = RegressionSpec(x_dim=2, y_dim=2)


def test_without_a_head_exactly_its_share_is_missing(two_heads):
    """W_o is the identity, so head h gives feature h of the answer and nothing else."""
    model, batch = two_heads
    whole = answers(model, batch, SPEC).outputs
    for head in (0, 1):
        (one,) = named(f"zero=attention.1.{head + 1}", LAWS, {"attention": [2]}, "attention")
        found = answers(model, batch, SPEC, one).outputs
        assert (found[..., head] == 0).all()
        assert (found[..., 1 - head] == whole[..., 1 - head]).all()


def test_uniform_weights_of_a_head_give_the_mean_of_its_values(two_heads):
    model, batch = two_heads
    (one,) = named("uniform=attention.1.2", LAWS, {"attention": [2]}, "attention")
    found = answers(model, batch, SPEC, one).outputs
    assert_close(found[..., 1], torch.full((1, 7), 5.0))
    assert_close(found[..., 0], answers(model, batch, SPEC).outputs[..., 0])


@pytest.fixture(scope="module", params=RUNS)
def run(request):
    one = prepared(*RUNS[request.param])
    one.model.eval()
    return one


def with_law(run, law, **given):
    part = main_part(run.model)
    with torch.no_grad():
        return answers(
            run.model, run.dataset.test, run.dataset.spec, Intervention("", law, part, **given)
        )


@torch.no_grad()
def test_all_keys_change_nothing_and_the_model_stays_as_it_is(run):
    before = answers(run.model, run.dataset.test, run.dataset.spec)
    same = with_law(run, TopK(1000))
    assert_close(same.outputs, before.outputs, atol=1e-5, rtol=1e-4)
    assert same.unchanged == 1
    with_law(run, Zero())
    after = answers(run.model, run.dataset.test, run.dataset.spec)
    assert (after.outputs == before.outputs).all()


class Failing(Law):
    """A law that fails at its first rows."""

    def replace(self, rows):
        raise ZeroDivisionError


@torch.no_grad()
def test_a_law_that_fails_leaves_the_model_as_it_is(run):
    before = answers(run.model, run.dataset.test, run.dataset.spec)
    with pytest.raises(RequestError, match="the law Failing failed: ZeroDivisionError"):
        with_law(run, Failing())
    after = answers(run.model, run.dataset.test, run.dataset.spec)
    assert (after.outputs == before.outputs).all()


def test_hard_is_topk_of_one(run):
    hard, top = with_law(run, Hard()), with_law(run, TopK(1))
    assert (hard.outputs == top.outputs).all()
    assert hard.unchanged == top.unchanged < 1


def test_decoding_and_teacher_forcing_see_the_same_weights(run):
    """While all symbols so far are the targets, both answer alike: so the first one is the same."""
    found = with_law(run, Uniform())
    if found.decoded is not None:
        assert (found.decoded[:, 0] == found.outputs[:, 0].argmax(dim=-1)).all()


@pytest.mark.first(2)
@pytest.mark.check
def test_draws_are_those_of_their_repetition_alone_or_together(run, monkeypatch):
    shuffled = Intervention("", Shuffled(), main_part(run.model), repetitions=5)
    drawn = partial(draws, run.model, run.dataset.test, run.dataset.spec, shuffled)
    size = len(run.dataset.test) * run.dataset.test.keys.shape[1]
    with torch.no_grad():
        monkeypatch.setattr(passes, "TOGETHER", 1)
        alone = list(drawn())
        monkeypatch.setattr(passes, "TOGETHER", 3 * size * run.dataset.test.queries.shape[1])
        together = list(drawn())
    for one, other in zip(alone, together, strict=True):
        assert_close(one.outputs, other.outputs)
        assert (one.decoded is None) == (other.decoded is None)
        if one.decoded is not None and other.decoded is not None:
            assert one.decoded.equal(other.decoded)
    pairs = combinations(alone, 2)
    assert not any((one.outputs == other.outputs).all() for one, other in pairs)
    assert sum(one.unchanged for one in alone) == pytest.approx(
        sum(other.unchanged for other in together)
    )


def test_shuffling_even_weights_changes_no_row():
    even = prepared("data=reverse", "model=average", "arch.hidden_dim=8", *SIZES)
    even.model.eval()
    assert with_law(even, Shuffled()).unchanged == 1


def test_gold_needs_the_row_of_each_answer(run):
    """A law that looks at the gold key sees it at the row of the answer that it belongs to."""
    batch, part = run.dataset.test, main_part(run.model)
    if batch.alignment is None:
        return
    seen = []

    class Look(Law):
        def replace(self, rows):
            seen.append(rows.gold)
            return rows.weights

    with torch.no_grad():
        run_once = Intervention("", Look(), part)
        answers(run.model, batch, run.dataset.spec, run_once, free=False)
    layers = len(run.model.attentions[part])
    gold = torch.cat(seen, dim=1)[:, : sum(each.shape[1] for each in seen) // layers]
    gold = gold[:, -batch.queries.shape[1] :]  # one causal stack has the source before
    found = gold if batch.asked is None else gold.gather(1, batch.asked)
    counts = batch.target_mask
    assert (found[counts] == batch.alignment[counts]).all()


def test_heads_are_those_of_the_model(run):
    assert set(heads_of(run)) == set(run.model.attentions)
    weights = run.model(run.dataset.test, need_weights=True).weights
    for part, layers in heads_of(run).items():
        assert len(layers) == weights[part].shape[1]
        assert set(layers) == {weights[part].shape[2]}
