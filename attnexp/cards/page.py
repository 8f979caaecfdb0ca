"""The page of a card, and its table in the terminal."""

from collections.abc import Iterator, Mapping, Sequence

from attnexp.cards.card_file import Card, RowResult, TrialResult
from attnexp.cards.cost import SECONDS
from attnexp.cards.judge import (
    IN_PRINT,
    LAST_TRIED,
    CardVerdict,
    ahead,
    held_text,
    judged,
    largest,
    learned_text,
    reasons_to_look,
    says_nothing,
)
from attnexp.core.console import count_text, number_text
from attnexp.report.page import Chart, DataSection, DotRow, Dots, Page, Result, Series
from attnexp.report.results import text_table
from attnexp.select.number import AT
from attnexp.stats.compare import Word
from attnexp.stats.scaled import mean
from attnexp.tables.grid import Grid, GridCell, Head, Line, Report

SKIP = "skip"
"""The text of a number that was not measured."""

FEW_PLACES = 3
"""The fewest lengths at which a number is drawn as a curve."""

MEANS = "Means over seeds; 5/6: five of six seeds learned."

VERDICTS = (
    "The word says what the subject is next to a row. Better and worse hold over the whole card; "
    "with a question mark they hold in their trial alone, which is a reason to look."
)
"""The legend of the verdicts in a table."""

REMARKS = (
    "If a trial names settings that it tunes, these were tuned for each row by the same procedure, "
    "on validation data, at seeds that are not compared; the parameters are the best on validation "
    "data.",
    "Seeds that learned are compared first, by Fisher's exact test, then means, by sign flips of "
    "the differences paired by seed. Each trial has its own 5%: of twenty trials without a "
    "difference, one may show one. A difference without a question mark is shown over the whole "
    "card, by the same flips in all trials: next to a baseline that the subject equals, at tuned "
    "rates that are equal, a card has one with a chance of at most 5%. Costs are faster or slower.",
)
"""The remarks on every card."""


def summary_sentences(card: Card) -> list[str]:
    """Return the differences by baseline, the largest ones, and the trials that tell nothing."""
    found = judged(card.trials)
    every = [verdict for own in found for verdict in own]
    sentences = []
    for baseline in dict.fromkeys(verdict.baseline for verdict in every):
        own = [each for each in every if each.baseline == baseline and each.measured]
        if not own:
            continue
        look = reasons_to_look(own)
        sentences.append(
            f"{card.subject} next to {baseline}, over {count_text(len(own), 'trial')}: "
            f"{held_text(own) or _nothing_shown(own)}"
            + (f"; {count_text(look, 'reason')} to look" if look else "")
        )
    named = largest(every)
    if named:
        sentences.append("The largest differences: " + "; ".join(v.sentence for v in named))
    lost = {
        own[0].trial: own[0].because
        for own in found
        if own and not any(verdict.measured for verdict in own)
    }
    sentences += [f"Not measured: {trial}: {because}" for trial, because in lost.items()]
    nothing = [own[0].trial for own in found if own and says_nothing(own)]
    if nothing:
        sentences.append(
            f"Nothing is told by {', '.join(nothing)}: all rows are at the floor or at the ceiling"
        )
    return sentences


def _nothing_shown(own: Sequence[CardVerdict]) -> str:
    few = all(verdict.word is Word.FEW for verdict in own)
    return "too few seeds for a verdict" if few else "no difference shown"


def overview(card: Card) -> Grid:
    """Return a table of means and verdicts with a line per trial."""
    labels = _labels(card.trials)
    rows = []
    for trial, own in zip(card.trials, judged(card.trials), strict=True):
        by_row = {verdict.baseline: verdict for verdict in own}
        cells = {}
        for row in trial.rows:
            verdict = by_row.get(row.label)  # the subject has none
            word = "" if verdict is None else verdict.in_table(trial.is_cost)
            strong = verdict is not None and verdict.holds
            cells[row.label] = _mean(trial, row, word, strong)
        rows.append(_cells(trial, cells, labels))
    heads = [Head("trial"), Head("metric", spare=1), *(Head(label, right=True) for label in labels)]
    ends = [f"{one.name} ({', '.join(last)})" for one in card.trials if (last := _at_end(one))]
    more = f" {LAST_TRIED.capitalize()} was best for {'; '.join(ends)}." if ends else ""
    return Grid(heads, [*map(Line, rows)], card.subject, f"{MEANS} {VERDICTS}{more}")


def _at_end(trial: TrialResult) -> list[str]:
    """Return the labels of rows whose tuned value is the last one tried."""
    return [row.label for row in trial.rows if row.at_end]


def _labels(trials: Sequence[TrialResult]) -> list[str]:
    return list(dict.fromkeys(row.label for trial in trials for row in trial.rows))


def _mean(trial: TrialResult, row: RowResult, word: str, strong: bool) -> GridCell:
    """Return a cell with the mean, the seeds that learned, and the word, if there are any."""
    if not row.values(trial.metric):
        return GridCell(SKIP)
    learned = learned_text(trial, row).replace(" of ", "/")
    parts = (number_text(mean(row.values(trial.metric))), learned, word)
    return GridCell(" ".join(filter(None, parts)), strong)


def _cells(
    trial: TrialResult, cells: Mapping[str, GridCell], labels: Sequence[str]
) -> list[GridCell]:
    """Return the line of a trial in a table, with `skip` for labels without a cell."""
    own = (cells.get(label, GridCell(SKIP)) for label in labels)
    return [GridCell(trial.name), GridCell(trial.metric), *own]


