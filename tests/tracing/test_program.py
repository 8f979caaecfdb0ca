"""The interpreter of a page computes what PyTorch computes, for every class of conf/."""

from functools import cache, partial

import pytest
import torch
from composed import prepared
from conftest import choice_names
from interpreted import interpreted, needs_node, numbers_of

from attnexp.attention.pooling import AttentionPooling
from attnexp.core.batch import Seq2SeqSpec
from attnexp.core.errors import RequestError
from attnexp.probe.laws.base import Rows
from attnexp.probe.laws.hard import Hard
from attnexp.probe.laws.shuffled import Shuffled
from attnexp.probe.laws.uniform import Uniform
from attnexp.probe.rewriting import Site, rewritten
from attnexp.tracing.program import program_of
from attnexp.tracing.trace import traced

CURVE = ("data.num_train=12", "data.num_test=5")
SEQUENCES = (
    *("data=reverse", "data.num_train=8", "data.num_validation=8", "data.num_test=8"),
    *("data.max_length=5", "data.test_max_length=null"),
)
SHORT = (*SEQUENCES, "data.min_length=1", "data.max_length=3")  # each symbol is traced anew
SMALL = ("arch.dim=8", "arch.layers=1", "arch.heads=2", "arch.ff_dim=8")

DECODER = ("arch=decoder_only", "model=scaled_dot", *SEQUENCES, *SMALL)
WORDS = [
    *(("model=" + name, *CURVE) for name in choice_names("model")[::2]),
    ("model=additive", "arch.features=4", "arch.heads=2", *CURVE),
    ("arch=rnn", "model=additive", *SHORT, "arch.hidden_dim=8", "arch.embed_dim=6"),
    ("arch=pooling", "model=scaled_dot", "normalizer=entmax15", *SEQUENCES, "arch.dim=8"),
    ("arch=transformer", "model=additive", *SEQUENCES, *SMALL),
    ("estimator=local_linear", *CURVE),
    (*DECODER, "estimator=delta"),
    (*DECODER, "positions=rotary"),
]
SELDOM = [
    *(("model=" + name, *CURVE) for name in choice_names("model")[1::2]),
    ("arch=rnn", "model=dot", *SHORT, "arch.hidden_dim=8", "arch.cell=lstm", "arch.layers=2"),
    *((*DECODER, f"positions={name}") for name in choice_names("positions")),
    *(
        (*DECODER, *words.split())
        for words in (
            *("estimator=local_linear estimator.ridge=0.1", "attention=gated"),
            *("attention=differential", "arch.kv_heads=1", "arch.window=3"),
        )
    ),
]
"""What `make test-all` traces, too."""


def rounded(model):
    """Round the parameters of a model as a program stores them."""
    with torch.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            if tensor.is_floating_point():
                tensor.copy_(tensor.half())
    return model


def example(run):
    """The first test example, whose source has padding behind it, or all of a curve."""
    if not isinstance(run.dataset.spec, Seq2SeqSpec):
        return run.dataset.test
    lengths = run.dataset.test.mask.sum(dim=-1).flatten()
    return run.dataset.test.select(slice(int(lengths.argmin()), int(lengths.argmin()) + 1))


@cache
def answers(seldom):
    """What PyTorch and the interpreter answer to an example that the graph was not traced on."""
    jobs, wanted = [], []
    for words in SELDOM if seldom else WORDS:
        run = prepared(*words)
        model, batch = rounded(run.model.eval()), example(run)
        program = program_of(traced(model, batch))
        with torch.no_grad():
            prediction = model(batch, need_weights=True)
        found = {"outputs": prediction.outputs, **prediction.weights}
        inputs = {name: numbers_of(tensor) for name, tensor in batch.tensors().items()}
        jobs.append({"program": program, "inputs": inputs, "outputs": list(found)})
        wanted.append({name: tensor.flatten() for name, tensor in found.items()})
    return list(zip(wanted, interpreted(jobs), strict=True))


