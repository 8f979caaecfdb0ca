"""docs/metrics.md is what docs/metrics.py writes."""

import re
import runpy

import pytest
import torch
from conftest import ROOT
from hydra.utils import instantiate
from omegaconf import OmegaConf

from attnexp.core.language import said, translate

DOCS = ROOT / "docs"


def test_the_tables_are_as_declared():
    page = (DOCS / "metrics.md").read_text()
    assert page.count("<!-- attnexp.tasks.") == 5
    written = runpy.run_path(str(DOCS / "metrics.py"))["written"]
    assert written(page) == page, "run `python docs/metrics.py`"


def test_the_chinese_page_has_the_same_metrics():
    page = (DOCS / "zh" / "metrics.md").read_text()
    written = runpy.run_path(str(DOCS / "metrics.py"))["written_in_chinese"]
    assert written(page) == page, "run `python docs/metrics.py`"
    both = (page, (DOCS / "metrics.md").read_text())
    rows = (re.findall(r"^\| `(\w+)` \| (\w*) ?\| .* \| .* \|$", text, re.M) for text in both)
    for (name, chinese), (_, english) in zip(*rows, strict=True):
        own = said(f"{english} is better").zh() if english else ""
        assert chinese in {own, english}, name


def test_a_metric_without_a_translation_has_its_english_row_and_others_keep_theirs():
    page = (DOCS / "zh" / "metrics.md").read_text()
    written = runpy.run_path(str(DOCS / "metrics.py"))["written_in_chinese"]
    found = written(re.sub(r"(?m)^\| `peaked` .*\n", "", page))
    lines = zip(page.splitlines(), found.splitlines(), strict=True)
    ((own, english),) = ((one, other) for one, other in lines if one != other)
    assert own.startswith("| `peaked` |")
    assert english in (DOCS / "metrics.md").read_text().splitlines()


def test_the_signatures_of_sacrebleu_are_those_that_are_told():
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    page = (DOCS / "data.md").read_text()
    for metric in (BLEU(), CHRF()):
        metric.corpus_score(["a b c d"], [["a b c d"]])
        assert str(metric.get_signature()).partition("|version")[0] in page
        metric.corpus_score(["a", "b"], [["a", "b"], ["c", None]])  # type: ignore[list-item]
        assert str(metric.get_signature()).startswith("nrefs:var|")


@pytest.mark.parametrize(
    ("task", "told"),
    [
        ("regression", {"test_mse": {"chance": "baseline_mse"}}),
        (
            "seq2seq",
            {
                "exact_match": {"chance": "exact_match_chance"},
                "token_accuracy": {"chance": "baseline_token_accuracy"},
                "alignment_accuracy": {
                    "all heads": "alignment_accuracy_mean",
                    "chance": "alignment_accuracy_chance",
                },
                "gold_mass": {"all heads": "gold_mass_mean"},
            },
        ),
        ("translation", {"bleu": {"chance": "bleu_chance"}}),
    ],
)
def test_what_stands_beside_a_metric_is_a_metric_and_has_its_column(task, told):
    from attnexp.tables.columns import COLUMNS
    from attnexp.tasks import regression, seq2seq, translation

    metrics = {
        "regression": regression.METRICS,
        "seq2seq": seq2seq.METRICS,
        "translation": translation.TRANSLATION_METRICS,
    }[task]
    companions = [pair for metric in metrics for pair in metric.companions.items()]
    assert {name for _, name in companions} <= {metric.name for metric in metrics}
    assert {head for head, _ in companions} <= {translate(column.title) for column in COLUMNS}
    assert {metric.name: metric.companions for metric in metrics if metric.companions} == told


@pytest.mark.parametrize("name", ["metrics.md", "zh/metrics.md"])
def test_the_page_names_the_normalizers_whose_rows_do_not_sum_to_one(name):
    """The names are found by the weights of a row of one large score and small ones."""
    (line,) = re.findall(r"^.*`softmax_one`.*$", (DOCS / name).read_text(), re.MULTILINE)
    told = set(re.findall(r"`(\w+)`", line.replace("`sink_mass`", "")))
    scores = torch.tensor([[[0.5, -1.0, 0.25, 2.0]]])
    found = set()
    for path in (ROOT / "conf" / "normalizer").glob("*.yaml"):
        normalizer = instantiate(OmegaConf.load(path), heads=1)
        weights = normalizer(scores, torch.ones(1, 1, 4, dtype=torch.bool))
        if abs(weights.sum().item() - 1) > 1e-4:
            found.add(path.stem)
    assert told == found
