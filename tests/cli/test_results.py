"""`attnexp results` as it is typed."""

import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from attnexp.cli import main as cli
from attnexp.cli.arguments import latex_caption
from attnexp.core.errors import CommandEnded
from attnexp.runs.origin.provenance import GitState
from attnexp.runs.user_code import code_digits
from attnexp.select.reference import path_of

Results = Callable[..., str]


@pytest.fixture
def sweep(write_run) -> None:
    """Three models and two seeds; `additive` has a setting of its own."""
    for i, (model, settings) in enumerate(
        (("gaussian", {}), ("boxcar", {}), ("additive", {"model": {"hidden_dim": 64}}))
    ):
        for seed in (0, 1):
            write_run(
                f"{model}-{seed}",
                {**settings, "seed": seed, "model._target_": model},
                choices={"model": model},
                metrics={"test_mse": round(0.5 - 0.1 * i + 0.01 * seed, 2), "neighbours": 7.25},
            )


@pytest.fixture
def results(tmp_path: Path, monkeypatch, capsys) -> Results:
    """Runs `attnexp results` beside outputs/ and returns what it prints."""
    (tmp_path / "outputs").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, code: int = 0) -> str:
        assert cli.run(["results", *arguments]) == code
        captured = capsys.readouterr()
        return captured.err if code else captured.out

    return run


@pytest.fixture
def codes(write_run) -> None:
    """A score of the user's with two texts of its code, and a shipped one."""
    for digit, code in enumerate(({"mine": "ab"}, {"mine": "cd"}, {})):
        model = "mine" if code else "dot"
        for seed in (0, 1):
            write_run(
                f"{model}-{digit}-{seed}",
                {"seed": seed, "model._target_": model},
                choices={"model": model},
                metrics={"test_mse": 0.5 + digit + 0.1 * seed},
                code=code,
                git=GitState(str(digit) + "b" * 39, dirty=False),
                started=f"2026-01-0{digit + 1}T00:00:00+00:00",
            )


OLD, NEW = (code_digits({"mine": text}) for text in ("ab", "cd"))


def column(text: str, name: str) -> list[str]:
    return [str(value) for value in pd.read_csv(io.StringIO(text))[name]]


def test_nothing_there_is_one_friendly_sentence(results: Results):
    assert results() == "There are no runs below outputs yet: `attnexp` makes one.\n"
    none = "there are no runs of results version 7 below outputs"
    assert none in results("--results-version", "7", code=2)


@pytest.mark.usefixtures("sweep")
def test_runs_show_model_data_seed_and_what_differs(results: Results):
    head = results("--runs").splitlines()[0].split()
    assert head == ["#", "model", "data", "seed", "test_mse", "neighbours"]


def test_a_setting_that_differs_within_a_choice_is_a_column(results: Results, write_run):
    write_run("a", {"model.width": 1})
    write_run("b", {"model.width": 2})
    assert results("--runs").split()[:5] == ["#", "model", "data", "seed", "model.width"]


RISING = ["0.3", "0.31", "0.4", "0.41", "0.5", "0.51"]


@pytest.mark.usefixtures("sweep")
@pytest.mark.parametrize(
    ("arguments", "order"),
    [
        (("--sort", "test_mse"), RISING),
        (("--sort=test_mse",), RISING),
        (("--sort=-test_mse",), RISING[::-1]),
    ],
)
def test_sorting_by_a_metric_puts_the_best_first_and_a_minus_last(results, arguments, order):
    assert column(results("--runs", *arguments, "--format", "csv"), "test_mse") == order


def test_higher_may_be_better_and_missing_comes_last(results: Results, write_run):
    for name, value in (("a", 0.5), ("b", 0.9), ("c", None), ("d", 0.7)):
        write_run(
            name, primary="accuracy", better={"accuracy": "higher"}, metrics={"accuracy": value}
        )
    text = results("--runs", "--sort", "accuracy", "--format", "csv")
    assert column(text, "accuracy") == ["0.9", "0.7", "0.5", "nan"]
    text = results("--runs", "--sort=-accuracy", "--format", "csv")
    assert column(text, "accuracy") == ["0.5", "0.7", "0.9", "nan"]