@needs_node
@pytest.mark.check
@pytest.mark.parametrize(
    ("seldom", "place"),
    [
        *(pytest.param(False, i, id=" ".join(words[:2])) for i, words in enumerate(WORDS)),
        *(
            pytest.param(True, i, id=f"{words[0]} {words[-1]}", marks=pytest.mark.slow)
            for i, words in enumerate(SELDOM)
        ),
    ],
)
def test_a_page_computes_what_pytorch_computes(seldom, place):
    wanted, found = answers(seldom)[place]
    assert list(found) == list(wanted)
    for name, tensor in wanted.items():
        scale = max(1.0, float(tensor.abs().max()))
        torch.testing.assert_close(found[name], tensor, rtol=1e-4, atol=2e-5 * scale, msg=name)


def first_head_out(weights, valid):
    return weights * torch.tensor([0.0, 1.0]).view(1, 2, 1, 1)


TRANSFORMER = ("arch=transformer", "model=scaled_dot", *SEQUENCES, *SMALL)
RECURRENT = ("arch=rnn", "model=additive", *SHORT, "arch.hidden_dim=8", "arch.heads=2")
AS_TRAINED = {"law": "learned", "temperature": 1, "off": {"layer": 0, "head": 0}, "dragged": None}


@pytest.fixture(scope="module", params=[TRANSFORMER, RECURRENT], ids=["transformer", "rnn"])
def decoder(request):
    run = prepared(*request.param)
    model, batch = rounded(run.model.eval()), example(run)
    return model, batch, by_page(model, batch)


def by_page(model, batch):
    """What computes outputs and weights in the page, under settings."""
    inputs = {name: numbers_of(tensor) for name, tensor in batch.tensors().items()}
    names = ["outputs", "cross"]
    job = {"program": program_of(traced(model, batch)), "inputs": inputs, "outputs": names}

    def computed(**settings):
        (found,) = interpreted([{**job, "main": "cross", "settings": AS_TRAINED | settings}])
        return found

    return computed


def by_class(law):
    """The rewrite of a law of `attnexp probe`."""
    return lambda weights, valid: law.replace(Rows(weights, valid, None, random(weights)))


def random(weights):
    return lambda: torch.rand(weights.shape, generator=torch.Generator().manual_seed(0))


REWRITES = {
    "learned": lambda weights, valid: weights,
    "uniform": by_class(Uniform()),
    "hard": by_class(Hard()),
    "shuffled": by_class(Shuffled()),
    "off": first_head_out,
}
"""The laws of a page as those of `attnexp probe`, whose `zero` is applied to one head."""

POOLERS = [
    *(("model=additive", f"normalizer={name}") for name in choice_names("normalizer")),
    *(("model=average", f"normalizer={name}") for name in ("softmax", "topk")),  # all keys tie
]


def _chosen(rewrite, _):
    return rewrite


@pytest.fixture(scope="module")
def lawful():
    """The weights under each law: those of PyTorch, and those of the page."""
    jobs, wanted = [], []
    for words in POOLERS:
        run = prepared("arch=pooling", *words, *SEQUENCES, "arch.dim=8", "arch.heads=2")
        model, batch = rounded(run.model.eval()), example(run)
        inputs = {name: numbers_of(tensor) for name, tensor in batch.tensors().items()}
        job = {"program": program_of(traced(model, batch)), "inputs": inputs, "main": "cross"}
        for law, rewrite in REWRITES.items():
            changed = rewritten(model, partial(_chosen, rewrite))
            with torch.no_grad():
                prediction = changed(batch, need_weights=True)
            wanted.append({"outputs": prediction.outputs, **prediction.weights})
            job |= {"outputs": ["outputs", "cross"], "settings": AS_TRAINED | {"law": law}}
            jobs.append(dict(job))
    names = [(words, law) for words in POOLERS for law in REWRITES]
    return dict(zip(names, zip(wanted, interpreted(jobs), strict=True), strict=True))


