"""`attnexp attend`: the textbook's cases against loops and PyTorch, and requests of all kinds."""

import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attnexp.attention.pooling import AttentionPooling
from attnexp.core.seeds import seeded
from attnexp.scores.additive import Additive


@pytest.fixture
def attended(succeeds):
    """What `attnexp attend` computes."""

    def attend(*arguments):
        answer = succeeds("attend", *map(str, arguments), "--format", "json")
        return json.loads(answer.stdout)

    return attend


@pytest.mark.parametrize("example", ["additive", "scaled_dot"])
def test_equal_keys_give_the_mean_of_the_valid_values(attended, example):
    record = attended(f"example={example}")
    np.testing.assert_allclose(record["context"], [[[2, 3, 4, 5]], [[10, 11, 12, 13]]], rtol=1e-6)
    np.testing.assert_allclose(record["weights"][0], [[0.5] * 2 + [0.0] * 8])
    np.testing.assert_allclose(record["weights"][1], [[1 / 6] * 6 + [0.0] * 4], rtol=1e-6)


def test_scores_are_those_of_the_formula(attended):
    record = attended("example=scaled_dot", "--keys", "normal:2x10x2", "--values", "normal:10x3")
    queries, keys, values = (torch.tensor(record[name]) for name in ("queries", "keys", "values"))
    scores = queries @ keys.mT / 2**0.5
    torch.testing.assert_close(torch.tensor(record["scores"]), scores)
    mask = torch.tensor(record["mask"])
    assert mask.sum(dim=-1).tolist() == [[2], [6]]
    expected = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
    torch.testing.assert_close(torch.tensor(record["context"]), expected)


def test_the_parameters_of_a_score_are_those_of_a_run_with_the_seed(attended):
    record = attended("example=additive", "--keys", "normal:2x10x2", "seed=3")
    with seeded(3, "initialisation"):
        pooling = AttentionPooling(Additive(20, 2, hidden_dim=8), value_dim=4)
    queries, keys, values = (torch.tensor(record[name]) for name in ("queries", "keys", "values"))
    context, _ = pooling(queries, keys, values, torch.tensor([2, 6]))
    torch.testing.assert_close(torch.tensor(record["context"]), context.detach())
    assert record["parameters"] == {"W_q": [8, 20], "W_k": [8, 2], "w_v": [1, 8]}
    assert attended("example=additive", "seed=4")["scores"] != record["scores"]


@pytest.mark.parametrize(
    ("example", "lens"),
    [("masked_softmax", [[2, 2], [3, 3]]), ("masked_softmax_per_query", [[1, 3], [2, 4]])],
)
def test_masked_softmax(attended, example, lens):
    record = attended(f"example={example}")
    scores, weights = np.array(record["scores"]), np.array(record["weights"])
    assert scores.shape == (2, 2, 4)
    for b in range(2):
        for q in range(2):
            valid = lens[b][q]
            shares = F.softmax(torch.tensor(scores[b, q, :valid]), dim=-1)
            np.testing.assert_allclose(weights[b, q, :valid], shares, rtol=1e-6)
            assert not weights[b, q, valid:].any()
    assert "context" not in record


@pytest.mark.parametrize("lens", [None, "2"])
def test_a_mask_hides_keys_from_queries(attended, lens):
    """The softmax over the keys that are left; a query without any has weights of 0."""
    scores = np.array([[1.0, 2.0, 3.0], [0.0, 0.5, 0.0], [1.0, 1.0, 1.0]])
    seen = np.array([[1, 0, 1], [1, 1, 0], [0, 0, 0]])
    words = [";".join(",".join(map(str, row)) for row in rows) for rows in (scores, seen)]
    if lens is not None:
        seen = seen * [1, 1, 0]
    given = () if lens is None else ("--valid-lens", lens)
    found = attended("--scores", words[0], "--mask", words[1], *given)
    powers = np.exp(scores) * seen
    expected = powers / np.maximum(powers.sum(axis=1, keepdims=True), 1e-30)
    assert np.array(found["weights"])[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("mask", "why"),
    [("1,2,0", "must be 1 where a query sees a key"), ("0.5,1,1", "must be 1 where a query")],
)
def test_a_mask_of_other_numbers_is_refused(refused, mask, why):
    assert why in refused("attend", "--scores", "1,2,3", "--mask", mask)
    assert "--mask hides a key" in refused("attend", "--scores", "1,-inf,3")


def test_the_weighted_average_is_a_batched_product(attended):
    record = attended("example=batch_product")
    np.testing.assert_allclose(record["context"], [[[4.5]], [[14.5]]], rtol=1e-6)


