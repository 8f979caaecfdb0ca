"""All that is measured of one run: interventions on its test set, and the heads chosen before."""

from collections.abc import Callable, Sequence
from itertools import count

from attnexp.architectures.base import Architecture
from attnexp.attention.base import Attention, is_signed
from attnexp.attention.multihead import MultiHead
from attnexp.core.batch import Batch
from attnexp.core.errors import RequestError
from attnexp.estimators.base import Estimator
from attnexp.normalizers.base import Normalizer
from attnexp.probe.adversary import adversarial, between_seeds, passes
from attnexp.probe.effects import effects
from attnexp.probe.interventions import Laws, named, usual
from attnexp.probe.passes import facts_of, main_part
from attnexp.runs.probed import ADVERSARIAL, Probed
from attnexp.training.prepared_run import PreparedRun


class Probe:
    """The interventions on a trained run that words name; the usual ones without words.

    `passes` is the number of forward passes that they take.

    Raises RequestError for a word that names no intervention, for `gold` if no query has a gold
    key, and for a law that needs shares if the weights may have both signs.
    """

    def __init__(self, run: PreparedRun, words: Sequence[str], laws: Laws) -> None:
        self._run = run
        heads = heads_of(run)
        main = main_part(run.model)
        has_gold = bool((facts_of(run.model, run.dataset.test)[main].gold >= 0).any())
        sums_to_one = all(map(_sums_to_one, run.model.attentions[main]))
        signed = is_signed(run.model)
        found = [
            intervention
            for word in dict.fromkeys(words or usual(heads, main, has_gold, sums_to_one, signed))
            if word != ADVERSARIAL
            for intervention in named(word, laws, heads, main)
        ]
        for intervention in found:
            if intervention.law.needs_gold and not (has_gold and intervention.part == main):
                raise RequestError(
                    f"{intervention.name} needs to know which key each answer comes from, and "
                    f"data={run.chosen['data']} does not say it of {intervention.part}"
                )
            if intervention.law.needs_shares and signed:
                raise _of_shares(f"{intervention.name} gives the sum of a row to some keys")
        if ADVERSARIAL in words and signed:
            raise _of_shares(f"{ADVERSARIAL} compares rows as shares")
        self._interventions = found
        one_head = [one for one in found if one.takes_out_a_head]
        self._heads = one_head if len(one_head) > 1 else []
        self._adversarial = ADVERSARIAL in words
        self.passes = sum(one.repetitions for one in found) + len(self._heads)
        self.passes += passes(run) if self._adversarial else 0

    def measure(
        self, advance: Callable[[int, str], None], others: Sequence[Architecture] = ()
    ) -> list[Probed]:
        """Return the numbers of the run under each intervention, on the test set.

        If single heads are taken out, their numbers on the split that chooses a head follow. If an
        adversary was asked for, its distance follows, and that of `others`, the models of other
        seeds. `advance` is called after each pass, with the number of passes so far and the name of
        the intervention.
        """
        passed = count(1)

        def done(name: str) -> None:
            advance(next(passed), name)

        rows = effects(self._run, self._run.dataset.test, "test", self._interventions, done)
        if self._heads:
            split, batch = selection(self._run)
            rows += effects(self._run, batch, split, self._heads, done, free=False)
        if self._adversarial:
            rows.append(adversarial(self._run, done))
            rows += [between_seeds(self._run, others)] if others else []
        return rows


def _of_shares(what: str) -> RequestError:
    """Return the error of an intervention that needs weights of one sign."""
    return RequestError(
        f"{what}, and the weights of this model have both signs: choose topk=K, without_topk=K, "
        "uniform, shuffled or zero"
    )


def _sums_to_one(attention: Attention) -> bool:
    """Return whether the rows of an attention's weights sum to 1, as its classes declare."""
    estimators = [each for each in attention.modules() if isinstance(each, Estimator)]
    if any(each.signed for each in estimators):
        return all(each.sums_to_one for each in estimators)
    found = (module for module in attention.modules() if isinstance(module, Normalizer))
    return all(normalizer.sums_to_one for normalizer in found)


def heads_of(run: PreparedRun) -> dict[str, list[int]]:
    """Return the number of heads of each layer of each attention."""
    return {
        part: [layer.heads if isinstance(layer, MultiHead) else 1 for layer in layers]
        for part, layers in run.model.attentions.items()
    }


def selection(run: PreparedRun) -> tuple[str, Batch]:
    """Return the name of the split on which a head is chosen, and its examples."""
    if run.dataset.validation is None:
        return "train", run.dataset.train
    return "validation", run.dataset.validation
