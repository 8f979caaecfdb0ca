"""The table of interventions: one run by example, several by seed, the head chosen before."""

import pytest
from english import english

from attnexp.core.errors import RequestError
from attnexp.runs.folder import load_run
from attnexp.runs.probed import LEARNED, Probed, read_probed, write_probed
from attnexp.select.configurations import comparisons
from attnexp.tables.probe_report import interventions_report

CHANGES = {"hard": -0.5, "gold": 0.0, "zero=cross.1.1": -0.1, "zero=cross.1.2": -0.2}
FIELDS = {
    "primary": "exact_match",
    "better": {"exact_match": "higher"},
    "units": {"exact_match": "share"},
    "status": "finished",
    "choices": {"model": "dot", "data": "reverse"},
}


def row(name, value, learned=1.0, split="test", fed="decoded", **more):
    change = value - learned
    numbers = {"exact_match": value}
    if name != LEARNED:
        numbers |= {
            "exact_match_change": change,
            "exact_match_low": change - 0.1,
            "exact_match_high": round(change + 0.1, 9),
        }
    return Probed(split, fed, name, numbers | more)


@pytest.fixture
def probed(write_run):
    """Writes runs, each from the exact match of its learned weights, and probes them."""

    def write(*learned, changes=CHANGES, validation=None, more=()):
        runs = []
        for seed, value in enumerate(learned):
            folder = write_run(f"run{seed}", {"seed": seed}, **FIELDS)
            rows = [row(LEARNED, value)]
            rows += [
                row(name, value + change + 0.01 * seed * (change != 0), value)
                for name, change in changes.items()
            ]
            rows += [
                row(name, value + change, value, "validation", "teacher")
                for name, change in (validation or {}).items()
            ]
            write_probed(folder, [*rows, *more])
            runs.append(load_run(folder))
        return runs

    return write


def report(runs, metric=None):
    return interventions_report(comparisons(runs), metric)


def table(found):
    (grid,) = english(found.grids)
    heads = [head.title for head in grid.columns]
    return {
        line[0].text: dict(zip(heads, [c.text for c in line], strict=True)) for line in grid.rows
    }


def test_one_run_has_intervals_over_examples_and_no_verdict(probed):
    found = report(probed(1.0))
    rows = table(found)
    assert list(rows) == [LEARNED, *CHANGES]
    assert rows["hard"]["difference to learned"] == "-0.5 [-0.6, -0.4]"
    assert "standing" not in rows["hard"]
    assert "hard (-0.5)" in found.verdicts[0]
    assert "not by gold" in found.verdicts[0]


def test_several_runs_are_paired_by_seed_and_tested(probed):
    found = report(probed(*[1.0, 0.9, 0.95, 0.97, 0.99, 0.93]))
    rows = table(found)
    assert rows["hard"]["standing"] == "worse"
    assert rows["gold"]["standing"] == "tied"
    assert rows["gold"]["difference to learned"] == "0 [0, 0]"
    assert rows["hard"]["difference to learned"].startswith("-0.475 [-0.5, -0.45]")
    assert "worse under hard (-0.475)" in found.verdicts[0]
    assert "not told apart under gold" in found.verdicts[0]


def test_an_intervention_may_be_better(probed):
    found = report(probed(*[0.5] * 6, changes={"gold": 0.3}))
    assert table(found)["gold"]["standing"] == "better"


def test_five_seeds_have_no_verdict(probed):
    found = report(probed(*[1.0] * 5))
    assert table(found)["hard"]["standing"] == "worse on 5 of 5 seeds"
    assert "too few seeds for a verdict: hard (-0.48), gold" in found.verdicts[0]


def test_the_head_is_chosen_where_the_test_is_not(probed):
    """On the test set the second head costs more, on the validation set the first."""
    runs = probed(1.0, validation={"zero=cross.1.1": -0.3, "zero=cross.1.2": -0.1})
    (*_, sentence) = report(runs).verdicts
    assert "of the single heads zero=cross.1.1 costs most on the validation set" in sentence
    assert "(exact_match -0.3)" in sentence
    assert sentence.endswith("exact_match changes by -0.1 [-0.2, 0]")


