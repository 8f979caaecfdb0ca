"""`attnexp new`: what it writes passes its test and runs, and nothing existing is overwritten."""

import csv
import importlib.util
import json
import math
import re
import runpy
import shutil
import sys
import tomllib

import pytest
import torch
import yaml
from conftest import ROOT
from documented import blocks
from imported import python

from attnexp.architectures.contract import ARCHITECTURE_CONTRACT
from attnexp.architectures.positions.contract import POSITIONS_CONTRACT
from attnexp.attention.contract import ATTENTION_CONTRACT, ESTIMATOR_CONTRACT
from attnexp.cli.new import KINDS
from attnexp.data.contract import DATA_CONTRACT
from attnexp.normalizers.contract import NORMALIZER_CONTRACT
from attnexp.probe.laws.contract import LAW_CONTRACT
from attnexp.scores.contract import SCORE_CONTRACT

CONTRACTS = {
    "score": SCORE_CONTRACT,
    "normalizer": NORMALIZER_CONTRACT,
    "data": DATA_CONTRACT,
    "sequences": DATA_CONTRACT,
    "estimator": ESTIMATOR_CONTRACT,
    "attention": ATTENTION_CONTRACT,
    "positions": POSITIONS_CONTRACT,
    "arch": ARCHITECTURE_CONTRACT,
    "law": LAW_CONTRACT,
}


@pytest.fixture
def written(succeeds, tmp_path):
    """Each kind, written into one folder."""
    for kind in KINDS:
        succeeds("new", kind, f"written_{kind}")
    return tmp_path


def outcome_of(folder, *words):
    return python("-m", "pytest", "-q", "-p", "no:cacheprovider", *words, folder)


@pytest.mark.slow
def test_the_tests_fail_until_the_worked_cases_are_ones_own(written):
    answer = outcome_of(written, "-k", "worked_case")
    assert f"{len(KINDS)} failed" in answer.stdout
    for kind in KINDS:
        assert f"FAILED test_written_{kind}.py::test_worked_case" in answer.stdout
    assert answer.stdout.count("E       Failed: nothing is filled in yet: write a case") == len(
        KINDS
    )
    for path in written.glob("test_*.py"):
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if "nothing is filled in" not in line))
    answer = outcome_of(written)
    assert answer.returncode == 0, answer.stdout


@pytest.mark.slow
def test_the_test_of_a_class_with_a_wrong_declaration_fails(succeeds, tmp_path):
    mean = "difference.square().mean(dim=-1)"
    wrong = {
        "sums": ("normalizer", "sums_to_one = True", "sums_to_one = False"),
        "shift": ("normalizer", "shift_invariant = True", "shift_invariant = False"),
        "near": ("score", f"return -self.scale * {mean}", f"return (1 - {mean}).relu().log()"),
    }
    for name, (kind, line, other) in wrong.items():
        succeeds("new", kind, name)
        path = tmp_path / f"{name}.py"
        text = path.read_text()
        assert line in text
        path.write_text(text.replace(line, other))
    said = outcome_of(tmp_path).stdout
    assert "AssertionError: sums_to_one must be True" in said
    assert "AssertionError: shift_invariant must be True" in said
    assert "AssertionError: compact must be True: a score is minus infinity" in said


def test_the_document_explains_the_sequences_that_are_written(succeeds, tmp_path):
    succeeds("new", "sequences", "lookup")
    code = (tmp_path / "lookup.py").read_text()
    page = (ROOT / "docs" / "own_code.md").read_text()
    section = page[page.index("## Sequences") : page.index("For another order of the source")]
    explained = {*re.findall(r"`(\w+)`", section)}
    assert explained >= {"families", "batch_of", "arranging", "arrangements", "stack"}
    elsewhere = {"question_batch", "given_batch", "num_train", "num_validation", "num_test"}
    assert not [name for name in explained - elsewhere if name not in code]


def test_an_order_of_ones_own_is_one_method(succeeds, tmp_path):
    (code,) = (code for code in blocks("docs/own_code.md", "python") if "Rotate" in code)
    (choice,) = blocks("docs/own_code.md", "yaml")
    (tmp_path / "rotate.py").write_text(code)
    (tmp_path / "conf" / "data").mkdir(parents=True)
    (tmp_path / "conf" / "data" / "rotate.yaml").write_text(choice)
    few = ["figures=false", "train.max_epochs=1", "data.num_train=20", "data.num_test=5"]
    succeeds("--config-dir", "conf", "data=rotate", *few)
    (path,) = tmp_path.glob("outputs/*/predictions.csv")
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 5
    for row in rows:
        first, *others = row["source"].split()
        assert row["target"].split() == [*others, first]


@pytest.mark.parametrize(
    ("name", "contract"),
    [
        ("Softpick", NORMALIZER_CONTRACT),
        ("Exclusive", ATTENTION_CONTRACT),
        ("Fading", ESTIMATOR_CONTRACT),
    ],
)
def test_a_mechanism_of_the_document_meets_its_contract(name, contract):
    (code,) = (code for code in blocks("docs/own_code.md", "python") if f"class {name}" in code)
    names = {}
    exec(code, names)
    for check in contract:
        check(names[name])