def leaderboard(trials: Sequence[TrialResult]) -> Report:
    """Return a table of means with a line per trial and a column per row.

    Means of rows that are `ahead` in their trial are bold.
    """
    labels = _labels(trials)
    records: dict[str, dict[str, object]] = {label: {"row": label} for label in labels}
    rows = []
    for trial in trials:
        cells = {}
        for row, strong in zip(trial.rows, ahead(trial), strict=True):
            cells[row.label] = _mean(trial, row, "*" if strong else "", strong)
            values = row.values(trial.metric)
            records[row.label][f"{trial.name} {trial.metric}"] = mean(values) if values else None
        rows.append(_cells(trial, cells, labels))
    heads = [Head("trial"), Head("metric", spare=1)]
    heads += [Head(label, right=True, spare=2 * (i > 0)) for i, label in enumerate(labels)]
    bold = "rows that may be the best of a trial, by seeds that learned and by means"
    lines = [*map(Line, rows), *(Line(records=[record]) for record in records.values())]
    grid = Grid(heads, lines, "cards", MEANS, legend=f"*: {bold}.", bold=bold)
    return Report([grid], REMARKS)


def card_content(card: Card) -> Page:
    """Return the page of a card, for `report.render.page`."""
    table = text_table(overview(card))
    lost = (
        f"{trial.name}: {row.label} has {count_text(row.lost, 'run')} without a result: {row.why}"
        for trial in card.trials
        for row in trial.rows
        if row.lost
    )
    return Page(
        f"{card.subject}, a card",
        verdicts=summary_sentences(card),
        results=[
            Result("Overview", _made(card), None, table),
            *map(_result, card.trials, judged(card.trials)),
        ],
        data=[
            DataSection(trial.name, place, list(_charts(trial)))
            for place, trial in enumerate(card.trials, 1)
        ],
        further=[*REMARKS, *lost],
    )


def _made(card: Card) -> str:
    used = ", ".join(f"{name} {number}" for name, number in card.versions.items())
    return (
        f"--{card.level}, {card.seeds} seeds, {card.date}; {card.wall_minutes:g} minutes for this "
        f"command, in which runs that were there took none; {card.processor}, "
        f"device={card.device}; {used}, results version {card.results_version}"
    )


def _result(trial: TrialResult, own: Sequence[CardVerdict]) -> Result:
    numbers = list(dict.fromkeys([trial.metric, *trial.columns]))
    heads = [Head("row"), *(Head(name, right=True) for name in numbers)]
    heads += map(Head, ("learned", "tuned", "without result"))
    rows = []
    for row in trial.rows:
        texts = [_number(trial, row, name) for name in numbers]
        tuned = ", ".join(
            f"{name}={value}{f' ({LAST_TRIED})' * (name in row.at_end)}"
            for name, value in row.tuned.items()
        )
        lost = f"{row.lost}: {row.why}" if row.lost else ""
        texts = [row.label, *texts, learned_text(trial, row), tuned, lost]
        rows.append([GridCell(text) for text in texts])
    verdicts = "; ".join(
        f"next to {each.baseline}: {IN_PRINT.get(each.word, each.word)} "
        f"({each.because}{'; over the whole card' * each.holds})"
        for each in own
    )
    harder = f" Harder by {', '.join(trial.harder)}." if trial.harder else ""
    words = f" Settings: {' '.join(trial.words)}." if trial.words else ""
    products = " ".join(trial.of_products)
    words += f" Scores made of products have {products}." if products else ""
    caption = f"{verdicts}. Source: {trial.source}.{harder}{words}"
    table = text_table(Grid(heads, [*map(Line, rows)], trial.asks, caption))
    return Result(trial.name, "", _dots(trial), table)


def _number(trial: TrialResult, row: RowResult, name: str) -> str:
    """Return the mean of a number, as text, and the seeds at or above its threshold.

    Without a threshold the number of measured seeds follows, if the metric has more.
    """
    values = row.values(name)
    if not values:
        return SKIP
    least = trial.counted.get(name)
    seeds = "" if least is None else f" ({sum(v >= least for v in values)}/{len(values)})"
    if name not in (trial.metric, *trial.counted) and len(values) < len(row.values(trial.metric)):
        seeds = f" ({count_text(len(values), 'seed')})"
    return number_text(mean(values)) + seeds


def _dots(trial: TrialResult) -> Dots | None:
    rows = []
    for row in trial.rows:
        sample = trial.sample(row, trial.metric)
        if sample.means:
            low, high = sample.spread.interval
            rows.append(DotRow(row.label, mean(sample.means), low, high, sample.means))
    return Dots(trial.metric, trial.better, False, 0, rows) if len(rows) > 1 else None


def _charts(trial: TrialResult) -> Iterator[Chart]:
    """Yield a chart of each number that was measured at several lengths."""
    names = dict.fromkeys(name for name in [trial.metric, *trial.columns] if AT in name)
    curves = {name: name.partition(AT) for name in names}
    for curve in dict.fromkeys(curve for curve, *_ in curves.values()):
        places = {name: float(at) for name, (own, _, at) in curves.items() if own == curve}
        lines = [_line(i, row, places) for i, row in enumerate(trial.rows)]
        lines = [line for line in lines if len(line.x) > 1]
        if len(places) >= FEW_PLACES and lines:
            title = curve.replace("_", " ")
            unit = f"{title} (s)" if curve == SECONDS else title
            log = trial.better == "lower"
            yield Chart(title, "length", unit, log, lines, points=(), log_x=True)


def _line(place: int, row: RowResult, places: dict[str, float]) -> Series:
    found = sorted((x, values) for name, x in places.items() if (values := row.values(name)))
    seeds = max((len(values) for _, values in found), default=0)
    means, lows, highs = ([each(values) for _, values in found] for each in (mean, min, max))
    return Series(row.label, place, [x for x, _ in found], means, seeds, lows, highs)