@pytest.mark.usefixtures("sweep")
@pytest.mark.parametrize("ending", ["txt", "csv", "md", "tex", "json"])
def test_a_file_holds_what_the_screen_would_show(results: Results, ending: str, tmp_path: Path):
    form = {"txt": "table", "md": "markdown", "tex": "latex"}.get(ending, ending)
    printed = results("--runs", "--format", form)
    said = results("--runs", "--output", f"table.{ending}")
    assert said == f"6 rows in table.{ending}\n"
    written = (tmp_path / f"table.{ending}").read_text()
    assert [line.rstrip() for line in written.splitlines()] == [
        line.rstrip() for line in printed.splitlines()
    ]


@pytest.mark.usefixtures("sweep")
def test_a_file_that_cannot_be_written_is_one_sentence(results: Results, tmp_path: Path):
    text = results("--output", "nowhere/table.csv", code=2)
    assert text == (
        "attnexp: --output: nowhere/table.csv cannot be written: No such file or directory\n"
    )
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--sort", "tset_mse"], "There is no column 'tset_mse'. Did you mean 'test_mse'?"),
        (["--metric", "tset_mse"], "There is no metric 'tset_mse'. Did you mean 'test_mse'?"),
        (["nowhere"], "'nowhere' is neither a folder nor a run below outputs: give a folder"),
        (["--format", "xls"], "--format 'xls' is not a choice"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
        (["--by", "colour"], "There is no column 'colour'"),
        (["--where", "modle=a"], "There is no column 'modle'. Did you mean 'model'"),
        (["--limit", "some"], "--limit: 'some' is not a whole number from 0 on"),
        (["--limit", "-1"], "--limit: '-1' is not a whole number from 0 on"),
        (["--limit=-40"], "--limit: '-40' is not a whole number from 0 on"),
        (["--limit", "1.5"], "--limit: '1.5' is not a whole number from 0 on"),
        (["--top", "0"], "--top: '0' is not a positive integer"),
        (
            ["--top", "2", "--metric", "neighbours"],
            "neighbours describes and does not rank: choose",
        ),
        (["--runs", "--top", "2", "--metric", "neighbours"], "does not rank: choose test_mse"),
        (["--runs", "--by", "model"], "--by is for rows that gather runs"),
        (["--runs", "--equal-within", "0"], "--equal-within is for rows that gather runs"),
        (["--runs", "--require", "a worse than b"], "--require is for rows that gather runs"),
        (["--runs", "--looks", "2"], "--looks is for rows that gather runs"),
        (["--explain", "--runs"], "--explain is for rows that gather runs: leave out --runs"),
        (["--costs", "--runs", "--format", "csv"], "--costs is for rows that gather runs"),
        (["--runs", "--columns", "mean"], "no table has a column 'mean': choose #, data, model"),
        (["--runs", "--columns", "test_mze"], "'test_mze'. Did you mean 'test_mse'?"),
        (["--output", "table.xls"], "table.xls ends with none of .txt, .csv"),
    ],
)
@pytest.mark.usefixtures("sweep")
def test_wrong_requests_are_explained(results: Results, arguments: list[str], text: str):
    assert text in results(*arguments, code=2)


@pytest.mark.usefixtures("sweep")
def test_only_some_runs_and_only_some_metrics(results: Results):
    text = results("--runs", "--where", "model in [boxcar] and seed=1", "--metric", "test_mse")
    assert text.split()[:5] == ["#", "model", "data", "seed", "test_mse"]
    number, *row = text.splitlines()[-1].split()
    assert row == ["boxcar", "sine", "1", "0.41"]
    assert path_of(number) == "outputs/boxcar-1"
    text = results("--where", "model=nope", code=2)
    assert text == "attnexp: none of the 6 runs fits model=nope\n"


def test_a_place_of_a_detail_is_a_number_as_any_other(results: Results, write_run):
    for seed, share in enumerate((0.25, 0.75)):
        details = {"exact_match_by_length": {"5": share, "9": 0.5}}
        write_run(f"run{seed}", {"seed": seed}, details=details)
    word = "exact_match_by_length@5"
    text = results("--runs", "--metric", word, f"--sort=-{word}", "--where", f"{word} > 0.1")
    assert [line.split()[-1] for line in text.splitlines()[2:]] == ["0.75", "0.25"]
    assert "mean" not in results("--where", f"{word} > 0.5", "--runs")
    text = results("--metric", "exact_match_by_lenth@5", code=2)
    assert "Did you mean 'exact_match_by_length@5' or 'exact_match_by_length@9'?" in text


