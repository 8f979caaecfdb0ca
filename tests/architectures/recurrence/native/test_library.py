"""The compiled steps against PyTorch's, and the runs that call them."""

import copy
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch
from composed import prepared

from attnexp.architectures.compiled import FLAGS, SOURCE, remember
from attnexp.architectures.recurrence.native import library as native
from attnexp.architectures.recurrence.native.library import load, use
from attnexp.architectures.rnn import Rnn
from attnexp.core.batch import Seq2SeqSpec
from attnexp.core.errors import RequestError
from attnexp.data.sequences import sequence_batch
from attnexp.runs.summary import read_summary
from attnexp.scores.additive import Additive
from attnexp.scores.bilinear import Bilinear
from attnexp.scores.dot import Dot
from attnexp.scores.scaled_dot import ScaledDot
from attnexp.training.loop import Training
from attnexp.training.native_steps import PYTORCH, choose_native_steps

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")

SYMBOLS = ("<pad>", "<bos>", "<eos>", *"abcdef")


SCORES = {
    "additive": Additive,
    "dot": Dot,
    "scaled_dot": ScaledDot,
    "bilinear": Bilinear,
}


def pair(batch, length, hidden, projected, score="additive", **more):
    """A model that PyTorch computes, the same one with compiled steps, and a padded batch."""
    torch.manual_seed(batch * length + hidden)
    lengths = torch.randint(1, length + 1, (batch, 1))
    places = torch.arange(length)
    source, target = torch.randint(3, len(SYMBOLS), (2, batch, length))
    data = sequence_batch(source.where(places < lengths, 0), target.where(places < lengths, 0))
    spec = Seq2SeqSpec(SYMBOLS, SYMBOLS, length + 1, length + 1, pad=0, bos=1, eos=2)
    sizes = {"hidden_dim": projected} if score == "additive" else {}
    plain = Rnn(spec, partial(SCORES[score], **sizes), embed_dim=4, hidden_dim=hidden, **more)
    compiled = copy.deepcopy(plain)
    use(compiled, load())
    return plain, compiled, data


def gradients(model, data):
    outputs = model(data).outputs
    (outputs.square().mean() + outputs[:, 0].sin().sum()).backward()
    return outputs.detach(), {name: p.grad for name, p in model.named_parameters()}


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize(
    ("score", "bidirectional"), [("additive", False), *((score, True) for score in SCORES)]
)
@pytest.mark.parametrize(
    ("batch", "length", "hidden", "projected"),
    [(1, 1, 3, 5), (1, 6, 8, 7), (5, 1, 16, 16), (7, 4, 33, 17), (13, 9, 64, 64), (4, 3, 1, 1)],
)
def test_values_and_gradients_are_those_of_pytorch(
    cell, score, bidirectional, batch, length, hidden, projected
):
    settings = {"cell": cell, "bidirectional": bidirectional, "score": score}
    plain, compiled, data = pair(batch, length, hidden, projected, **settings)
    expected, of_plain = gradients(plain.double(), data)
    outputs, found = gradients(compiled, data)
    torch.testing.assert_close(outputs.double(), expected, atol=1e-5, rtol=1e-5)
    for name, gradient in of_plain.items():
        bound = 1e-5 * max(1.0, float(gradient.abs().max()))
        assert (found[name].double() - gradient).abs().max() <= bound, name