@pytest.mark.slow
def test_an_estimator_of_the_document_is_a_word_like_others(succeeds, tmp_path):
    (code,) = (code for code in blocks("docs/own_code.md", "python") if "class Fading" in code)
    (tmp_path / "fading.py").write_text(code)
    (tmp_path / "conf" / "estimator").mkdir(parents=True)
    settings = "# Weights that fade.\n_target_: fading.Fading\nstart: 5.0\n"
    (tmp_path / "conf" / "estimator" / "fading.yaml").write_text(settings)
    few = ["figures=false", "train.max_epochs=1", "data.num_train=64", "data.num_test=8"]
    words = ["data=reverse", "arch=decoder_only", "data.num_validation=8", *few]
    succeeds("-m", "--config-dir", "conf", *words, "estimator=local_constant,fading")
    found = {
        json.loads(path.read_text())["choices"]["estimator"]: path.parent
        for path in tmp_path.glob("outputs/*/summary.json")
    }
    assert set(found) == {"local_constant", "fading"}
    summary = json.loads((found["fading"] / "summary.json").read_text())
    assert "entropy" in summary["metrics"]
    assert "negative_mass" not in summary["metrics"]


def test_a_score_of_the_document_adapts_to_the_keys_that_are_left():
    (code,) = (code for code in blocks("docs/own_code.md", "python") if "PerKeys" in code)
    names = {}
    exec(code, names)
    queries, keys = torch.randn(3, 2, 4), torch.randn(3, 5, 4)
    scores = names["PerKeys"](4, 4)(queries, keys, torch.tensor([1, 3, 5]))
    for scored, q, k, n in zip(scores, queries, keys, (1, 3, 5), strict=True):
        torch.testing.assert_close(scored, q @ k.T / 2 * math.log(n))


@pytest.mark.parametrize("kind", KINDS)
def test_a_test_runs_the_contract_of_its_kind(kind, succeeds, tmp_path, monkeypatch):
    succeeds("new", kind, f"held_{kind}")
    monkeypatch.syspath_prepend(tmp_path)
    (mark,) = runpy.run_path(f"test_held_{kind}.py")["test_contract"].pytestmark
    assert mark.args == ("check", CONTRACTS[kind])


def test_a_law_of_ones_own_is_an_intervention(
    in_process, succeeds, refused, finished_runs, tmp_path
):
    said = in_process("new", "law", "blurred", "--into", "mine").stdout
    command = said.splitlines()[-1]
    assert command == "  attnexp probe RUN blurred --config-dir mine/conf"
    run = shutil.copytree(finished_runs["curve"], tmp_path / "run")
    answer = succeeds(*command.replace("RUN", str(run)).split()[1:], "--format", "json")
    learned, blurred = json.loads(answer.stdout)["rows"]
    assert blurred["intervention"] == "blurred"
    assert blurred["mean"] != learned["mean"]
    short = (tmp_path / "mine" / "blurred.py").read_text().replace("/ 2\n", "[..., 1:]\n")
    (tmp_path / "mine" / "blurred.py").write_text(short)
    sys.modules.pop("blurred")
    assert "the law Blurred failed: ValueError: weights of " in refused(
        *command.replace("RUN", str(run)).split()[1:]
    )
    answer = in_process("probe", str(run), "blurred")
    assert "blurred is neither a run nor an intervention" in answer.stderr


def written_by_hand(path):
    """Write the words of a claim by hand in place of those of the template."""
    _, text = path.read_text().split("\n", 1)
    claim = yaml.safe_load(text)
    claim["source"] |= {"paper": "Nadaraya (1964)", "place": "page 1", "printed": "it is"}
    claim |= {"claims": "A wide kernel is close.", "setup": "none", "changed": "all"}
    claim["prediction"]["says"] = "It is."
    path.write_text(f"# Is a wide kernel close?\n{yaml.safe_dump(claim)}")


def test_a_claim_in_the_words_of_the_template_is_neither_run_nor_judged(
    in_process, refused, tmp_path
):
    in_process("new", "claim", "smooth")
    file = tmp_path / "conf" / "claim" / "smooth" / "claim.yaml"
    untouched = file.read_text()
    line = ("claims", "smooth", "--config-dir", "conf")
    said = refused(*line)
    assert "conf/claim/smooth/claim.yaml has the words of the template in the question" in said
    assert "claims, source.paper, source.place, source.printed, setup, changed, pred" in said
    written_by_hand(file)
    in_process(*line, "--dry-run")
    filled = file.read_text()
    for old, new in (
        ("paper: Nadaraya (1964)", "source.paper"),
        ("says: It is.", "prediction.says"),
    ):
        name = old.partition(":")[0]
        (words,) = re.findall(rf"{name}: ([^,}}\n]+)", untouched)
        file.write_text(filled.replace(old, f"{name}: '{words} '"))
        assert f"the words of the template in {new}: write your own there" in refused(*line)
    assert not (tmp_path / "outputs").exists()
    answer = in_process("claims", "--config-dir", "conf")
    assert answer.returncode == 0
    assert "smooth could not be judged" in answer.stdout + answer.stderr
    file.write_text(filled)
    assert in_process(*line, "--dry-run").returncode == 0


