"""`attnexp attend --run`: what a run has learned, in an attention of one's own."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import ROOT

import attnexp
from attnexp.runs import files

STORED = ROOT / "tests" / "runs" / "stored"
REGRESSION = str(STORED / "gaussian_learned-sine")
SEQUENCES = str(STORED / "additive-reverse")


def test_the_learned_width_compares(in_process):
    answer = in_process("attend", "example=kernel", "--run", REGRESSION, "--format", "json")
    assert answer.returncode == 0, answer.stderr
    record = json.loads(answer.stdout)
    width = float(attnexp.load_run(REGRESSION).parameters["pooling.score.width"])
    queries, keys = (np.array(record[name])[0, :, 0] for name in ("queries", "keys"))
    expected = -((width * (queries[:, None] - keys)) ** 2) / 2
    np.testing.assert_allclose(record["scores"][0], expected, rtol=1e-5, atol=1e-7)
    assert (record["score"], record["normalizer"]) == ("gaussian_learned", "softmax")
    assert record["origin"] == f"trained parameters of pooling in {REGRESSION}"


@pytest.mark.parametrize("name", ["decoder.0.cross", "encoder.0.own"])
def test_one_attention_of_several(in_process, name):
    asked = ("attend", "--run", SEQUENCES, "--queries", "normal:1x2x4", "--keys", "eye:4")
    answer = in_process(*asked, "--attention", name, "--format", "json")
    assert answer.returncode == 0, answer.stderr
    record = json.loads(answer.stdout)
    score = attnexp.scores.Additive(4, 4, hidden_dim=4)
    stored = attnexp.load_run(SEQUENCES).parameters
    start = f"{name}.score."
    score.load_state_dict(
        {
            own.removeprefix(start): torch.tensor(array)
            for own, array in stored.items()
            if start in own
        }
    )
    scores = score(torch.tensor(record["queries"]), torch.tensor(record["keys"])).detach()
    np.testing.assert_allclose(record["scores"], scores, rtol=1e-5)
    if name == "decoder.0.cross":
        assert in_process(*asked, "--format", "json").stdout == answer.stdout


def test_what_is_shown_and_a_normalizer_of_ones_own(in_process):
    asked = ("--queries", "0", "--keys", "0,9", "normalizer=sparsemax")
    answer = in_process("attend", "--run", REGRESSION, *asked)
    assert answer.returncode == 0, answer.stderr
    assert re.search(r"^trained parameters of pooling in .*: width a number$", answer.stdout, re.M)
    assert "normalizer=sparsemax" in answer.stdout


PAIR = ("--queries", "ones:2", "--keys", "ones:3")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("--queries", "ones:1x2x3", "--keys", "ones:3", "--run", REGRESSION),
            "compares queries of 1 features with keys of 1, got queries of 3 and keys of 1",
        ),
        (
            (*PAIR, "--run", SEQUENCES, "--attention", "decoder.0.cros"),
            "is none of decoder.0.cross, decoder.0.own or encoder.0.own. Did you mean 'decoder.",
        ),
        ((*PAIR, "--run", "nowhere"), "nowhere holds no summary.json"),
        ((*PAIR, "--run", "failed"), "failed is failed: it has no trained model"),
        ((*PAIR, "--run", "empty"), "holds no parameters of its model"),
    ],
)
def test_wrong_requests_are_said(in_process, regression_run, tmp_path, arguments, sentence):
    if "failed" in arguments:
        regression_run("failed", status="failed")
    if "empty" in arguments:
        summary = json.loads(Path(REGRESSION, files.SUMMARY).read_text())
        (tmp_path / "empty").mkdir()
        (tmp_path / "empty" / files.SUMMARY).write_text(json.dumps(summary))
    answer = in_process("attend", *arguments)
    assert answer.returncode == 2
    (line,) = answer.stderr.splitlines()
    assert sentence in line
    assert len(line) <= 300


def test_a_normalizer_that_learned_a_number_for_each_head_is_refused(in_process, tmp_path):
    small = ("normalizer=sink", "arch.heads=2", "arch.head_dim=3", "train.max_epochs=1")
    assert in_process(*small, "model=additive", "figures=false").returncode == 0
    (folder,) = (tmp_path / "outputs").iterdir()
    asked = ("attend", "--run", str(folder), "--queries", "ones:1x2x3", "--keys", "ones:1x2x3")
    refused = in_process(*asked)
    assert refused.returncode == 2
    assert "has learned a number for each of 2 heads: choose another with" in refused.stderr
    assert in_process(*asked, "normalizer=softmax").returncode == 0
