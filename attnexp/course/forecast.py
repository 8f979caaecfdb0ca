"""Checks a prediction that was written down before the first run, and the measured number."""

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from attnexp.claims.claim import read_claim
from attnexp.claims.evidence import Evidence
from attnexp.claims.stored import evidence_of, prediction_digest, read_predictions
from attnexp.core.language import said
from attnexp.course.comparison import LEAST_SEEDS, enough_seeds
from attnexp.course.exercise_file import Check, ExerciseAnswer, Forecast
from attnexp.course.stated import is_or_not, missing_number, reach_of, stated
from attnexp.stats.intervals import LEVEL, student_reach

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?", re.ASCII)


def check_forecast(
    asked: Forecast, folder: Path, place: Path, answer: ExerciseAnswer
) -> Iterator[Check]:
    """Yield the checks in order, up to a failed one that the next ones need.

    The claim is in the `conf` of the folder of an exercise, and its runs are in `claims/NAME` below
    `place`. No code of the folder is run. Whether the prediction comes true is not checked. Raises
    RequestError for a claim that cannot be read, and for files of a run that cannot be read.
    """
    command = f"attnexp claims {asked.claim} --config-dir conf"
    stored = read_predictions(place / "claims" / asked.claim)
    if not stored:
        sentence = said("no prediction is stored: {command} stores one", command=command)
        yield Check("prediction", False, sentence)
        return
    config_dir = folder / "conf"
    claim = read_claim(asked.claim, config_dir)
    now = prediction_digest(claim.prediction.date, claim.prediction.says)
    if stored[0].after_runs:
        sentence = said("the prediction was stored after the first run: begin in another folder")
    elif stored[-1].digest != now or len(stored) > 1:
        sentence = said(
            "the prediction was changed after the first run; before: {prediction}",
            prediction=stored[0].says,
        )
    else:
        time = stored[0].time
        sentence = said("the prediction was stored before the first run, on {time}", time=time)
    fine = [each.digest for each in stored] == [now] and not stored[0].after_runs
    yield Check("prediction", fine, sentence)
    yield _predicted(answer.predicted, stored[0].says)
    if claim.needs_user_code:
        sentence = said("the decision of the claim must be one of {program}", program="attnexp")
        yield Check("runs", False, sentence)
        return
    evidence = evidence_of(asked.claim, claim, config_dir, root=place / "claims")
    values = evidence.sample(asked.number).means if asked.number in evidence.names() else []
    yield enough_seeds("runs", len(values))
    if len(values) < LEAST_SEEDS:
        return
    yield from _measured(asked.number, evidence, values, answer)
    right = answer.verdict == claim.verdict(evidence).word
    given, is_it = f"`verdict: {answer.verdict}`", is_or_not(right)
    sentence = said("{answer} {is_it} that of the claim", answer=given, is_it=is_it)
    yield Check("verdict", right, sentence)


def _predicted(given: float | None, prediction: str) -> Check:
    """Return whether an answer has a number of the stored prediction."""
    if given is None:
        return Check("predicted", False, missing_number("predicted"))
    right = given in [float(text) for text in NUMBER.findall(prediction)]
    sentence = said(
        "{answer} {is_it} in the stored prediction: {prediction}",
        answer=f"`predicted: {given:g}`",
        is_it=is_or_not(right),
        prediction=prediction,
    )
    return Check("predicted", right, sentence)


def _measured(
    number: str, evidence: Evidence, values: Sequence[float], answer: ExerciseAnswer
) -> Iterator[Check]:
    """Yield whether an answer has the mean over seeds of a number, and an interval of it."""
    spread = evidence.sample(number).spread
    mean, half = math.fsum(values) / len(values), student_reach(values, LEVEL, overlap=0.0)
    means = {said("the mean of {number} over seeds", number=number): [mean]}
    ends = {said("Student's 95% interval of it"): [mean - half, mean + half]}
    if spread.low is not None and spread.high is not None:
        ends[said("the interval of it in the record")] = [spread.low, spread.high]
    reach = reach_of(mean, half)
    yield stated("measured", [answer.measured], means, reach)
    yield stated("interval", [answer.low, answer.high], ends, reach)