@pytest.mark.slow
def test_a_claim_that_was_written_is_judged(in_process, succeeds, tmp_path):
    said = in_process("new", "claim", "smooth", "--into", "mine").stdout
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.yaml")] == [
        "mine/conf/claim/smooth/claim.yaml"
    ]
    command = said.splitlines()[-1]
    assert command == "  attnexp claims smooth --config-dir mine/conf"
    written_by_hand(tmp_path / "mine" / "conf" / "claim" / "smooth" / "claim.yaml")
    assert re.search("verdict +reproduced", succeeds(*command.split()[1:]).stdout)
    listed = in_process("claims", "--config-dir", "mine/conf").stdout
    (line,) = (line for line in listed.splitlines() if line.startswith("smooth "))
    assert line.split()[1] == "reproduced"


@pytest.mark.parametrize("kind", KINDS)
def test_the_line_that_installs_pytest_is_printed_where_it_lacks(kind, in_process, monkeypatch):
    """The environment of `make run` has no pytest."""
    install = "  python -m pip install 'attnexp[exercises]'  # brings pytest"
    assert install not in in_process("new", kind, f"one_{kind}").stdout.splitlines()
    there = importlib.util.find_spec
    lacking = lambda name: None if name == "pytest" else there(name)  # noqa: E731
    monkeypatch.setattr(importlib.util, "find_spec", lacking)
    lines = in_process("new", kind, f"two_{kind}").stdout.splitlines()
    assert lines[lines.index(install) + 1] == f"  python -m pytest test_two_{kind}.py"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert any(each.startswith("pytest") for each in extras["optional-dependencies"]["exercises"])


@pytest.mark.first(1)
@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"law"}))
def test_the_next_command_runs(kind, in_process, succeeds):
    said = in_process("new", kind, f"own_{kind}", "--into", "mine").stdout
    methods = KINDS[kind][1]
    assert f"fill in {methods} in mine/own_{kind}.py" in said
    command = said.splitlines()[-1].split()
    assert command[0] == "attnexp"
    few = ["figures=false", "train.max_epochs=1", "data.num_train=20", "data.num_test=5"]
    succeeds(*command[1:], *few)


@pytest.mark.parametrize(
    ("kind", "file"), [("score", "test_mine.py"), ("claim", "conf/claim/mine/claim.yaml")]
)
def test_nothing_is_overwritten_and_nothing_half_written(kind, file, refused, tmp_path):
    precious = tmp_path / file
    precious.parent.mkdir(parents=True, exist_ok=True)
    precious.write_text("precious")
    assert f"{file} exists already" in refused("new", kind, "mine")
    assert precious.read_text() == "precious"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [precious]


def test_a_folder_that_cannot_be_written_is_refused(refused, tmp_path):
    (tmp_path / "into").write_text("a file")
    assert "--into: into/other.py cannot be written" in refused(
        "new", "score", "other", "--into", "into"
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("score dot", "model=dot is one of attnexp's own"),
        ("score json", "Python has a module 'json' already"),
        ("score Mine", "lower-case ASCII, digits and underscores, such as my_model, got 'Mine'"),
        ("claim Mine", "lower-case ASCII, digits and underscores, such as my_claim, got 'Mine'"),
        ("claim nw_rate", "claim nw_rate is one of attnexp's own: choose another name"),
        ("score ../mine", "got '../mine'"),
        ("score none", "'none' is a word of YAML's"),
        ("score softmax", "normalizer=softmax is one of attnexp's own"),
        *(
            (f"score {name}", f"'{name}' is a word of Python's")
            for name in ("class", "type", "self")
        ),
        *((f"score {name}", f"'{name}' is a device of Windows") for name in ("con", "nul", "aux")),
    ],
)
def test_names_that_cannot_be_used_are_refused(words, sentence, refused, tmp_path):
    assert sentence in refused("new", *words.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("group", "code", "missing"),
    [
        (
            "normalizer",
            "from attnexp.normalizers.base import Normalizer as Base\n"
            "class Bare(Base):\n"
            "    shift_invariant = True\n"
            "    def normalize(self, scores, seen):\n"
            "        return scores.softmax(dim=-1)\n",
            "sums_to_one, which every Normalizer has",
        ),
        (
            "data",
            "from attnexp.data.base import Dataset as Base\n"
            "class Bare(Base):\n"
            "    def __init__(self, generator):\n"
            "        self.train = self.validation = self.test = None\n",
            "spec, which every Dataset has",
        ),
    ],
)
def test_a_class_without_what_the_program_needs_gets_a_sentence(
    group, code, missing, refused, own_choice
):
    mine = own_choice(group, f"bare_{group}.Bare", code)
    assert f"bare_{group}.Bare sets no {missing}" in refused(*mine)