@pytest.mark.usefixtures("sweep")
def test_rows_and_columns_by_hand(results: Results):
    rows = json.loads(results("--by", "data", "--format", "json"))["rows"]
    assert [(row["data"], row["n"]) for row in rows] == [("sine", 2)]


@pytest.mark.usefixtures("sweep")
def test_long_tables_are_cut_on_the_screen_and_say_so(results: Results):
    text = results("--runs", "--limit", "4")
    assert text.splitlines()[-1] == "2 more rows: --limit 0 shows all."
    assert results("--runs", "--limit", "5").endswith("\n1 more row: --limit 0 shows all.\n")
    assert len(results("--runs", "--limit", "0").splitlines()) == 8
    assert len(results("--runs", "--format", "csv").splitlines()) == 7


def models(text: str) -> list[str]:
    """Return the model of each row of a table in any format."""
    before = r'[\d ]*|\| +(?:\d+ \| )?| *(?:\d+ & )?| *"model": "|sine,'
    row = rf'^(?:{before})(additive|boxcar|gaussian)[ ,"$]'
    table = re.sub(r"^.* (has|have) the (low|high)est .*$", "", text, flags=re.MULTILINE)
    return re.findall(row, table, flags=re.MULTILINE)


@pytest.mark.usefixtures("sweep")
@pytest.mark.parametrize("form", ["table", "markdown", "latex", "csv", "json"])
@pytest.mark.parametrize(
    ("words", "rows"),
    [
        (["--top", "2"], ["additive", "boxcar"]),
        (["--top", "2", "--sort=-test_mse"], ["boxcar", "additive"]),
        (["--top", "9"], ["additive", "boxcar", "gaussian"]),
        (["--top", "2", "--where", "model!=additive"], ["boxcar", "gaussian"]),
        (["--top", "2", "--limit", "1"], ["additive"]),
        (["--limit", "2", "--sort=-test_mse"], ["gaussian", "boxcar"]),
        (["--runs", "--top", "3"], ["additive", "additive", "boxcar"]),
        (["--runs", "--limit", "3", "--sort=test_mse"], ["additive", "additive", "boxcar"]),
    ],
)
def test_the_best_and_the_first_rows_are_those_of_every_format(results, form, words, rows):
    assert models(results(*words, "--format", form)) == rows


@pytest.mark.usefixtures("sweep")
def test_the_best_rows_keep_the_verdicts_and_numbers_that_they_have_among_all(results: Results):
    every, best = (json.loads(results(*top, "--format", "json")) for top in ((), ("--top", "2")))
    assert best["rows"] == every["rows"][:2]
    assert (best["verdicts"], best["notes"]) == (every["verdicts"], every["notes"])
    assert "sine: 2 of 3 configurations, 6 runs" in results("--top", "2")


@pytest.mark.parametrize("how", [(), ("--runs",)])
def test_rows_on_other_data_are_ranked_apart(results: Results, write_run, how):
    for points, values in ((50, (0.5, 0.4, 0.6)), (500, (0.3, 0.1, 0.2))):
        for model, value in zip("abc", values, strict=True):
            settings = {"model._target_": model, "data.num_train": points}
            choices = {"model": model}
            write_run(f"{model}{points}", settings, choices=choices, metrics={"test_mse": value})
    text = results(*how, "--top", "1", "--format", "csv")
    assert sorted(column(text, "model" if how else "mean")) == (
        ["b", "b"] if how else ["0.1", "0.4"]
    )


