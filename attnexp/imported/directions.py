"""Which values of a metric are better, by the words of its name."""

import re
from collections.abc import Mapping

from attnexp.runs.summary import Direction

OWN: Mapping[str, Direction | None] = {
    "gold_mass": "higher",
    "kl_unigram": None,
    "bits_per_character": "lower",
    "bits_per_character_2x": "lower",
    "bits_per_character_4x": "lower",
    "alignment_accuracy_mean": None,
    "gold_mass_mean": None,
}
"""The metrics of attnexp whose direction is not that of their words."""

LOWER = re.compile(
    r"loss(es)?|err(ors?)?|mistakes?|mismatch(es)?|miss(es)?|perplexity|ppl|nll|bce|r?mse|mae|mape|"
    r"[wct]er|eer|fpr|fnr|brier|kl|divergence|fid|levenshtein|regret|misclassification|bpc|bpb"
)
"""Words of metrics of which lower values are better. They decide over those of `HIGHER`."""

HIGHER = re.compile(
    r"acc(uracy)?|f1|fbeta|precision|recall|auc|auroc|auprc|roc|map|mrr|ndcg|(sacre)?bleu|"
    r"rouge(l(sum)?)?|meteor|chrf|bertscore|r2|em|hits?|match(es)?|m?iou|dice|jaccard|psnr|ssim|mcc|"
    r"kappa|sensitivity|specificity|likelihood|elbo|correct|success|pearson|spearman|rewards?"
)

DESCRIBES = re.compile(
    r"baseline|chance|target|threshold|weights?|scale|grad(ient)?|norm|time|seconds|count|num(ber)?|"
    r"size|ratio|drop|gap|delta|diff(erence)?|change|gain|improvement|std(err)?|sd|var(iance)?|ci|"
    r"ema|coef(ficient)?|budget|reduction|(in|de)crease|steps|"
    r"detection|correct(ion|ed)|correlation|"
    r"neg(ative|ated|atives)?|positives?|minus|no|non|not|false|true|failed|without|free|rejected"
)
"""Words of numbers about a metric, of classes and of negations, which leave no direction."""

NAMED: Mapping[Direction, re.Pattern[str]] = {
    "lower": re.compile(r"neg(ative)?_log_likelihood|false_(positive|negative)(_rate)?"),
    "higher": re.compile(r"neg_(mean|root|median|max|log|brier)_\w+|true_(posi|nega)tive_rate"),
}
"""Names with such a word whose direction is known, as scikit-learn has them."""

FAR = r"epochs?|(global_?|_)?steps?|iter(ation)?s?|batch|timestamp|(wall|run).?time|relative.time.*"
STEP = re.compile(rf"(.*/)?({FAR})", re.IGNORECASE)
"""The names of numbers that say how far a run is."""

LEFT_OUT = re.compile(rf"(.*/)?({FAR}|lr(-.*)?|learning_?rate|hp_metric)", re.IGNORECASE)
"""The names of numbers that do not say how good a run is: they never rank by default."""

TESTED = ("test", "val valid validation eval evaluation dev")
"""Words of metrics that rank before others by default, those of a test first."""

WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*|\d+")


def words_of(name: str) -> list[str]:
    """Return the words of a name in lower case: `val/topAcc5` has val, top and acc5."""
    return [word.lower() for word in WORD.findall(name)]


def direction_of(name: str) -> Direction | None:
    """Return which values of a metric are better, or None if its name does not say so.

    Whole words count. A word of an error after a word of a success decides, so that `acc_loss` is
    lower. `accuracy_std`, `f1_negative` and `tpr@fpr` have none.
    """
    last = name.rpartition("/")[2]
    if last in OWN:
        return OWN[last]
    words = words_of(name)
    known = {word.rstrip("0123456789") for word in (*words, last.lower())} | {*words}
    for direction, names in NAMED.items():
        if names.fullmatch("_".join(words_of(last))):
            return direction
    if any(map(DESCRIBES.fullmatch, known)) or re.match(r"\s*\d+\s*-", name):
        return None
    behind = re.split(r"@|[\W_]at[\W_]", last, maxsplit=1)[1:]
    if any(not word.isdecimal() for text in behind for word in words_of(text)):
        return None
    found = map(_side, [last.lower(), *words])
    sides: list[Direction] = [side for side in found if side is not None]
    if {"r", "squared"} <= {*words}:
        sides.append("higher")
    if not sides or (sides[-1] == "higher" and "lower" in sides):
        return None
    return sides[-1]


def _side(word: str) -> Direction | None:
    """Return the direction of one word, of which the digits at its end do not count."""
    for text in (word, word.rstrip("0123456789")):
        if LOWER.fullmatch(text):
            return "lower"
        if HIGHER.fullmatch(text):
            return "higher"
    return None


def rank_of(name: str) -> tuple[bool, int]:
    """Return a key that sorts metrics by how well they rank runs by default, the best first.

    A metric with a direction comes before one without, a test before a validation, and training
    last.
    """
    words = {*words_of(name)}
    places = [i for i, group in enumerate(TESTED) if words & {*group.split()}]
    place = places[0] if places else len(TESTED) + bool(words & {"train", "training"})
    return direction_of(name) is None, place
