"""`attnexp attend`: the textbook's cases against loops and PyTorch, and requests of all kinds."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import yaml
from conftest import CONF, choice_names

from attnexp.attention.pooling import AttentionPooling
from attnexp.config.build import seeded
from attnexp.scores.additive import Additive

EXAMPLES = choice_names("attend")


@pytest.fixture
def attended(in_process):
    """What `attnexp attend` computes."""

    def attend(*arguments):
        answer = in_process("attend", *map(str, arguments), "--format", "json")
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)

    return attend


def by_loops(record):
    """Weights and contexts from scores and mask, number by number."""
    weights = np.zeros_like(record["weights"])
    for b, rows in enumerate(record["scores"]):
        for q, row in enumerate(rows):
            shares = [
                np.exp(score) if seen else 0.0
                for score, seen in zip(row, record["mask"][b][q], strict=True)
            ]
            weights[b, q] = np.array(shares) / sum(shares)
    contexts = [
        [
            sum(w * np.array(v) for w, v in zip(row, record["values"][b], strict=True))
            for row in rows
        ]
        for b, rows in enumerate(weights)
    ]
    return weights, np.array(contexts)


@pytest.mark.parametrize("example", ["additive", "scaled_dot"])
def test_equal_keys_give_the_mean_of_the_valid_values(attended, example):
    record = attended(f"example={example}")
    np.testing.assert_allclose(record["context"], [[[2, 3, 4, 5]], [[10, 11, 12, 13]]], rtol=1e-6)
    np.testing.assert_allclose(record["weights"][0], [[0.5] * 2 + [0.0] * 8])
    np.testing.assert_allclose(record["weights"][1], [[1 / 6] * 6 + [0.0] * 4], rtol=1e-6)
    weights, contexts = by_loops(record)
    np.testing.assert_allclose(record["weights"], weights, rtol=1e-6)
    np.testing.assert_allclose(record["context"], contexts, rtol=1e-6)


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
    record = attended("example=additive", "--keys", "normal:2x10x2", "--seed", 3)
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


def test_the_weighted_average_is_a_batched_product(attended):
    record = attended("example=batch_product")
    np.testing.assert_allclose(record["context"], [[[4.5]], [[14.5]]], rtol=1e-6)
    product = torch.bmm(torch.full((2, 1, 10), 0.1), torch.arange(20.0).view(2, 10, 1))
    np.testing.assert_allclose(record["context"], product, rtol=1e-6)


def test_kernel_regression_by_hand(attended):
    record = attended("example=kernel", "model.width=2")
    x, y = np.linspace(0, 3, 7), np.linspace(0, 3, 7) ** 2
    for query, context in zip(range(4), record["context"][0], strict=True):
        kernel = np.exp(-((2 * (query - x)) ** 2) / 2)
        assert context[0] == pytest.approx(kernel @ y / kernel.sum(), rel=1e-5)


@pytest.mark.parametrize("example", ["additive", "masked_softmax"])
def test_an_example_is_shown_with_its_shapes(in_process, example):
    answer = in_process("attend", f"example={example}")
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    path = CONF / "attend" / f"{example}.yaml"
    assert lines[0] == path.read_text().splitlines()[0].removeprefix("# ")
    content = yaml.safe_load(path.read_text())
    shown = {line.split("  ")[0].strip() for line in lines}
    tensors = {"queries", "keys", "values", "scores", "valid_lens"} & set(content)
    assert {*tensors, "scores", "mask", "weights"} <= shown
    assert ("context" in shown) == ("values" in content)
    assert "weights of sequence 1, queries downwards, keys across" in lines
    assert "\x1b" not in answer.stdout


def test_a_normalizer_that_learns(attended):
    record = attended("--scores", "1,2,3;0,0,0", "--normalizer", "sink")
    assert (record["score"], record["normalizer"]) == (None, "sink")
    assert record["parameters"] == {"s": []}
    assert np.array(record["weights"]).sum(axis=-1).max() < 1


def test_scores_of_minus_infinity_are_null_for_programs(attended, in_process):
    words = ("--queries", "0", "--keys", "0,9", "--values", "1,2", "--score", "boxcar")
    record = attended(*words)
    assert record["scores"] == [[[0.0, None]]]
    assert record["weights"] == [[[1.0, 0.0]]]
    assert "-inf" in in_process("attend", *words).stdout


def test_settings_of_score_and_normalizer(attended):
    drawn = ("example=additive", "--keys", "normal:2x10x2", "model.hidden_dim=3")
    record = attended(*drawn, "normalizer=topk", "normalizer.k=1")
    assert record["parameters"]["w_v"] == [1, 3]
    assert np.sort(record["weights"]).tolist() == [[[0] * 9 + [1]]] * 2


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
    other = attended("--from", "mine/case.yaml", "--values", "-1,0,1", "seed=6")
    assert other["context"] == [[[-1], [1]]]
    assert other["seed"] == 6


def test_large_arrays_are_cut_and_many_sequences_counted(in_process):
    answer = in_process("attend", "--scores", "normal:9x50x60", "--valid-lens", "40")
    assert answer.returncode == 0, answer.stderr
    assert "..." in answer.stdout
    assert "weights of sequence 6, queries upwards, keys across" in answer.stdout
    assert "and 3 more sequences" in answer.stdout
    assert max(map(len, answer.stdout.splitlines())) <= 80


def test_the_map_as_a_picture(in_process, tmp_path):
    answer = in_process("attend", "example=additive", "--output", "map.svg")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.splitlines()[-1] == "the map is in map.svg"
    assert (tmp_path / "map.svg").read_bytes().startswith(b"<?xml")


QUERIES = ("--queries", "ones:2")
PAIR = (*QUERIES, "--keys", "ones:3")
WIDE = ("model=additive", "model.hidden_dim=999")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "--queries and --keys must be given"),
        (QUERIES, "--keys must be given"),
        ((*PAIR, "--scores", "1"), "scores are given, so that queries have no part"),
        (["example=additiv"], "'additiv' is none of additive, "),
        (["example=additiv"], "Did you mean 'additive'?"),
        (["example=additive", "--from", "x.yaml"], "cannot both be given"),
        (["additive"], "'additive' is not a setting: write name=value"),
        ((*PAIR, "data=sine"), "'data' decides nothing here: choose model, model.NAME"),
        ((*PAIR, "model._target_=os.system"), "'model._target_' decides nothing here"),
        ((*PAIR, "model=dot,additive"), "model takes one value here, got 'dot,additive'"),
        ((*PAIR, "model.widht=2"), "There is no setting 'widht' in 'model'"),
        ((*PAIR, "--score", "gaussian", "model.width=-1"), "width must be greater than 0, got -1"),
        ((*PAIR, "--normalizer", "soft"), "'soft' is not one of the choices for 'normalizer'"),
        ((*PAIR, "--seed", "-1"), "seed must be 0 or more, got -1"),
        ((*PAIR, "--valid-lens", "4"), "valid_lens must lie between 0 and the number of keys, 3"),
        ((*PAIR, "--values", "nope"), "--values: 'nope' is no tensor: write KIND:SHAPE"),
        ((*PAIR, "--output", "map.gif"), "map.gif must end with .png, .svg or .pdf"),
        ((*PAIR, "--output", "none.png/map.png"), "--output: none.png/map.png cannot be written"),
        (["--from", "none.yaml"], "--from: none.yaml is not there"),
        (
            ("--queries", "ones:2x3", "--keys", "ones:2x4", "--score", "dot"),
            "dot needs queries and keys of one dimension, got 3 and 4",
        ),
        (
            ("--queries", "ones:2x1x3", "--keys", "ones:3x2x3", "--values", "ones:4"),
            "queries 2 x 1 x 3, keys 3 x 2 x 3, values 4",
        ),
        (
            ("--queries", "ones:1000", "--keys", "ones:1000", *WIDE),
            "compares 1,000,000 pairs by 999 numbers each, and at most",
        ),
        ((*PAIR, "--score", "additive", "model.hidden_dim=99999999999"), "GB"),
    ],
)
def test_wrong_requests_are_said(in_process, tmp_path, arguments, sentence):
    (tmp_path / "none.png").touch()
    answer = in_process("attend", *arguments)
    assert answer.returncode == 2
    (line,) = answer.stderr.splitlines()
    assert sentence in line
    assert len(line) <= 300


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("- 1\n", "must hold lines of `name: value`"),
        ("keys: [\n", "not valid YAML"),
        ("keys: ones:2\nqueries: ones:2\nkyes: 3\n", "'kyes' decides nothing here"),
        ("keys: ones:2\nqueries: ones:2\nkyes: 3\n", "Did you mean 'keys'?"),
        ("keys: ones:2\nqueries: a:2\n", "case.yaml: queries: 'a:2' is of no kind"),
        ("keys: 1\nqueries: 1\nmodel: {_target_: os.system}\n", "model"),
        ("keys: 1\nqueries: 1\nmodel: '${oc.env:HOME}'\n", "model takes one value here"),
        ("keys: 1\nqueries: 1\nmodel: [a, b]\n", "'model'"),
    ],
)
def test_files_that_make_no_sense(in_process, tmp_path, text, sentence):
    (tmp_path / "case.yaml").write_text(text)
    answer = in_process("attend", "--from", "case.yaml")
    assert answer.returncode == 2
    (line,) = answer.stderr.splitlines()
    assert sentence in line
    assert len(line) <= 300


def test_a_score_of_ones_own(in_process, tmp_path):
    (tmp_path / "conf" / "model").mkdir(parents=True)
    (tmp_path / "own_score_of_attend.py").write_text(
        "from attnexp.scores.dot import Dot\nclass Mine(Dot):\n    pass\n"
    )
    (tmp_path / "conf" / "model" / "mine.yaml").write_text(
        "# My own.\n_target_: own_score_of_attend.Mine\n"
    )
    answer = in_process("attend", *PAIR, "--score", "mine", "--config-dir", "conf")
    assert answer.returncode == 0, answer.stderr
    assert "model=mine: My own." in answer.stdout
    del sys.modules["own_score_of_attend"]


def test_help_names_the_examples_and_imports_no_torch():
    code = (
        "import sys\n"
        "from attnexp.cli.attend import parse\n"
        "try:\n"
        "    parse(['--help'])\n"
        "finally:\n"
        "    heavy = {'torch', 'matplotlib', 'pandas', 'hydra', 'omegaconf'} & set(sys.modules)\n"
        "    assert not heavy, heavy\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert all(example in answer.stdout for example in EXAMPLES)