def test_the_best_runs_have_a_number_and_are_results(results: Results, write_run):
    """Not those that failed, that tuned, or that lack the number, and the best is first."""
    tuned = {"values": {}, "metric": "test_mse", "seeds": [7], "tuning_run": True}
    for seed, value in enumerate((0.3, 0.1, 0.2)):
        write_run(f"a{seed}", {"seed": seed}, metrics={"test_mse": value})
    write_run("tuning", {"seed": 7}, metrics={"test_mse": 0.0}, tuning=tuned)
    write_run("failed", {"seed": 8}, status="failed", metrics={"test_mse": None})
    other = {"primary": "exact_match", "better": {"exact_match": "higher"}}
    write_run("b", {"data.num_train": 9}, metrics={"test_mse": None, "exact_match": 0.5}, **other)
    words = ("--runs", "--top", "2", "--metric", "test_mse")
    assert column(results(*words, "--format", "csv"), "test_mse") == ["0.1", "0.2"]
    assert "Top 2 by test_mse of runs on the same data: 2 of 6." in results(*words)
    assert "--top: no run" in results(*words, "--where", "status=failed", code=2)


def test_rows_are_sorted_by_a_metric_that_joins_those_that_are_shown(results: Results, write_run):
    better = {"test_mse": "lower", "test_mae": "lower"}
    for model, mse, mae in (("additive", 1.0, 3.0), ("boxcar", 2.0, 1.0), ("gaussian", 3.0, 2.0)):
        for seed in (0, 1):
            settings = {"model._target_": model, "seed": seed}
            more = {"choices": {"model": model}, "metrics": {"test_mse": mse, "test_mae": mae}}
            write_run(f"{model}{seed}", settings, better=better, **more)
    for words, order in (
        (("--sort", "test_mae"), ["boxcar", "gaussian", "additive"]),
        (("--sort=-test_mae",), ["additive", "gaussian", "boxcar"]),
        (("--sort", "test_mae", "--top", "2"), ["boxcar", "gaussian"]),
    ):
        assert models(results(*words, "--format", "csv")) == order


@pytest.mark.parametrize("how", [(), ("--runs",)])
def test_runs_without_a_result_have_no_best(results: Results, write_run, how):
    write_run("a", status="failed", primary=None, metrics={}, better={})
    assert "--top: no run has a result" in results(*how, "--top", "1", code=2)


def test_skipped_folders_are_one_line_apart_from_the_output(write_run, results: Results, capsys):
    write_run("good")
    for i in range(5):
        (write_run(f"bad{i}") / "summary.json").write_text("{")
    assert cli.run(["results", "--format", "json"]) == 0
    captured = capsys.readouterr()
    assert len(json.loads(captured.out)["rows"]) == 1
    assert captured.err.startswith("note: skipped 5 folders: outputs/bad0/summary.json cannot be")
    assert captured.err.endswith("; and 2 more\n")
    assert captured.err.count("\n") == 1


@pytest.mark.usefixtures("sweep")
@pytest.mark.parametrize("form", ["table", "markdown", "latex"])
def test_columns_are_chosen_in_every_format_that_has_tables(results: Results, form: str):
    text = results("--columns", "interval,mean", "--format", form)
    assert "standing" not in text
    (row,) = (line for line in text.splitlines() if re.match(r"[ |]*boxcar", line))
    assert row.index("[") < row.index("0.405")


@pytest.mark.usefixtures("sweep")
def test_columns_are_chosen_of_runs_too(results: Results):
    head = results("--runs", "--columns", "neighbours").splitlines()[0]
    assert head.split() == ["#", "model", "data", "seed", "neighbours"]


def test_a_column_without_any_value_is_a_note(results: Results, write_run, capsys):
    write_run("a")
    assert cli.run(["results", "--columns", "interval,mean", "--format", "markdown"]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[2].split() == ["|", "model", "|", "test_mse", "|"]
    assert captured.err == "note: --columns: no row has a value of interval\n"


@pytest.mark.usefixtures("sweep")
def test_a_table_for_a_paper(results: Results):
    words = ("--label", "tab:dates", "--caption", r"On $n=50$ points, 5\%.", "--digits", "2")
    text = results("--format", "latex", *words)
    assert r"\label{tab:dates}" in text
    assert r"\caption{On $n=50$ points, 5\%.}" in text
    assert "$[0.24, 0.37]$" in text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--label", "tab:a"], "--label is for LaTeX, and this is table: add --format latex"),
        (["--caption", "A", "--format", "csv"], "--caption is for LaTeX, and this is csv"),
        (["--digits", "0", "--output", "a.md"], "--digits is for LaTeX, and this is markdown"),
        (["--columns", "mean", "--format", "csv"], "csv always has every column"),
        (["--columns", "mean", "--output", "a.json"], "json always has every column"),
        (["--columns", "men"], "no table has a column 'men'. Did you mean 'mean'?"),
        (["--digits", "-1"], "'-1' is not a whole number from 0 to 12"),
        (["--digits", "13"], "'13' is not a whole number from 0 to 12"),
        (["--label", "tab{a}"], "'tab{a}' is not a label such as tab:dates"),
        (["--caption", "a{b"], "'a{b' is LaTeX that leaves a brace or a $ open"),
        (["--caption", "}{"], "leaves a brace or a $ open"),
        (["--caption", "5 $"], "leaves a brace or a $ open"),
        (["--caption", "5 % of"], r"'5 % of' is LaTeX: write \% for %"),
        (["--caption", "test_mse"], r"'test_mse' is LaTeX: write \_ for _"),
    ],
)
@pytest.mark.usefixtures("sweep")
def test_wrong_requests_of_papers_are_explained(results: Results, arguments, text: str):
    assert text in results(*arguments, code=2)


