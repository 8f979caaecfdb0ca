"""Time and memory of attention by length."""

import pytest

from attnexp.cards.cost import DIM, costs_of, measure, require_alone
from attnexp.core.errors import RequestError


@pytest.mark.check
def test_memory_is_at_least_that_of_the_weights_and_grows_with_their_number():
    """Of a plain formula the weights, n^2 numbers of 4 bytes, are kept, and queries, keys and
    values."""
    found = measure(["model=dot", "normalizer=sparsemax", "device=cpu"], [128, 256], times=2)
    small, large = (found[f"MB kept@{length}"] for length in (128, 256))
    assert small[1] >= 4 * (128**2 + 3 * 128 * DIM) / 2**20
    assert small[1] == small[2]
    assert 2.5 < large[1] / small[1] < 4
    assert all(seconds > 0 for seconds in found["seconds@256"].values())


def test_an_estimator_costs_what_it_adds():
    """The line makes several maps of n^2 numbers, the average by a fused kernel none."""
    found = [
        measure(["model=dot", f"estimator={name}", "device=cpu"], [256], times=1)
        for name in ("local_constant", "local_linear", "delta")
    ]
    average, line, delta = (costs["MB kept@256"][1] for costs in found)
    weights = 4 * 256**2 / 2**20
    assert line > average + 2 * weights
    assert delta > average + weights


@pytest.mark.parametrize("word", ["attention=gated", "arch.kv_heads=1", "positions=rotary"])
def test_what_is_around_the_score_has_no_cost(word):
    message = f"the cost is that of model, normalizer, estimator alone, without {word}"
    with pytest.raises(RequestError, match=message):
        require_alone(["model=dot", "normalizer.k=3", word])


OWN = """
import os
import time
from attnexp.scores import Score


class Mine(Score):
    def compare(self, queries, keys):
        {body}
"""


@pytest.mark.check
def test_time_that_others_have_of_the_processor_is_not_counted(own_choice, in_process, tmp_path):
    body = "time.sleep(0.5); return queries @ keys.transpose(-2, -1)"
    words = own_choice("model", "mine_costs.Mine", OWN.format(body=body))
    line = [words[0], str(tmp_path / words[1]), words[2], "device=cpu"]
    found = measure(line, [8], times=1)
    assert 0 < found["seconds@8"][1] < 0.25


@pytest.mark.check
@pytest.mark.parametrize(
    ("body", "seconds", "message"),
    [
        ("return queries.nonsense", 120, "AttributeError: .*nonsense"),
        ("time.sleep(60)", 6, "stopped after 0.1 minutes"),
        ("os.abort()", 120, r"its process was killed by signal 6 \(SIGABRT\)"),
    ],
)
def test_a_score_that_fails_or_never_ends_is_said(
    own_choice, in_process, tmp_path, body, seconds, message
):
    words = own_choice("model", "mine_costs.Mine", OWN.format(body=body))
    config_dir = [words[0], str(tmp_path / words[1])]
    with pytest.raises(RequestError, match=message):
        costs_of(
            [*config_dir, words[2], "device=cpu"],
            [8],
            times=1,
            seconds=seconds,
            late="stopped after 0.1 minutes",
        )