@pytest.mark.parametrize(
    ("exact", "words"),
    [
        (1.0, "for 80% of the examples, and the farthest are exactly 0.25 nats away"),
        (0.9, "for at least 80% of the examples, and the farthest are at least 0.25 nats away"),
    ],
)
def test_the_distance_of_an_adversary_is_told_with_that_of_seeds(probed, exact, words):
    numbers = {"distance": 0.25, "succeeded": 0.8, "exact": exact}
    more = [
        Probed("test", "teacher", "adversarial", numbers),
        Probed("test", "teacher", "other seeds", {"distance": 0.5}),
    ]
    sentences = report(probed(1.0, more=more)).verdicts
    assert any(words in text for text in sentences)
    assert any("the maps of other seeds are 0.5 away" in text for text in sentences)


def test_records_hold_what_the_table_holds(probed):
    records = report(probed(1.0, 0.9)).records
    hard = next(record for record in records if record["intervention"] == "hard")
    assert hard["n"] == 2
    assert hard["difference_mean"] == pytest.approx(-0.495)
    assert hard["standing"] == "worse on 2 of 2 seeds"


def test_interventions_have_the_columns_of_any_row(probed):
    more = [row("topk=2", 0.9, total_variation=0.125, unchanged=0.5)]
    found = report(probed(*[1.0, 0.9, 0.95, 0.97, 0.99, 0.93], more=more))
    rows = table(found)
    assert {"seeds", "exact_match", "sd", "95% interval", "better on"} <= rows["hard"].keys()
    assert rows["hard"]["better on"] == "0 of 6"
    assert rows["topk=2"]["total variation"] == "0.125"
    assert rows["hard"]["unchanged rows"] == "\N{EN DASH}"
    (record,) = (each for each in found.records if each["intervention"] == "topk=2")
    assert (record["total_variation"], record["unchanged_rows"]) == (0.125, 0.5)
    assert "flips" not in record
    assert (record["configuration"], record["data"]) == ("dot", "reverse")


def test_heads_that_changed_nothing_are_one_line_below_the_table(probed):
    changes = {"hard": -0.5, "zero=cross.1.1": -0.1, "zero=cross.1.2": 0.0, "zero=self.2.1": 0.0}
    found = report(probed(*[1.0] * 6, changes=changes))
    assert list(table(found)) == [LEARNED, "hard", "zero=cross.1.1"]
    assert found.grids[0].caption.endswith("without these heads: cross.1.2, self.2.1.")
    assert len(found.records) == 5


def test_a_metric_that_was_not_measured_is_refused(probed):
    with pytest.raises(RequestError, match="metric 'bleu' is not a choice: choose exact_match"):
        report(probed(1.0), "bleu")


def test_a_second_probe_adds_rows_and_replaces_its_own(write_run):
    folder = write_run("run", **FIELDS)
    write_probed(folder, [row(LEARNED, 1.0), row("hard", 0.5)])
    write_probed(folder, [row(LEARNED, 1.0), row("hard", 0.25, total_variation=0.1)])
    write_probed(folder, [row("gold", 0.75)])
    stored = {one.intervention: one.numbers for one in read_probed(folder)}
    assert stored["hard"]["exact_match"] == 0.25
    assert stored["hard"]["total_variation"] == 0.1
    assert "total_variation" not in stored["gold"]
    assert set(stored) == {LEARNED, "hard", "gold"}


def test_a_damaged_file_is_refused_with_its_name(write_run):
    folder = write_run("run", **FIELDS)
    (folder / "interventions.csv").write_text("intervention,x\nhard,1\n")
    with pytest.raises(RequestError, match=r"interventions.csv cannot be read: it has no columns"):
        read_probed(folder)
    (folder / "interventions.csv").write_text("split,fed,intervention,x\ntest,teacher,hard,a\n")
    with pytest.raises(RequestError, match=r"interventions.csv cannot be read: could not convert"):
        read_probed(folder)
    (folder / "interventions.csv").write_text("split,fed,intervention,x\ntest,teacher,hard,1\n")
    with pytest.raises(RequestError, match="it has no row 'learned' of the test set"):
        read_probed(folder)


def test_text_of_a_file_steers_no_terminal(write_run):
    folder = write_run("run", **FIELDS)
    lines = ["split,fed,intervention,x", "test,teacher,learned,1", "test,teacher,\x1b[2Jhard,nan"]
    (folder / "interventions.csv").write_text("\n".join(lines))
    *_, last = read_probed(folder)
    assert "\x1b" not in last.intervention
    assert last.numbers == {}