@pytest.mark.parametrize("text", [r"$x_1$ and \_", r"\cite{a_b}", r"\emph{{a} b}", "plain"])
def test_a_caption_is_latex(text: str):
    assert latex_caption(text) == text


@pytest.mark.usefixtures("sweep")
@pytest.mark.parametrize("form", ["table", "markdown", "latex", "csv", "json"])
@pytest.mark.parametrize("how", [(), ("--runs",)])
def test_another_name_is_in_every_format_and_the_old_one_in_none(results: Results, form, how):
    plain = results(*how, "--format", form)
    renamed = results(*how, "--format", form, "--name", "additive=Bahdanau", "--name", "boxcar=Box")
    for old, new in {"additive": "Bahdanau", "boxcar": "Box"}.items():
        gone = [line for line in renamed.splitlines() if re.search(rf"\b{old}\b", line)]
        assert all("outputs" in line or "_target_" in line for line in gone), gone
        assert 0 < renamed.count(new) <= len(re.findall(rf"\b{old}\b", plain))


@pytest.mark.usefixtures("sweep")
@pytest.mark.parametrize("form", ["table", "markdown", "latex", "csv", "json"])
@pytest.mark.parametrize("how", [("--by", "model,model.hidden_dim"), ("--runs",)])
def test_columns_and_metrics_have_other_names_in_every_format(results: Results, form, how):
    asked = ("--name", "model.hidden_dim=size", "--name", "test_mse=MSE", "--name", "neighbours=N")
    expected = results(*how, "--metric", "test_mse,neighbours", "--format", form)
    renamed = results(*how, "--metric", "test_mse,neighbours", "--format", form, *asked)
    for old, new in {"model.hidden_dim": "size", "test_mse": "MSE", "neighbours": "N"}.items():
        expected = expected.replace(old, new).replace(old.replace("_", r"\_"), new)
    assert {"MSE", "N"} <= {*re.findall(r"\w+", renamed)}
    assert without_rules(renamed) == without_rules(expected)


def without_rules(text: str) -> list[str]:
    """Return the words of a text but for the lines of a table."""
    return [word for word in text.split() if set(word) - set("-─:|")]


@pytest.mark.usefixtures("sweep")
def test_a_row_of_several_labels_has_one_name(results: Results):
    text = results("--name", "additive, hidden_dim=64=Bahdanau", "--by", "model,model.hidden_dim")
    *_, row = [line.split() for line in text.splitlines() if line.startswith("Bahdanau")]
    assert row[1] == "\N{EN DASH}"