def test_kernel_regression_by_hand(attended):
    record = attended("example=kernel", "model.width=2")
    x, y = np.linspace(0, 3, 7), np.linspace(0, 3, 7) ** 2
    for query, context in zip(range(4), record["context"][0], strict=True):
        kernel = np.exp(-((2 * (query - x)) ** 2) / 2)
        assert context[0] == pytest.approx(kernel @ y / kernel.sum(), rel=1e-5)


def test_the_line_of_each_query_by_least_squares(attended):
    record = attended("example=local_linear")
    x = np.linspace(0, 3, 7)
    for query in range(4):
        weights = np.exp(-((query - x) ** 2) / 2)
        weights /= weights.sum()
        np.testing.assert_allclose(record["weights"][0][query], weights, rtol=1e-5)
        mean = weights @ x
        tilt = (query - mean) / (weights @ (x - mean) ** 2)
        assert record["mean_key"][0][query] == pytest.approx([mean], rel=1e-5)
        assert record["tilt"][0][query] == pytest.approx([tilt], rel=1e-4)
        design = np.sqrt(weights)[:, None] * np.stack([np.ones(7), x - query], axis=1)
        smoother = np.linalg.pinv(design)[0] * np.sqrt(weights)
        np.testing.assert_allclose(record["effective"][0][query], smoother, atol=1e-5)
        (level, _), *_ = np.linalg.lstsq(design, np.sqrt(weights) * x**2)
        assert record["context"][0][query] == pytest.approx([level], rel=1e-4)
    assert np.min(record["effective"]) < 0
    assert (record["normalizer"], record["estimator"]) == ("softmax", "local_linear")


def test_the_delta_rule_by_its_recurrence(attended):
    record = attended("example=delta")
    (queries,), (keys,), (values,) = (np.array(record[n]) for n in ("queries", "keys", "values"))
    shares = np.array(record["shares"][0])[:, 0]
    state, corrections = np.zeros(2), []
    for t in range(3):
        corrections.append(shares[t] * (values[t, 0] - state @ keys[t]))
        state += corrections[-1] * keys[t]
        assert record["context"][0][t] == pytest.approx([state @ queries[t]], rel=1e-5)
    (inverse,) = np.array(record["inverse"])
    np.testing.assert_allclose(inverse @ values[:, 0], corrections, rtol=1e-5)
    # query 2, (0, 1), and the keys (1, 0) and (0.6, 0.8)
    by_hand = [-0.8 * shares[1] * 0.6 * shares[0], 0.8 * shares[1], 0]
    assert record["effective"][0][1] == pytest.approx(by_hand, rel=1e-5)
    assert record["weights"][0] == pytest.approx(np.array([[1, 0, 0], [0, 0.8, 0], [1, 0.6, 1]]))
    assert (record["normalizer"], record["estimator"]) == (None, "delta")
    assert record["parameters"] == {"W_b": [1, 2], "W_b.bias": [1]}


def test_effective_weights_are_shown_and_drawn_with_their_signs(succeeds, tmp_path):
    printed = succeeds("attend", "example=local_linear", "--output", "map.svg").stdout
    assert "effective weights of sequence 1, queries downwards, keys across" in printed
    assert "weight -0.6807" in printed
    assert "estimator=local_linear" in (tmp_path / "map.svg").read_text()


def test_an_example_is_shown_with_its_shapes_and_drawn(succeeds, tmp_path):
    answer = succeeds("attend", "example=additive", "--output", "map.svg")
    lines = answer.stdout.splitlines()
    assert lines[0].startswith("Additive attention over equal keys")
    shown = {line.split("  ")[0].strip() for line in lines}
    assert {"queries", "keys", "values", "valid_lens", "scores", "mask", "weights"} <= shown
    assert "weights of sequence 1, queries downwards, keys across" in lines
    assert "\x1b" not in answer.stdout
    assert lines[-1] == "the map is in map.svg"
    assert (tmp_path / "map.svg").read_bytes().startswith(b"<?xml")


def test_what_a_tensor_draws_does_not_depend_on_the_others(attended):
    words = ("--keys", "normal:2x5x3", "model=additive")
    first = attended(*words, "--queries", "normal:2x1x4")
    second = attended(*words, "--queries", "ones:2x7x4", "--values", "uniform:5")
    assert first["keys"] == second["keys"]
    assert first["keys"] != attended(*words, "--queries", "ones:2x7x4", "seed=1")["keys"]


def test_the_maps_of_six_sequences_are_shown(in_process):
    printed = in_process("attend", "--scores", "normal:8x2x3").stdout
    assert printed.count("\nweights of sequence ") == 6
    assert "and 2 more sequences; --format json has all" in printed


