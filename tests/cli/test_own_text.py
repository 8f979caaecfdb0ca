"""Text of the user's own on the command line: what a run knows of its file."""

import json
import re

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


@pytest.mark.slow
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


RUNNING = (
    *("data=text", "data.path=my.txt", "data.length=8", "data.num_train=20", "figures=false"),
    *("model=scaled_dot", "arch.dim=8", "arch.heads=2", "train.max_epochs=1"),
)


def test_a_running_text_is_known_by_its_content(succeeds, refused, tmp_path):
    (tmp_path / "my.txt").write_text("the cat sat on the mat. " * 20)
    succeeds(*RUNNING)
    assert "has finished before" in succeeds(*RUNNING).stdout
    (folder,) = (tmp_path / "outputs").glob("*-*")
    summary = json.loads((folder / "summary.json").read_text())
    bits = {f"bits_per_character{times}" for times in ("", "_2x", "_4x")}
    assert bits | {"unigram_bits", "bigram_bits"} <= summary["metrics"].keys()
    assert "bit-identical" in succeeds("verify", str(folder)).stdout
    (tmp_path / "my.txt").write_text("the dog sat on the mat. " * 20)
    assert "my.txt is not the file that was asked for" in refused("verify", str(folder))
    succeeds(*RUNNING)
    assert len(list((tmp_path / "outputs").glob("*-*"))) == 2
    (tmp_path / "my.txt").unlink()
    assert "there is no file my.txt" in refused(*RUNNING)


TABLE = ("data=table", "data.x=[面积, c (m/s)]", "data.y=prix d'été", "figures=false")


@pytest.fixture
def tables(tmp_path):
    """Two files whose names and columns are not words of ASCII."""
    head = "面积,c (m/s),prix d'été\n"
    rows = "".join(f"{n},{n % 3},{n * n % 7}\n" for n in range(12))
    for name in ("温度.csv", "my file (1).csv"):
        (tmp_path / name).write_text(head + rows, encoding="utf-8")


def test_a_run_on_a_table_in_any_language_is_taken_up_and_verified(tables, succeeds, tmp_path):
    command = (*TABLE, "data.path=温度.csv", "output_dir=outputs/表 é")
    succeeds(*command)
    assert "has finished before" in succeeds(*command).stdout
    (folder,) = (tmp_path / "outputs" / "表 é").iterdir()
    data = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["config"]["data"]
    assert (data["path"], data["x"], data["y"]) == ("温度.csv", ["面积", "c (m/s)"], "prix d'été")
    assert "bit-identical" in succeeds("verify", str(folder)).stdout


@pytest.mark.slow
def test_a_sweep_over_files_of_any_name_goes_on(tables, succeeds, tmp_path):
    succeeds(*TABLE, "data.path=my file (1).csv")
    command = ("-m", *TABLE, "data.path=温度.csv,my file (1).csv", "seed=0,1")
    assert re.search(r"to do +3\b", succeeds(*command, "--dry-run").stdout)
    succeeds(*command)
    assert len(list((tmp_path / "outputs").glob("*-*"))) == 4
    assert "to do" not in succeeds(*command, "--dry-run").stdout


def test_a_choice_of_ones_own_has_a_name_in_any_language(succeeds, tmp_path):
    (tmp_path / "own" / "model").mkdir(parents=True)
    settings = "_target_: attnexp.scores.gaussian.Gaussian\nwidth: 1.0\n"
    for name in ("我的", "à moi"):
        (tmp_path / "own" / "model" / f"{name}.yaml").write_text(settings, encoding="utf-8")
    own = ("--config-dir", "own", "figures=false")
    succeeds("-m", "model=我的,à moi", *own)
    found = {folder.name.partition("-")[0] for folder in (tmp_path / "outputs").iterdir()}
    assert {"我的", "à moi"} <= found
    assert "我的" in succeeds("results", "outputs", "--where", "model=我的").stdout
    assert "to do" not in succeeds("-m", 'model=glob("我*")', *own, "--dry-run").stdout


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("model.größe=3", "a name has a-z, A-Z, 0-9, _ and -, got 'ö'"),
        ("+温=3", "a name has a-z, A-Z, 0-9, _ and -, got '温'"),
        ("output_dir=[é", "quote a value that holds brackets, quotes or an equals sign"),
        ("output_dir=é seed=3", "quote a value that holds brackets, quotes or an equals sign"),
    ],
)
def test_what_no_quotes_are_put_around_is_refused(refused, word, sentence):
    assert sentence in refused(word)