@pytest.mark.usefixtures("sweep")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        (("additive=same", "boxcar=same"), "would both be 'same'"),
        (("additive=boxcar",), "would both be 'boxcar'"),
        (("additive=a\nb",), "has no new name of one line"),
        (("additive=",), "has no new name of one line"),
        (("addditive=a",), "Did you mean 'additive'"),
        (("hidden_dim=64",), "'hidden_dim=64' has no new name of one line"),
        (("hidden_dim=64=",), "'hidden_dim=64=' has no new name of one line"),
        (("hidden_dim==size",), "the name '=size' of a column has an equals sign"),
        (("test_mse=neighbours",), "'test_mse' and another column would both be 'neighbours'"),
        (("test_mse=MSE", "hidden_dim=MSE"), "and another column would both be 'MSE'"),
        (("tst_mse=MSE",), "Did you mean 'test_mse'"),
        (("test_mse=sd",), "'test_mse' and another column would both be 'sd'"),
        (("hidden_dim=better on",), "and another column would both be 'better on'"),
        (("test_mse=标准差",), "and another column would both be '标准差'"),
        (("test_mse=data sets",), "and another column would both be 'data sets'"),
        (("sd=SD",), "'sd' is a column of statistics, which keeps its name"),
        (("interval=CI",), "'interval' is a column of statistics, which keeps its name"),
        (("additive=a", "additive=b"), "'additive' would be both 'a' and 'b'"),
        (("hidden_dim=64=a", "model.hidden_dim=64=b"), "would be both 'a' and 'b'"),
        (("hidden_dim=a", "model.hidden_dim=b"), "'model.hidden_dim' would be both 'a' and 'b'"),
        (("code=S", "seed=S"), "and another column would both be 'S'"),
    ],
)
def test_a_name_that_merges_rows_or_fits_none_is_refused(results: Results, name, said):
    words = [word for each in name for word in ("--name", each)]
    assert said in results(*words, code=2)


@pytest.mark.usefixtures("sweep")
def test_names_can_be_swapped(results: Results):
    swapped = results("--name", "additive=boxcar", "--name", "boxcar=additive", "--format", "csv")
    plain = results("--format", "csv")
    assert column(swapped, "mean") == column(plain, "mean")
    turned = {"additive": "boxcar", "boxcar": "additive"}
    expected = [turned.get(name, name) for name in column(plain, "model")]
    assert column(swapped, "model") == expected


def named(*names: str) -> list[str]:
    return [word for each in names for word in ("--name", each)]


@pytest.mark.parametrize("old", [f"code={OLD}", OLD])
@pytest.mark.usefixtures("codes")
def test_code_has_another_head_and_its_values_other_names(results: Results, old):
    asked = named("code=Version", f"{old}=first", "code=-=none")
    for how in (("--by", "model,code"), ("--runs",)):
        text = results(*how, *asked, "--format", "csv")
        assert {*column(text, "Version")} == {"first", NEW, "none"}
        assert OLD not in text
    text = results("--by", "model,code", *asked)
    assert "mine, first has the lowest mean" in text
    assert f"mine (Version={NEW})" in text
    assert re.search("^model +Version ", text, re.MULTILINE)


@pytest.mark.usefixtures("codes")
def test_notes_have_the_other_names_of_code_and_commits(results: Results):
    notes = json.loads(results(*named(f"{OLD}=first", "1bbbbbbbbb=June"), "--format", "json"))
    assert any("of other code (first; changed: mine)" in note for note in notes["notes"])
    assert any(
        "the runs differ in git commit: 2bbbbbbbbb and June" in note for note in notes["notes"]
    )


@pytest.mark.usefixtures("codes")
def test_a_commit_is_ten_digits_everywhere(results: Results):
    ten = "0bbbbbbbbb"
    assert {*column(results("--by", "commit", "--format", "csv"), "commit")} == {
        ten, "1bbbbbbbbb", "2bbbbbbbbb",
    }  # fmt: skip
    assert "2 rows" not in results("--where", f"commit={ten}", "--runs")
    assert results("--where", f"commit={ten}", "--runs", "--columns", "commit").count(ten) == 2
    text = results("--where", f"commit={ten}", "--columns", "commit")
    assert re.search(f"^mine +{ten} *$", text, re.MULTILINE)


@pytest.mark.usefixtures("sweep")
def test_seeds_and_costs_have_other_heads(results: Results):
    assert "S" in results("--runs", *named("seed=S")).splitlines()[0].split()
    asked = named("parameters=P", "seconds=T", "peak_memory_mb=M")
    assert re.search("^model +P +steps +T +M *$", results("--costs", *asked), re.MULTILINE)
    head = results(*asked, "--format", "csv").splitlines()[0].split(",")
    assert {"P", "T", "M"} <= {*head}
    assert not {"parameters", "seconds", "peak_memory_mb"} & {*head}


