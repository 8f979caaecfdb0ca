"""The advice below tables: of which rows it speaks, and the command that follows it."""

import re
from itertools import product

import pytest
from english import report_of
from stored_runs import make_summary

from attnexp.core.errors import RequestError
from attnexp.runs.folder import Run
from attnexp.select.frame import make_frame
from attnexp.select.number import with_numbers
from attnexp.tables.entries import TableRequest

NEAR = [1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.02, 0.98]


def seen(data: str, model: str, seeds, value: float = 1.0, **settings) -> list[Run]:
    """Runs of a model at seeds, whose values differ a little."""
    return [
        Run(
            f"outputs/{data}-{model}-{seed}-{settings}",
            make_summary(
                {"seed": seed, "model._target_": model, "data._target_": data, **settings},
                choices={"model": model, "data": data},
                metrics={"test_mse": value + NEAR[seed % 8], "train_loss": ord(model[0])},
                overrides=[
                    *(f"model={model}", f"data={data}", f"seed={seed}"),
                    *(f"{name}={each}" for name, each in settings.items()),
                ],
            ),
        )
        for seed in seeds
    ]


def captions(*runs: Run) -> list[str]:
    return [grid.caption for grid in report_of(make_frame(runs), TableRequest()).grids]


def test_the_caption_counts_the_looks_at_which_there_can_be_a_verdict():
    def at(seeds, command, hour, **other):
        own = {"command": command, "started": f"2026-01-01T{hour:02}:00:00+00:00", **other}
        return [
            Run(
                f"outputs/{model}-{seed}",
                make_summary(
                    {"seed": seed, "model._target_": model},
                    choices={"model": model, "data": "sine"},
                    metrics={"test_mse": value + NEAR[seed % 8]},
                    **own,
                ),
            )
            for model, value in (("a", 1.0), ("b", 2.0))
            for seed in seeds
        ]

    few = [run for seed in range(4) for run in at([seed], f"attnexp seed={seed}", seed)]
    first, more = at(range(4, 8), "attnexp -m first", 5), at(range(8, 12), "attnexp -m more", 6)
    assert all("portions" not in text for text in captions(*few, *first))
    (text,) = captions(*few, *first, *more)
    assert text.endswith(
        "From the sixth on, seeds came in 2 portions: verdicts hold at 5% together."
    )
    alike = at(range(8, 12), None, 6)
    assert all("portions" not in text for text in captions(*at(range(8), None, 5), *alike))


def lacking(*groups: list[Run]) -> list[str]:
    runs = [run for group in groups for run in group]
    report = report_of(make_frame(runs), TableRequest(explain=True))
    return [note for note in report.notes if "lack" in note and "verdict" in note]


def seeds_of(note: str) -> tuple[set[str], set[int]]:
    """Read the models and the seeds of a command, by rules of its own."""
    models = set(re.search(r"model=(\S+)", note)[1].split(","))
    seeds = set[int]()
    for spans, listed in re.findall(r"seed=(?:range\((\d+,\d+)\)|([\d,]+))", note):
        numbers = [int(number) for number in (spans or listed).split(",")]
        seeds.update(range(*numbers) if spans else numbers)
    return models, seeds


FULL = range(8)


@pytest.mark.parametrize(
    ("others", "number", "models", "seeds"),
    [
        ({"b": FULL, "c": FULL}, 0, None, None),
        ({"b": FULL, "c": (0, 1)}, 1, {"c"}, {2, 3, 4, 5}),  # one row has few seeds
        ({"b": FULL, "c": (0, 1), "d": (0,)}, 2, {"c", "d"}, {1, 2, 3, 4, 5}),
        ({"b": (0, 1, 20, 21, 22, 23)}, 1, {"b"}, {2, 3, 4, 5}),  # and other seeds
        ({"b": (0, 1, 2)}, 1, {"b"}, {3, 4, 5}),
        ({"b": (0,)}, 1, {"b"}, {1, 2, 3, 4, 5}),
        ({"b": range(20, 28)}, 0, None, None),  # six pairs by place are a verdict
    ],
)
def test_only_rows_that_lack_a_verdict_are_counted_and_run_again(others, number, models, seeds):
    rows = [seen("sine", "a", FULL)]
    rows += [seen("sine", model, own, 9.0) for model, own in others.items()]
    notes = lacking(*rows)
    assert len(notes) == min(number, 1)
    if number:
        assert notes[0].startswith(f"{number} row{'s lack' if number > 1 else ' lacks'} a verdict")
        assert seeds_of(notes[0]) == (models, seeds)


