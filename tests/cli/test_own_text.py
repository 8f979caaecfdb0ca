"""Text of the user's own on the command line: what a run knows of its file."""

import json

import pytest
from stored_runs import change_summary

SMALL = ("data=pairs", "model=additive", "train.max_epochs=1", "figures=false")


@pytest.fixture
def train(succeeds, tmp_path):
    """Trains on a file of lines, and returns the answer and the folders of all runs."""

    def trained(lines, *words):
        (tmp_path / "my.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        answer = succeeds(*SMALL, "data.path=my.tsv", *words)
        return answer, sorted((tmp_path / "outputs").glob("*-*"))

    return trained


LINES = [f"the {n} cat\tle chat {n}" for n in ("black", "white", "old", "big", "small")] * 2


def test_the_same_command_with_another_content_is_another_run(train, in_process):
    _, first = train(LINES)
    _, same = train(LINES)
    assert same == first
    _, both = train([*LINES, "hello\tbonjour"])
    assert len(both) == 2
    summary = json.loads((first[0] / "summary.json").read_text())
    assert len(summary["config"]["data"]["sha256"]) == 64
    assert {"bleu", "chrf", "character_error_rate"} <= summary["metrics"].keys()
    assert "5 of 10 pairs of my.tsv repeat another one and are left out" in summary["notes"]
    answer = in_process("verify", str(both[0]), str(both[1]))
    assert (answer.returncode, "1 of 2 runs could not be verified" in answer.stderr) == (1, True)


def test_a_run_whose_file_has_changed_or_is_gone_says_so(train, succeeds, refused, tmp_path):
    _, (folder,) = train(LINES)
    succeeds("verify", str(folder))
    (tmp_path / "my.tsv").write_text("hello\tbonjour\n")
    for sentence in ("my.tsv is not the file that was asked for", "there is no file my.tsv"):
        for words in (("verify", str(folder)), ("decode", str(folder), "cat")):
            assert sentence in refused(*words).replace("\n", " ")
        (tmp_path / "my.tsv").unlink(missing_ok=True)


def test_a_run_knows_both_files_of_parallel_lines(succeeds, refused, tmp_path):
    sides = zip(*(line.split("\t") for line in LINES), strict=True)
    for name, lines in zip(("a.en", "a.fr"), sides, strict=True):
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
    succeeds(*SMALL, "data.path=[a.en,a.fr]")
    (folder,) = (tmp_path / "outputs").glob("*-*")
    summary = json.loads((folder / "summary.json").read_text())
    assert [len(each) for each in summary["config"]["data"]["sha256"]] == [64, 64]
    assert "5 of 10 pairs of [a.en,a.fr] repeat another one and are left out" in summary["notes"]
    succeeds("verify", str(folder))
    change_summary(folder, lambda s: s["config"]["data"].update(sha256=2 * ["${sha256:a.en}"]))
    assert "data.sha256" in refused("verify", str(folder))
    (tmp_path / "a.fr").write_text("un\n")
    assert "a.en has 10 lines, and a.fr 1" in refused(*SMALL, "data.path=[a.en,a.fr]")


def test_decode_says_which_symbols_it_does_not_know(train, succeeds):
    _, (folder,) = train(LINES)
    answer = succeeds("decode", str(folder), "the zebra cat")
    told = answer.stdout + answer.stderr
    assert "not in the training data, and read as <unk>: 'zebra'" in told


@pytest.mark.parametrize(
    ("arch", "more"),
    [
        ("transformer", {"attention_encoder.png", "attention_decoder.png"}),
        ("decoder_only", {"attention_self.png"}),
    ],
)
def test_other_architectures_and_scripts_leave_pictures_and_predictions(train, arch, more):
    lines = [f"{n} chats\t{n}只猫。" for n in "一二三四五六"]
    words = (f"arch={arch}", "data.level=character", "figures=true")
    answer, (folder,) = train(lines, *words)
    drawn = {path.name for path in (folder / "figures").glob("attention*")}
    assert drawn == {"attention.png", *more}
    assert all(f"{folder.name}/figures/{name}\n" in answer.stdout for name in drawn)
    assert "猫" in (folder / "predictions.csv").read_text(encoding="utf-8")


def test_a_file_that_is_wrong_is_refused_before_anything_is_written(refused, tmp_path):
    (tmp_path / "my.tsv").write_text("a\tb\nc\n")
    for path, sentence in {
        "my.tsv": "my.tsv, line 2: it has 1 cells, and the first line 2; cells are separated by",
        "none.tsv": "there is no file none.tsv",
        ".": ". is not a file",
        "/dev/zero": "/dev/zero is not a file",
    }.items():
        assert " ".join(refused(*SMALL, f"data.path={path}").split()).startswith(
            f"attnexp: {sentence}"
        )
    assert not (tmp_path / "outputs").exists()