@pytest.mark.parametrize("score", SCORES)
def test_the_steps_are_called_and_repeat_their_bits(score, monkeypatch):
    calls = []
    call = native.Library.call
    monkeypatch.setattr(
        native.Library,
        "call",
        lambda own, name, *rest: calls.append(name) or call(own, name, *rest),
    )
    _, compiled, data = pair(5, 6, 16, 8, score)
    first = gradients(compiled, data)[1]
    assert calls == ["scan", "unrolled", "unrolled_gradient", "scan_gradient"]
    kept = {name: gradient.clone() for name, gradient in first.items()}
    compiled.zero_grad()
    again = gradients(compiled, data)[1]
    assert all(again[name].equal(gradient) for name, gradient in kept.items())


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("place", ["bottom.W_h.weight", "W_c", "attention.score.w_v.weight"])
def test_numbers_that_are_not_finite_come_out(number, place):
    plain, compiled, data = pair(3, 4, 8, 8)
    for model in (plain, compiled):
        model.get_parameter(place).data[0] = number
    expected, found = plain(data).outputs, compiled(data).outputs
    assert place == "W_c" or not expected.isfinite().all()
    assert found.isfinite().equal(expected.isfinite())


def test_large_numbers_saturate_as_pytorchs():
    plain, compiled, data = pair(3, 4, 8, 8)
    for model in (plain, compiled):
        for name in ("bottom.W_h.weight", "attention.score.W_q.weight"):
            model.get_parameter(name).data.mul_(1e4)
    torch.testing.assert_close(compiled(data).outputs, plain(data).outputs, atol=1e-5, rtol=1e-5)


def test_what_the_library_does_not_have_goes_by_pytorch(monkeypatch):
    monkeypatch.setattr(native.Library, "call", lambda *_: pytest.fail("it was called"))
    _, compiled, data = pair(3, 4, 8, 8)
    compiled.double()(data)
    copies = torch.func.vmap(
        lambda parameters: torch.func.functional_call(compiled, parameters, (data,)).outputs
    )
    copies({name: torch.stack([p, p]).detach() for name, p in compiled.named_parameters()})


SMALL = ("data=reverse", "data.num_train=12", "data.num_validation=4", "data.num_test=4")
TINY = ("arch.hidden_dim=4", "arch.embed_dim=4", "data.max_length=4")
QUICK = (*SMALL, *TINY, "model=additive", "train.max_epochs=1", "figures=false")


def test_a_run_without_a_compiler_says_so_once_and_trains(
    unasked, succeeds, refused, monkeypatch, tmp_path
):
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "")
        said = succeeds(*QUICK).stdout
        assert said.count("native: no C compiler is found") == 1
        assert "native=true: no C compiler is found" in refused(*QUICK, "seed=1", "native=true")
    (folder,) = tmp_path.glob("outputs/*")
    summary = read_summary(folder)
    assert "native" not in summary.versions
    assert [note for note in summary.notes if note.startswith("native: no C compiler is found")]
    remember(None)
    assert "identical" in succeeds("verify", "outputs", "--tolerance", "0").stdout


def test_verify_repeats_the_path_of_a_run(succeeds, tmp_path):
    for number, native_words in enumerate(["auto", "false"]):
        succeeds(*QUICK, f"seed={number}", f"native={native_words}")
    answer = succeeds("verify", "outputs", "--tolerance", "0")
    assert answer.stdout.count("identical") == 2


@pytest.mark.parametrize(
    ("words", "lacking"),
    [
        (["arch=transformer"], "a recurrent model, such as arch=rnn"),
        (["precision=fp64"], "precision=fp32, got fp64"),
        (["threads=2"], "threads=1, got 2"),
        (["batched=true"], "batched=false: replicas train by PyTorch"),
    ],
)
def test_what_the_compiled_steps_cannot_compute_is_refused_if_they_are_required(words, lacking):
    run = prepared("data=copy", "arch=rnn", *words, "native=auto")
    assert run.native == PYTORCH
    with pytest.raises(RequestError, match=f"^native=true needs {re.escape(lacking)}; native=auto"):
        choose_native_steps(run.model, {**run.config, "native": True})


