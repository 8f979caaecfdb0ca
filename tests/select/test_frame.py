"""Runs as a DataFrame."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from imported import python

import attnexp
from attnexp.runs.summary import Tuning
from attnexp.select.configurations import labels


def test_results_are_a_tidy_frame(write_run, tmp_path: Path):
    write_run("a", {"seed": 1, "model.width": None})
    write_run("b", {"model": {"_target_": "b", "hidden_dim": 64}}, choices={"model": "additive"})
    (write_run("c") / "summary.json").write_text("{")
    runs = attnexp.load_results(tmp_path / "outputs")
    assert runs["model"].tolist() == ["gaussian", "additive"]
    assert runs["seed"].tolist() == [1, 0]
    assert runs["test_mse"].tolist() == [0.5, 0.5]
    assert runs["model.hidden_dim"].tolist()[1] == 64
    assert isinstance(runs["model.hidden_dim"].tolist()[1], int)
    assert pd.isna(runs["model.width"]).all()
    assert runs.attrs["better"] == {"test_mse": "lower"}
    assert "summary.json" in runs.attrs["skipped"][0]
    assert runs.groupby("model")["test_mse"].mean().to_dict() == {"additive": 0.5, "gaussian": 0.5}
    assert runs[runs["model.hidden_dim"] > 32]["model"].tolist() == ["additive"]


def test_outputs_is_where_results_are(write_run, tmp_path: Path, monkeypatch):
    write_run("a")
    monkeypatch.chdir(tmp_path)
    assert len(attnexp.load_results()) == 1


def test_metrics_and_settings_may_be_called_anything(frame):
    runs = frame(({"folder": 1, "seconds": 2}, {"metrics": {"seed": 3.0, "model": 4.0}}))
    row = runs.data.iloc[0]
    assert (row["config.folder"], row["config.seconds"]) == (1, 2)
    assert (row["metrics.seed"], row["metrics.model"]) == (3.0, 4.0)
    assert row["seed"] == 0


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("", {"torch", "pandas", "numpy", "matplotlib", "rich", "hydra"}),
        ("attnexp.load_results('.')", {"torch", "matplotlib", "scipy", "hydra"}),
        ("import attnexp.tables.reports", {"torch", "pandas", "scipy", "hydra"}),
    ],
)
def test_the_doors_open_only_what_they_need(tmp_path: Path, code: str, heavy: set[str]):
    program = f"import attnexp, sys\n{code}\nprint(sorted({heavy!r} & set(sys.modules)))"
    done = python("-c", program, cwd=tmp_path, PATH="")
    assert done.stdout == "[]\n", done.stderr


def test_combinations_of_values_are_counted(frame):
    made = frame(
        *(({"model.width": width, "seed": seed}, {}) for width in (1, 2) for seed in (0, 1))
    )
    assert made.groupby(["model.width"]).ngroups == 2
    assert made.groupby(["model.width", "seed"]).ngroups == 4
    assert made.groupby([]).ngroups == 1


VALUES = st.sampled_from([True, False, 1, 0, 1.0, 2, 0.5, None, "true", "True", "1", "0", "None"])


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=12))
def test_true_is_another_value_than_one(frame, pairs):
    made = frame(*(({"model.a": a, "model.b": b}, {}) for a, b in pairs))

    def alike(one, other):
        return (one is other) if bool in (type(one), type(other)) else one == other

    groups: list[list[int]] = []
    for place, pair in enumerate(pairs):
        same = (own for own in groups if all(map(alike, pairs[own[0]], pair)))
        group = next(same, None)
        groups.append([place]) if group is None else group.append(place)
    found = [own.data.index.tolist() for own in made.groups(["model.a", "model.b"])]
    assert found == groups
    for side, name in enumerate(("model.a", "model.b")):
        several = not all(alike(pair[side], pairs[0][side]) for pair in pairs)
        assert (name in made.several) == several


def test_a_row_without_parameters_has_no_tuned_rate(frame):
    way = Tuning({"optim.lr": ["0.1", "0.2"], "model.width": ["1", "2"]}, "val_loss", [9], False)
    kinds = (("average", 0), ("additive", 192), ("additive", 192))
    runs = frame(
        *(
            (
                {"optim.lr": 0.1 * place, "model.width": 5.0 - place},
                {"choices": {"model": model}, "parameters": parameters, "tuning": way},
            )
            for place, (model, parameters) in enumerate(kinds, 1)
        )
    )
    assert runs.data["optim.lr"].tolist() == [None, 0.2, pytest.approx(0.3)]
    assert runs.data["model.width"].tolist() == [4.0, 3.0, 2.0]
    named = "additive, model.width=3, optim.lr=0.2"
    assert labels(runs)[:2] == ["average, model.width=4", named]
