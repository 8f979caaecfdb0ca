"""Every score against its formula, written for one query and one key and looped over all pairs."""

import math

import pytest
import torch

from attnexp.scores.additive import Additive
from attnexp.scores.average import Average
from attnexp.scores.bilinear import Bilinear
from attnexp.scores.biweight import Biweight
from attnexp.scores.boxcar import Boxcar
from attnexp.scores.cosine import Cosine
from attnexp.scores.dot import Dot
from attnexp.scores.elu import Elu
from attnexp.scores.epanechnikov import Epanechnikov
from attnexp.scores.gaussian import Gaussian
from attnexp.scores.linear import Linear
from attnexp.scores.parabola import Parabola
from attnexp.scores.polynomial import Polynomial
from attnexp.scores.scaled_dot import ScaledDot
from attnexp.scores.squared_dot import SquaredDot
from attnexp.scores.triweight import Triweight


def dot(q, k):
    return sum(a * b for a, b in zip(q, k, strict=True))


def near(q, k):
    """The root of the mean squared difference of the coordinates."""
    return math.dist(q, k) / math.sqrt(len(q))


def log(height):
    return math.log(height) if height > 0 else -math.inf


def phi(x):
    return x + 1 if x > 0 else math.exp(x)


FORMULAS = [
    (Average(7, 7), lambda q, k: 0.0),
    (Dot(7, 7), dot),
    (ScaledDot(7, 7), lambda q, k: dot(q, k) / math.sqrt(7)),
    (
        Cosine(7, 7, initial_strength=2.5),
        lambda q, k: 2.5 * dot(q, k) / math.hypot(*q) / math.hypot(*k),
    ),
    (Linear(7, 7), lambda q, k: log(dot(q, k))),
    (SquaredDot(7, 7), lambda q, k: log(dot(q, k) ** 2)),
    *(
        (Polynomial(7, 7, degree=n, offset=c), lambda q, k, n=n, c=c: log((dot(q, k) + c) ** n))
        for n, c in ((2, 1.0), (4, 0.5), (2, -1.0))
    ),
    (Elu(7, 7), lambda q, k: log(sum(phi(a) * phi(b) for a, b in zip(q, k, strict=True)))),
    (Gaussian(7, 7, width=1.7), lambda q, k: -((1.7 * near(q, k)) ** 2) / 2),
    (Boxcar(7, 7, width=0.8), lambda q, k: 0.0 if near(q, k) <= 1 / 0.8 else -math.inf),
    (Epanechnikov(7, 7, width=0.7), lambda q, k: log(1 - 0.7 * near(q, k))),
    (Parabola(7, 7, width=0.7), lambda q, k: log(1 - (0.7 * near(q, k)) ** 2)),
    (Biweight(7, 7, width=0.7), lambda q, k: 2 * log(1 - (0.7 * near(q, k)) ** 2)),
    (Triweight(7, 7, width=0.7), lambda q, k: 3 * log(1 - (0.7 * near(q, k)) ** 2)),
]
BOUNDED = (Linear, Boxcar, Epanechnikov, Parabola, Biweight, Triweight)
"""Scores of a kernel that is zero for some pairs."""


@pytest.mark.parametrize(("score", "one"), FORMULAS, ids=lambda part: type(part).__name__)
def test_equals_the_formula(score, one, vectors, pairwise):
    queries, keys = vectors()
    oracle = pairwise(one, queries, keys)
    assert oracle.isfinite().any()
    assert oracle.isinf().any() == isinstance(score, BOUNDED)
    torch.testing.assert_close(score.double()(queries, keys), oracle)


def test_additive_equals_its_formula(vectors, pairwise):
    queries, keys = vectors(query_dim=2, key_dim=7)
    score = Additive(2, 7, hidden_dim=11).double()
    w_q, w_k = score.W_q.weight.tolist(), score.W_k.weight.tolist()
    w_v = score.w_v.weight[0].tolist()

    def one(q, k):
        return sum(
            v * math.tanh(dot(a, q) + dot(b, k)) for v, a, b in zip(w_v, w_q, w_k, strict=True)
        )

    oracle = pairwise(one, queries, keys)
    torch.testing.assert_close(score(queries, keys), oracle)
    for i in range(3):  # a query alone is compared as it is among many
        torch.testing.assert_close(score(queries[[i]], keys), oracle[[i]])


def test_bilinear_equals_its_formula(vectors, pairwise):
    queries, keys = vectors(query_dim=2, key_dim=7)
    score = Bilinear(2, 7).double()
    rows = score.W.weight.tolist()
    oracle = pairwise(lambda q, k: dot(q, [dot(row, k) for row in rows]), queries, keys)
    torch.testing.assert_close(score(queries, keys), oracle)


def test_the_edge_belongs_to_the_box():
    scores = Boxcar(1, 1, width=0.5)(torch.zeros(1, 1), torch.tensor([[2.0], [2.001]]))
    assert scores.tolist() == [[0.0, -math.inf]]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Dot(2, 3), r"dot needs .* got 2 and 3; additive and bilinear"),
        (lambda: Additive(2, 3, hidden_dim=0), "hidden_dim must be greater than 0, got 0"),
        (lambda: Boxcar(1, 1, width=-3), "width must be greater than 0, got -3"),
        *(
            (lambda n=n: Polynomial(1, 1, degree=n), f"a weight cannot be negative, got {n}")
            for n in (-2, 0, 1, 3)
        ),
    ],
)
def test_settings_that_cannot_work_are_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