@pytest.mark.slow
@pytest.mark.parametrize(("data", "steps"), [("sort", 200), ("dates", 200), ("reverse", 120)])
def test_losses_are_those_of_pytorch(data, steps):
    """In `reverse` even PyTorch's in float32 and in float64 differ by 0.006 at the 200th update."""
    losses = []
    for way in ("auto", "false"):
        training = Training(prepared(f"data={data}", "model=additive", f"native={way}"))
        update, own = training._update, []

        def kept(batch, factor, update=update, own=own):
            if len(own) == steps:
                raise StopIteration
            own.append(update(batch, factor))
            return own[-1]

        training._update = kept
        with pytest.raises(RuntimeError, match="StopIteration"):
            list(training.epochs())
        losses.append(torch.stack(own))
    torch.testing.assert_close(*losses, atol=1e-5, rtol=1e-5)


SANITIZED = """
import ctypes, itertools, sys
import numpy as np
library = ctypes.CDLL(sys.argv[1])
rng = np.random.default_rng(0)
def made(*shape):
    return np.ascontiguousarray(rng.standard_normal(shape), dtype=np.float32)
def call(name, *given):
    for each in given:
        assert isinstance(each, int) or each is None or each.flags.c_contiguous
    getattr(library, name)(*(
        ctypes.c_long(g) if isinstance(g, int) else None if g is None
        else ctypes.c_void_p(g.ctypes.data)
        for g in given))
for cell, (length, batch, size, P, keys, V) in itertools.product(
        (0, 1),
        [(1, 1, 1, 1, 1, 1), (3, 5, 7, 9, 2, 7), (2, 9, 33, 17, 5, 33), (2, 4, 64, 64, 11, 64)]):
    gates, states, kept = ((3, 1, 4), (4, 2, 5))[cell]
    for copies in (1, 2):
        s = made(length + 1, copies, batch, states * size)
        k = made(length, copies, batch, kept * size)
        call("scan", cell, length, copies, batch, size, made(copies, batch, length, gates * size),
             made(copies, gates * size), made(copies, size, gates * size), k, s)
        own, g = made(*s.shape), made(length, copies, batch, 4 * size)
        W = made(copies, gates * size, size)
        call("scan_gradient", cell, length, copies, batch, size, W, k, s, own, g)
    s, m = made(length + 1, batch, states * size), made(length, batch, P + kept * size)
    c, w = made(length, batch, V), made(length, batch, keys)
    seen = rng.integers(0, 2, (batch, keys)).astype(np.uint8)
    u, values, key = made(1, P), made(batch, keys, V), np.exp(made(batch, keys, P))
    for score, (u, sums, inner) in enumerate([
            (u, made(1), made(length, batch, keys, P)), (None, None, made(length, batch, P))]):
        for mask in (None, seen):
            call("unrolled", cell, score, length, batch, size, P, keys, V,
                 made(batch, length, gates * size), made(gates * size),
                 made(size, P + gates * size), made(V, gates * size), values, key, u, sums, mask,
                 m, s, c, inner, w)
        k = np.concatenate([m.ravel()[P:], made(P)])
        call("unrolled_gradient", cell, score, length, batch, size, P, keys, V,
             made(P + gates * size, size), made(gates * size, V), values, k, s, inner, w,
             made(keys), made(*s.shape), made(*c.shape), made(length, batch, P + 4 * size),
             key if u is None else u, made(batch, keys, P), None if u is None else made(1, P), sums)
print("done")
"""


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", ["address", "undefined"])
def test_the_sanitizers_find_nothing(sanitizer, tmp_path):
    names = {"address": "libasan.so", "undefined": "libubsan.so"}
    found = subprocess.run(
        ["cc", f"-print-file-name={names[sanitizer]}"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if not Path(found).is_absolute():
        pytest.skip(f"the compiler has no {names[sanitizer]}")
    made = tmp_path / "sanitized.so"
    flags = ["-g", "-O1", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"]
    subprocess.run(["cc", *FLAGS, *flags, "-o", made, SOURCE], check=True)
    code = tmp_path / "calls.py"
    code.write_text(SANITIZED)
    answer = subprocess.run(
        [sys.executable, code, made],
        env={**os.environ, "LD_PRELOAD": found, "ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stdout == "done\n", answer.stderr[-3000:]