@needs_node
@pytest.mark.check
@pytest.mark.parametrize("law", REWRITES)
@pytest.mark.parametrize("words", POOLERS, ids=" ".join)
def test_a_law_of_the_page_is_that_of_probe(lawful, words, law):
    wanted, found = lawful[words, law]
    weights, own = wanted["cross"], found["cross"].view_as(wanted["cross"])
    if law == "shuffled":  # each draws an order of its own
        weights, own = (each.sort(dim=-1).values for each in (weights, own))
    else:
        outputs = wanted["outputs"].flatten()
        torch.testing.assert_close(found["outputs"], outputs, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(own, weights, rtol=1e-4, atol=1e-5)


@needs_node
@pytest.mark.parametrize("layer", [0, 1])
def test_a_head_is_taken_out_in_its_own_layer(layer):
    run = prepared(*TRANSFORMER, "arch.layers=2")
    model, batch = rounded(run.model.eval()), example(run)
    site = Site("cross", layer)
    changed = rewritten(model, lambda at: first_head_out if at == site else lambda w, _: w)
    with torch.no_grad():
        wanted = changed(batch, need_weights=True)
    found = by_page(model, batch)(law="off", off={"layer": layer, "head": 0})
    torch.testing.assert_close(found["outputs"], wanted.outputs.flatten(), rtol=1e-4, atol=1e-4)


@needs_node
@pytest.mark.parametrize("law", ["uniform", "hard", "off"])
def test_a_law_of_a_transformer_is_that_of_probe(law):
    run = prepared(*TRANSFORMER)
    model, batch = rounded(run.model.eval()), example(run)
    rewrite = REWRITES[law]
    changed = rewritten(model, lambda site: rewrite if site.part == "cross" else lambda w, _: w)
    with torch.no_grad():
        wanted = changed(batch, need_weights=True)
    found = by_page(model, batch)(law=law)
    torch.testing.assert_close(found["outputs"], wanted.outputs.flatten(), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(found["cross"], wanted.weights["cross"].flatten())


@needs_node
def test_shuffled_weights_are_on_other_keys(decoder):
    _, _, computed = decoder
    before, after = (computed(law=law)["cross"] for law in ("learned", "shuffled"))
    assert not torch.equal(before, after)


@pytest.mark.first(2)
@needs_node
@pytest.mark.check
@pytest.mark.parametrize("normalizer", ["softmax", "sparsemax", "sigmoid", "relu", "sink"])
def test_a_dragged_weight_takes_from_the_others_of_its_row(normalizer):
    run = prepared(*TRANSFORMER, f"normalizer={normalizer}")
    model, batch = rounded(run.model.eval()), example(run)
    computed = by_page(model, batch)
    for weight in (0.1, 0.75, 40.0):
        takes_from_the_others(computed, batch.keys.shape[1], weight)


def takes_from_the_others(computed, width, weight):
    dragged = {"layer": 0, "head": 0, "row": 1, "key": 2, "weight": weight}
    found = computed(dragged=dragged)["cross"].view(2, -1, width)
    before = computed()["cross"].view_as(found)
    whole = before[0, 1].sum()
    others = before[0, 1].clone()
    others[2] = 0
    set_to = min(torch.tensor(weight), whole)
    others *= (whole - set_to) / others.sum().clamp(min=1e-9)
    others[2] = set_to
    torch.testing.assert_close(found[0, 1], others)
    torch.testing.assert_close(found[1], before[1])
    torch.testing.assert_close(found[0, 0], before[0, 0])


@needs_node
def test_a_temperature_divides_the_scores(decoder):
    _, _, computed = decoder
    weights = computed(temperature=1e6)["cross"]
    assert set(torch.round(weights, decimals=4).tolist()) <= {
        0.0,
        *(round(1 / n, 4) for n in range(1, 12)),
    }


class Deciding(AttentionPooling):
    """Looks at its numbers to decide."""

    def attend(self, queries, memory, need_weights=False, *order):
        if bool((queries > 0).any()):
            queries = queries + 1
        return super().attend(queries, memory, need_weights, *order)


def test_a_model_that_looks_at_its_numbers_is_refused():
    run = prepared("model=dot", *CURVE)
    run.model.pooling.__class__ = Deciding
    with pytest.raises(RequestError, match="looks at its numbers to decide"):
        traced(run.model.eval(), run.dataset.test)
