"""Which values of a metric are better, by the words of its name."""

import re
from collections.abc import Mapping

from attnexp.runs.summary import Direction

OWN: Mapping[str, Direction | None] = {
    "gold_mass": "higher",
    "kl_unigram": None,
    "alignment_accuracy_mean": None,
}
"""The metrics of attnexp whose direction is not that of their words."""

LOWER = re.compile(
    r"loss(es)?|err(ors?)?|mistakes?|mismatch(es)?|miss(es)?|perplexity|ppl|nll|bce|r?mse|mae|mape|"
    r"[wct]er|eer|fpr|fnr|brier|kl|divergence|fid|distance|regret|misclassification|bpc|bpb"
)
"""Words of metrics of which lower values are better. They decide over those of `HIGHER`."""

HIGHER = re.compile(
    r"acc(uracy)?|f1|fbeta|precision|recall|auc|auroc|auprc|roc|map|mrr|ndcg|(sacre)?bleu|"
    r"rouge(l(sum)?)?|meteor|chrf|bertscore|r2|em|hits?|match(es)?|m?iou|dice|jaccard|psnr|ssim|mcc|"
    r"kappa|sensitivity|specificity|likelihood|elbo|correct|success|pearson|spearman|rewards?"
)
"""Words of metrics of which higher values are better."""

DESCRIBES = re.compile(
    r"baseline|chance|target|threshold|weights?|scale|grad(ient)?|norm|time|seconds|count|num(ber)?|"
    r"size|ratio|drop|gap|delta|diff(erence)?|change|gain|improvement|std(err)?|sd|var(iance)?|ci|"
    r"ema|coef(ficient)?|budget"
)
"""Words of numbers about a metric, which have no direction."""

NEGATED = frozenset({"neg", "negative", "negated", "minus"})
"""Words before a metric whose sign is turned."""

NOT_NEGATED = frozenset({"true", "false"})
"""Words before `negative` that make it a word of a rate."""

LEFT_OUT = re.compile(
    r"(.*/)?(epochs?|(global_?|_)?steps?|iter(ation)?s?|batch|lr(-.*)?|learning_?rate|hp_metric|"
    r"timestamp|wall.?time|run.?time|relative.time.*)",
    re.IGNORECASE,
)
"""The names of numbers that say how far a run is, and not how good: they never rank by default."""

TESTED = ("test", "val valid validation eval evaluation dev")
"""Words of metrics that rank before others by default, those of a test first."""

WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*|\d+")


def words_of(name: str) -> list[str]:
    """Return the words of a name in lower case: `val/topAcc5` has val, top and acc5."""
    return [word.lower() for word in WORD.findall(name)]


def direction_of(name: str) -> Direction | None:
    """Return which values of a metric are better, or None if its name does not say so.

    Whole words count. A word of an error decides over a word of a success, so that `acc_loss` is
    lower; `neg_log_loss` is turned, and `accuracy_std` has none.
    """
    last = name.rpartition("/")[2]
    if last in OWN:
        return OWN[last]
    words = words_of(name)
    known = {word.rstrip("0123456789") for word in (*words, last.lower())} | {*words}
    if any(map(DESCRIBES.fullmatch, known)) or re.match(r"\s*1\s*-", name):
        return None
    if words[:2] in (["false", "positive"], ["false", "negative"]):
        return "lower"
    found: Direction
    if any(map(LOWER.fullmatch, known)):
        found = "lower"
    elif any(map(HIGHER.fullmatch, known)) or {"r", "squared"} <= known:
        found = "higher"
    else:
        return None
    turned = [
        i
        for i, word in enumerate(words)
        if word in NEGATED and not (i and words[i - 1] in NOT_NEGATED)
    ]
    if len(turned) % 2:
        return "lower" if found == "higher" else "higher"
    return found


def rank_of(name: str) -> tuple[bool, int]:
    """Return a key that sorts metrics by how well they rank runs by default, the best first.

    A metric with a direction comes before one without, a test before a validation, and training
    last.
    """
    words = {*words_of(name)}
    places = [i for i, group in enumerate(TESTED) if words & {*group.split()}]
    place = places[0] if places else len(TESTED) + bool(words & {"train", "training"})
    return direction_of(name) is None, place