@pytest.mark.parametrize(
    ("name", "other"), [("width=1=2", "2"), ("model.width=1=2", "2"), ("width=1=null", "null")]
)
def test_the_name_of_a_value_is_no_other_value_of_the_setting(
    results: Results, write_run, name, other
):
    for folder, width in (("a", 1.0), ("b", 2.0), ("c", None)):
        write_run(folder, {"model.width": width})
    told = results(*named(name), code=2)
    assert f"and another value of model.width would both be '{other}'" in told
    swapped = results(*named("width=1=2", "width=2=1"), "--format", "json")
    assert [row["model.width"] for row in json.loads(swapped)["rows"]] == ["2", "1", None]


@pytest.mark.usefixtures("codes")
def test_columns_are_chosen_by_old_and_new_names(results: Results):
    asked = named("test_mse=MSE", "code=Version")
    for chosen in ("test_mse,code", "MSE,Version", "mean,Version"):
        text = results(*asked, "--columns", chosen)
        assert re.search("^model +MSE +Version *$", text, re.MULTILINE), text
    for chosen in ("code,test_mse", "Version,MSE"):
        head = results(*asked, "--runs", "--columns", chosen).splitlines()[0].split()
        assert head[-2:] == ["Version", "MSE"]
    told = results(*asked, "--columns", "ms", code=2)
    assert re.search("choose .*MSE.*mean", told)


@pytest.mark.usefixtures("sweep")
def test_a_column_without_any_value_is_a_note_under_either_name(results: Results, capsys):
    for name in ("code", "Version"):
        assert cli.run(["results", *named("code=Version"), "--columns", f"mean,{name}"]) == 0
        assert capsys.readouterr().err == f"note: --columns: no row has a value of {name}\n"


@pytest.mark.usefixtures("sweep")
@pytest.mark.parametrize("form", ["table", "markdown", "latex", "json"])
def test_what_is_the_same_in_every_run_has_other_names(results: Results, form):
    text = results(*named("arch=Rule", "kernel_regression=Nadaraya"), "--format", form)
    assert "The same in every run: Rule=Nadaraya" in text


@pytest.mark.usefixtures("sweep")
def test_the_same_name_twice_is_one(results: Results):
    once, twice = (results(*named(*["additive=A"] * count)) for count in (1, 2))
    assert once == twice


def test_the_command_on_older_code_shows_the_runs_of_cards(results: Results, write_run):
    for day, text in enumerate(("ab", "cd"), 1):
        started = f"2026-01-0{day}T00:00:00+00:00"
        write_run(f"cards/{text}", code={"mine": text}, started=started)
    (line,) = re.findall("attnexp results (outputs/cards --by .*)", results("outputs/cards"))
    assert {OLD, NEW} <= {*results(*line.split()).split()}


def test_a_number_of_looks_is_no_longer_needed(sweep, results: Results, capsys):
    plain = results()
    cli.run(["results", "--looks", "4"])
    captured = capsys.readouterr()
    assert captured.out == plain
    assert (
        "--looks is no longer needed: verdicts hold however often seeds are added" in captured.err
    )


@pytest.mark.parametrize(
    ("sentence", "code"),
    [
        ("additive better than boxcar", 0),
        ("boxcar better than additive", 4),
        ("additive equal to boxcar within 0.05", 4),
        ("gaussian better than boxcar", 3),
    ],
)
def test_a_required_sentence_ends_the_command_by_what_the_table_shows(
    write_run, results: Results, capsys, sentence, code
):
    for model, base in (("additive", 0.1), ("boxcar", 0.2), ("gaussian", 0.2)):
        for seed in range(8):
            value = base + 0.001 * seed + (0.01 * (-1) ** seed if model == "gaussian" else 0)
            own = {"choices": {"model": model}, "metrics": {"test_mse": value}}
            write_run(f"{model}-{seed}", {"seed": seed, "model._target_": model}, **own)

    def ends(*words):
        if code == 0:
            assert cli.run(["results", *words]) == 0
        else:
            with pytest.raises(CommandEnded, match=str(code)):
                cli.run(["results", *words])

    ends("--require", sentence, "--format", "json")
    content = json.loads(capsys.readouterr().out)
    (answer,) = content["required"]
    assert answer["outcome"] == {0: "holds", 3: "not shown", 4: "false"}[code]
    assert answer["sentence"] == sentence
    assert content["verdicts"][-1].startswith(f"{answer['outcome']}: {sentence}: test_mse")
    ends("--require", "additive better than boxcar", "--require", sentence)
    capsys.readouterr()
    ends("--require", sentence, "--output", "table.csv")
    assert f"{answer['outcome']}: {sentence}: test_mse" in capsys.readouterr().err