def test_after_the_command_every_row_has_a_verdict():
    before = {"a": (0, 1, 2), "b": (1, 2, 3, 9), "c": (5,)}
    rows = [seen("sine", model, own, ord(model)) for model, own in before.items()]
    (note,) = lacking(*rows)
    models, seeds = seeds_of(note)
    after = {model: seeds | {*own} if model in models else own for model, own in before.items()}
    assert lacking(*(seen("sine", model, own, ord(model)) for model, own in after.items())) == []
    fewer = {model: [*own][:-1] for model, own in after.items()}
    assert lacking(*(seen("sine", model, own, ord(model)) for model, own in fewer.items())) != []


def test_rows_of_equal_means_and_few_seeds_have_no_verdict_yet():
    (note,) = lacking(seen("sine", "a", range(3)), seen("sine", "b", range(3)))
    assert note.startswith("1 row lacks")
    assert seeds_of(note) == ({"a", "b"}, {3, 4, 5})


def unlike(*groups: list[Run]) -> list[str]:
    runs = [run for group in groups for run in group]
    notes = report_of(make_frame(runs), TableRequest()).notes
    return [note for note in notes if "compare" in note and "share" in note]


WINDOW = range(7)


@pytest.mark.parametrize(
    ("others", "shared", "models", "seeds"),
    [
        ({"b": FULL}, None, None, None),
        ({"b": range(1, 9)}, "7 seeds are shared", {"a", "b"}, {0, 8}),
        ({"b": WINDOW}, "7 seeds are shared", {"b"}, {7}),
        (
            {"b": WINDOW, "c": range(2, 10)},
            "two rows share 5 to 7",
            {"a", "b", "c"},
            {0, 1, 7, 8, 9},
        ),
        (
            {"b": range(20, 26)},
            "no rows share seeds, and none compare",
            {"a", "b"},
            {*FULL, *range(20, 26)},
        ),
        ({"b": FULL, "c": (0,)}, None, None, None),  # one seed has a note of its own
        ({"b": FULL, "c": (0, 1, 2)}, None, None, None),  # as has a row that lacks a verdict
        ({"b": (0, 20, 21)}, "1 seed is shared", None, None),  # which has the command
    ],
)
def test_rows_with_unlike_seeds_are_said_with_the_command_that_completes_them(
    others, shared, models, seeds
):
    rows = [seen("sine", model, own, 9.0) for model, own in others.items()]
    notes = unlike(seen("sine", "a", FULL), *rows)
    assert len(notes) == (shared is not None)
    if shared:
        assert notes[0].startswith(f"{shared}")
        assert ("attnexp" in notes[0]) == (models is not None)
    if models:
        assert seeds_of(notes[0]) == (models, seeds)
        every = {*FULL}.union(*others.values())
        after = {"a": FULL, **others}
        complete = [
            seen("sine", name, {*own, *seeds} if name in models else own, 9.0)
            for name, own in after.items()
        ]
        assert all({run.seed for run in own} == every for own in complete)
        assert unlike(*complete) == []


def test_data_sets_that_rows_lack_are_named():
    rows = [
        seen("sine", model, range(2), data_seed=d)
        for model, sets in (("a", range(8)), ("b", range(1, 9)))
        for d in sets
    ]
    (note,) = unlike(*rows)
    assert note == "7 data sets are shared: only these compare; complete them with data_seed=0,8"


LENGTHS = "results count lengths in symbols of the source: 126 for 64 instructions"


