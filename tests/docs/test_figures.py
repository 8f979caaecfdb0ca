"""Bounds and sizes that a page gives are those of the code."""

import pytest
from composed import composed
from conftest import ROOT

from attnexp.architectures.seq2seq import UNSEEN
from attnexp.attention import pooling, streaming
from attnexp.cards import cost, nearest
from attnexp.cards.trial import MINUTES, SEEDS
from attnexp.config.build import STEP_PAIRS
from attnexp.probe import adversary, farthest, interventions
from attnexp.runs import files, lock
from attnexp.sweeps.tuned.words import TUNED_AT
from attnexp.tasks import regression


def batched():
    return composed("hydra/launcher=batched").hydra.launcher


TOLD = {
    "docs/card.md": [
        f"| `--quick` | {SEEDS['quick']} | {MINUTES['quick']:g} |",
        f"| (none) | {SEEDS['default']} | {MINUTES['default']:g} |",
        f"| `--full` | {SEEDS['full']} | {MINUTES['full']:g} |",
        f"tries all their values at seed {TUNED_AT}",
        f"one head with {cost.DIM} features ",
        f"the fastest of {cost.REPEATS} times",
        f"the same {nearest.ROWS} rows of {nearest.KEYS} scores",
    ],
    "docs/cluster.md": [
        f"renews it every {lock.BEAT:g} seconds",
        f"seen no renewal for {lock.EXPIRY:g} seconds, or {lock.EXPIRY + lock.BEAT:g} where",
    ],
    "docs/probe.md": [
        f"in another order, {interventions.PERMUTATIONS} orders |",
        f"Dirichlet(1, ..., 1), {interventions.PERMUTATIONS} draws |",
        f"the first {adversary.EXAMPLES} test examples",
        f"moves by more than {adversary.NEAR:g}, in total variation",
        f"If more than {farthest.KEYS} keys are left",
        f"{adversary.STEPS} steps of Adam",
    ],
    "docs/performance.md": [
        f"From 2^{pooling.LARGE.bit_length() - 1} numbers on (128 MB of float32)",
        f"and {4 * streaming.TILE >> 20} MB of float32",
        f"`hydra.launcher.size` is {batched().size} by default",
        f"Greedy decoding asks every {UNSEEN} symbols",
        f"A step of more than 2^{STEP_PAIRS.bit_length() - 1} pairs is refused",
        f"| `loo_mse` | 2^{regression.LEFT_OUT.bit_length() - 1} pairs",
        f"`sink_mass` | 2^{regression.MEASURED.bit_length() - 1} pairs",
        f"is kept | 2^{regression.KEPT.bit_length() - 1} weights per head "
        f"| {regression.KEPT_QUERIES:,} queries",
    ],
    "docs/runs.md": [f"| `{name}` |" for name in files.WRITTEN],
}


@pytest.mark.parametrize("page", TOLD)
def test_the_page_has_those_of_the_code(page):
    text = " ".join((ROOT / page).read_text().split())
    assert [told for told in TOLD[page] if told not in text] == []