def test_a_sentence_about_no_runs_is_refused(results: Results):
    assert "--require: there are no runs below outputs" in results(
        "--require", "a worse than b", code=2
    )


@pytest.fixture
def suite(write_run) -> None:
    """Two models on six data sets, of which `gaussian` is better on each seed."""
    for number in range(6):
        for model, error in (("gaussian", 0.1), ("boxcar", 0.2)):
            for seed in (0, 1):
                write_run(
                    f"{model}-{number}-{seed}",
                    {"seed": seed, "model._target_": model, "data._target_": f"d{number}"},
                    choices={"model": model, "data": f"d{number}"},
                    metrics={"test_mse": error + 0.01 * seed + number},
                )


@pytest.mark.usefixtures("suite")
def test_rows_are_compared_over_data_sets(results):
    text = results("--over", "data")
    assert "gaussian has the best mean rank over 6 tasks, 1. Worse: boxcar (ahead on 0)" in text
    assert re.search(r"^boxcar +2 +worse +0 +-1 \[-1, -1\] +0, 0, 0$", text, re.MULTILINE)
    assert results("--over", "data", "--require", "gaussian better than boxcar")
    with pytest.raises(CommandEnded, match="4"):
        results("--over", "data", "--require", "boxcar better than gaussian")
    assert "-1 [-1, -1]" in results("--over", "data", "--columns", "net_share")


@pytest.mark.usefixtures("suite")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--runs"], "--over is for rows that gather runs: leave out --runs"),
        (["--top", "1"], "--top is for tables by task: leave out --over"),
        (["--explain"], "--explain is for tables by task: leave out --over"),
        (["--metric", "test_mse,neighbours"], "--metric with several names is for tables by task"),
        (["--by", "data"], "--by data: rows are in a task, and --over data tells tasks apart"),
        (["--where", "data=d0"], "--over data: 1 task with results: two are needed"),
    ],
)
def test_what_is_not_of_rows_over_tasks_is_refused(results, words, sentence):
    assert sentence in results("--over", "data", *words, code=2)


@pytest.mark.usefixtures("sweep")
def test_a_table_is_chinese_on_request_and_by_the_locale_but_not_for_programs(results, monkeypatch):
    english = {form: results("--format", form) for form in ("csv", "json", "table")}
    chinese = results("--lang", "zh")
    assert "判定" in chinese
    notes = [line for line in chinese.splitlines() if line.startswith("提示")]
    assert len(notes) == english["table"].count("note: ") > 0
    sentences = re.sub("\N{FULLWIDTH COLON}attnexp .*", "", chinese, flags=re.MULTILINE)
    assert re.findall("[A-Za-z]+ [a-z]+ [a-z]+", sentences) == []
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert results() == chinese
    assert results("--lang", "en", "--format", "table") == english["table"]
    assert {form: results("--format", form) for form in ("csv", "json")} == {
        form: english[form] for form in ("csv", "json")
    }


def test_why_results_are_missing_is_said_in_the_language_of_the_table(results, write_run):
    for seed in (0, 1):
        write_run(f"a{seed}", {"model.width": 1, "seed": seed})
    write_run("b0", {"model.width": 2, "seed": 0}, status="interrupted", metrics={})
    assert "1 interrupted, 1 missing" in results()
    chinese = results("--lang", "zh", "--explain")
    assert "1 次中断\N{FULLWIDTH COMMA}1 次缺少" in chinese


@pytest.mark.parametrize("option", ["by", "columns", "metric", "over", "sort"])
@pytest.mark.parametrize("text", ["", " "])
def test_an_option_without_a_name_is_refused(results: Results, option, text):
    said = f"attnexp: argument --{option}: expected a name, got '{text}'"
    assert results(f"--{option}", text, code=2).startswith(said)