def test_a_number_at_a_length_comes_with_the_lengths_that_were_asked_for():
    run = make_summary(
        metrics={"exact_match": 0.5},
        details={"exact_match_by_length": {"126": 0.5}},
        notes=[LENGTHS],
    )
    frame = make_frame([Run("outputs/a", run)])
    for metric, told in {"exact_match": False, "exact_match_by_length@126": True}.items():
        request = TableRequest(metrics=(metric,), explain=True)
        report = report_of(with_numbers(frame, [metric]), request)
        assert (LENGTHS in report.notes) == told
    with pytest.raises(RequestError, match="126 for 64 instructions"):
        with_numbers(frame, ["exact_match_by_length@64"])


def test_tables_and_panels_have_one_line_together():
    tables = [seen(data, model, range(3)) for data, model in product(("sine", "copy"), "ab")]
    (note,) = lacking(*tables)
    assert note.startswith("2 rows lack a verdict")
    assert "model=a,b data=sine,copy seed=3,4,5" in note
    settings = [{"data.noise": noise} for noise in (0.1, 0.2, 0.3)]
    panels = [seen("sine", model, range(3), **own) for own in settings for model in "ab"]
    (note,) = lacking(*panels)
    assert note.startswith("3 rows lack a verdict")


def test_a_row_alone_gets_no_advice_and_the_others_do():
    alone = seen("sine", "a", (0,), **{"data.noise": 0.9})
    assert lacking(alone) == []
    assert lacking(alone, seen("copy", "a", FULL)) == []
    (note,) = lacking(alone, seen("sine", "a", FULL), seen("sine", "b", (0, 1), 9.0))
    assert note.startswith("1 row lacks")
    assert "noise" not in note


def test_the_closest_tie_of_all_tables_is_named_next_to_rows_that_lack_seeds(sweep_of):
    one = [0.1, 0.2, 0.15, 0.12, 0.18, 0.11]
    far, near = [0.13, 0.19, 0.16, 0.11, 0.21, 0.14], [0.16, 0.24, 0.1, 0.14, 0.19, 0.1]
    report = report_of(
        sweep_of({"a": one, "b": near, "c": far, "d": [5.0, 6.0]}), TableRequest(explain=True)
    )
    ties = [note for note in report.notes if "80% power" in note]
    assert len(ties) == 1
    assert any(note.startswith("1 row lacks a verdict") for note in report.notes)


GUESSED, LEARNED = [0.89, 0.91, 0.9, 0.92], [0.1, 0.2, 0.15, 0.1]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"a": GUESSED, "b": GUESSED[::-1]}, True),
        ({"a": GUESSED, "b": LEARNED}, False),
        ({"a": [0.95], "b": [1.2]}, True),
        ({"a": [0.95], "b": [0.1]}, False),
        ({"a": GUESSED}, False),
        ({"a": [0.0, 0.9, 0.0, 0.9], "b": [0.9, 0.0, 0.9, 0.0]}, False),  # some seeds learned
    ],
)
def test_rows_that_are_all_at_chance_are_said(sweep_of, rows, said):
    companions = {"test_mse": {"chance": "baseline_mse"}}
    shares = {"test_mse": "share"}
    runs = sweep_of(rows, metrics={"baseline_mse": 0.9}, companions=companions, units=shares)
    report = report_of(runs, TableRequest())
    told = [
        note for note in report.notes if note.startswith("no row is told apart from chance, 0.9")
    ]
    assert bool(told) == said


def told(runs: list[Run]) -> list[str]:
    return list(report_of(make_frame(runs), TableRequest(explain=True)).notes)


def numbers(model: str, setting: str, by_value: dict, seeds=(0, 1), **fields) -> list[Run]:
    """Runs whose loss is by the value of a setting; a model's error is the same at each."""
    return [
        Run(
            f"outputs/{model}-{value}-{seed}",
            make_summary(
                {"seed": seed, "model._target_": model, setting: value},
                choices={"model": model, "data": "sine"},
                metrics={"test_mse": ord(model[0]) + NEAR[seed], "train_loss": loss},
                overrides=[f"model={model}", f"{setting}={value}", f"seed={seed}"],
                **fields,
            ),
        )
        for value, loss in by_value.items()
        for seed in seeds
    ]