def test_the_scale_spreads_the_weights_of_long_queries(attended):
    """An answer of the course: docs/course/scoring.md."""
    words = ("--queries", "normal:1x1x256", "--keys", "normal:1x6x256")
    plain, scaled = (attended(*words, f"model={name}") for name in ("dot", "scaled_dot"))
    assert sum(sorted(plain["weights"][0][0])[:4]) == pytest.approx(1e-6, rel=0.5)
    weights = scaled["weights"][0][0]
    assert (round(min(weights), 2), round(max(weights), 2)) == (0.06, 0.32)
    np.testing.assert_allclose(plain["scores"], 16 * np.array(scaled["scores"]), rtol=1e-5)


def test_a_normalizer_that_learns(attended):
    record = attended("--scores", "1,2,3;0,0,0", "normalizer=sink")
    assert (record["score"], record["normalizer"]) == (None, "sink")
    assert record["parameters"] == {"s": []}
    assert np.array(record["weights"]).sum(axis=-1).max() < 1


def test_scores_of_minus_infinity_are_null_for_programs(attended, in_process):
    words = ("--queries", "0", "--keys", "0,9", "--values", "1,2", "model=boxcar")
    record = attended(*words)
    assert record["scores"] == [[[0.0, None]]]
    assert record["weights"] == [[[1.0, 0.0]]]
    assert "-inf" in in_process("attend", *words).stdout


def test_files_of_ones_own(attended, tmp_path):
    (tmp_path / "mine").mkdir()
    np.save(tmp_path / "mine" / "keys.npy", np.eye(3))
    (tmp_path / "mine" / "values.csv").write_text("1,2\n3,4\n5,6\n")
    (tmp_path / "mine" / "case.yaml").write_text(
        "# Mine.\nmodel: dot\nqueries: [[100, 0, 0], [0, 0, 100]]\nkeys: keys.npy\n"
        "values: values.csv\nseed: 5\n"
    )
    record = attended("--from", "mine/case.yaml")
    assert record["context"] == [[[1, 2], [5, 6]]]
    assert record["seed"] == 5


PAIR = ("--queries", "ones:2", "--keys", "ones:3")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((*PAIR, "model.widht=2"), "There is no setting 'widht' in 'model'"),
        ((*PAIR, "model=gaussian", "model.width=-1"), "width must be greater than 0, got -1"),
        ((*PAIR, "normalizer=soft"), "'soft' is not one of the choices for 'normalizer'"),
        (("--scores", "1,2", "estimator=local_linear"), "LocalLinear needs queries and keys"),
        ((*PAIR, "estimator=delta"), "Delta takes the products of a score, and Gaussian has none"),
        (
            (*PAIR, "model=dot", "estimator=delta"),
            "estimator=delta needs as many queries as keys, of which each sees those up to its own",
        ),
        (
            ("--queries", "ones:2", "--keys", "ones:5", "model=dot", "estimator=delta")
            + ("--valid-lens", "1,2;"),
            "estimator=delta needs as many queries as keys, of which each sees those up to its own",
        ),
        (("example=delta", "valid_lens=3"), "valid_lens is an option: give it as --valid-lens '3'"),
        ((*PAIR, "seed=-1"), "seed must be 0 or more, got -1"),
        ((*PAIR, "--valid-lens", "4"), "valid_lens must lie between 0 and the number of keys, 3"),
        ((*PAIR, "--output", "none.png/map.png"), "--output: none.png/map.png cannot be written"),
        (
            ("--queries", "ones:2x3", "--keys", "ones:2x4", "model=dot"),
            "dot needs queries and keys of one dimension, got 3 and 4",
        ),
        ((*PAIR, "model=additive", "model.hidden_dim=99999999999"), "GB"),
    ],
)
def test_wrong_requests_are_said(refused, tmp_path, arguments, sentence):
    (tmp_path / "none.png").touch()
    (line,) = refused("attend", *arguments).splitlines()
    assert sentence in line
    assert len(line) <= 300


def test_a_score_of_ones_own(succeeds, own_choice):
    code = "from attnexp.scores.dot import Dot\nclass Mine(Dot):\n    pass\n"
    mine = own_choice("model", "own_score_of_attend.Mine", code)
    assert "model=mine: My own." in succeeds("attend", *PAIR, *mine).stdout


def test_weights_that_are_not_finite_are_refused(refused, own_choice, tmp_path):
    code = (
        "import torch\nfrom attnexp.normalizers.base import Normalizer\n\n\n"
        "class Mine(Normalizer):\n"
        "    sums_to_one, shift_invariant = True, True\n\n"
        "    def normalize(self, scores, seen):\n"
        "        return torch.full_like(scores, torch.nan)\n"
    )
    words = own_choice("normalizer", "mine_of_nan.Mine", code)
    said = refused("attend", "example=kernel", *words, "--output", "map.png")
    assert "the weights of model=gaussian, normalizer=mine" in said
    assert said.rstrip().endswith("hold NaN or infinity: nothing is shown")
    assert not (tmp_path / "map.png").exists()