LR = "optim.lr"


@pytest.mark.parametrize(
    ("runs", "sentences"),
    [
        (numbers("a", LR, {0.1: 1, 10: 1}), ["optim.lr changed no number"]),
        (numbers("a", LR, {0.1: 1, 10: 2}), []),
        (numbers("a", LR, {0.1: 1, 10: 2, 20: 2}), ["optim.lr=10 and 20 changed no number"]),
        (
            numbers("a", LR, {0.1: 1, 10: 1}) + numbers("b", LR, {0.1: 1, 10: 2}),
            ["optim.lr changed no number of a"],
        ),
        (
            numbers("a", "optim.scalar_lr", {0.1: 1, 10: 1}, parameters=0),
            ["optim.scalar_lr changed no number: without parameters nothing is trained"],
        ),
        (  # one of the seeds differs
            numbers("a", LR, {0.1: 1, 10: 1}) + numbers("a", LR, {0.1: 1, 10: 2}, seeds=(2,)),
            [],
        ),
        (  # a row has further seeds
            numbers("a", LR, {0.1: 1, 10: 1}) + numbers("a", LR, {0.1: 1}, seeds=(2, 3)),
            ["optim.lr changed no number"],
        ),
        (  # no seed is shared
            numbers("a", LR, {0.1: 1}) + numbers("a", LR, {10: 1}, seeds=(2, 3)),
            [],
        ),
        (
            numbers("a", LR, {0.1: 1, 10: 1, 20: 2}) + numbers("b", LR, {0.1: 1, 10: 2, 20: 2}),
            ["several values of optim.lr changed no number of a and b"],
        ),
        (  # a table of another tool need not have the number that a setting changes
            numbers("a", LR, {0.1: 1, 10: 1}, imported="line 1"),
            [],
        ),
    ],
)
def test_settings_that_change_no_number_are_named(runs, sentences):
    assert [note for note in told(runs) if "changed no number" in note] == sentences


def test_a_rate_that_no_parameter_has_is_told_from_the_one_it_has():
    """Rprop steps a width by `scalar_lr`."""
    runs = [
        Run(
            f"outputs/{rate}-{seed}",
            make_summary(
                {"seed": seed, LR: rate, "optim.scalar_lr": 1.0}, metrics={"test_mse": 1.0 + seed}
            ),
        )
        for rate, seed in product((0.1, 10), (0, 1))
    ]
    (note,) = [note for note in told(runs) if "changed" in note]
    assert note == "optim.lr changed no number: optim.scalar_lr sets the step of a width"


def test_settings_that_change_no_number_together_are_one_sentence():
    runs = [
        Run(
            f"outputs/{rate}-{decay}-{model}",
            make_summary(
                {"seed": 0, "model._target_": model, LR: rate, "optim.decay": decay},
                choices={"model": model},
                metrics={"test_mse": float(ord(model))},
            ),
        )
        for rate, decay, model in product((0.1, 1), (0, 2, 3), "ab")
    ]
    assert [note for note in told(runs) if "changed" in note] == [
        "optim.lr and optim.decay changed no number"
    ]


def test_the_command_for_missing_seeds_has_rows_of_the_best_if_none_runs_the_others_alone():
    """Three of four rows are no grid; four are."""
    best = numbers("a", LR, {0.1: 1, 10: 1})
    (note,) = [each for each in told(best + numbers("b", LR, {0.1: 1, 10: 2})) if "verdict" in each]
    assert note.startswith("2 rows lack a verdict")
    assert "model=a,b optim.lr=0.1,10 seed=2,3,4,5" in note


def test_rows_with_the_numbers_of_the_best_need_no_seeds():
    same = numbers("a", LR, {0.1: 1, 10: 1})
    assert not any("verdict" in note for note in told(same))
    other = numbers("b", LR, {0.1: 1})
    assert any(note.startswith("1 row lacks a verdict") for note in told([*same, *other]))
