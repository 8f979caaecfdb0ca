"""Attention scoring functions, one a file: the formula, its source and the code.

The classes are imported when they are first used: `attnexp.scores.Additive`.
"""

from typing import TYPE_CHECKING

from attnexp.lazy import lazy
from attnexp.scores.base import Score as Score

if TYPE_CHECKING:
    from attnexp.scores.additive import Additive as Additive
    from attnexp.scores.average import Average as Average
    from attnexp.scores.bilinear import Bilinear as Bilinear
    from attnexp.scores.biweight import Biweight as Biweight
    from attnexp.scores.biweight_learned import BiweightLearned as BiweightLearned
    from attnexp.scores.boxcar import Boxcar as Boxcar
    from attnexp.scores.cosine import Cosine as Cosine
    from attnexp.scores.dot import Dot as Dot
    from attnexp.scores.elu import Elu as Elu
    from attnexp.scores.epanechnikov import Epanechnikov as Epanechnikov
    from attnexp.scores.epanechnikov_learned import EpanechnikovLearned as EpanechnikovLearned
    from attnexp.scores.gaussian import Gaussian as Gaussian
    from attnexp.scores.gaussian_learned import GaussianLearned as GaussianLearned
    from attnexp.scores.linear import Linear as Linear
    from attnexp.scores.parabola import Parabola as Parabola
    from attnexp.scores.parabola_learned import ParabolaLearned as ParabolaLearned
    from attnexp.scores.polynomial import Polynomial as Polynomial
    from attnexp.scores.scaled_dot import ScaledDot as ScaledDot
    from attnexp.scores.squared_dot import SquaredDot as SquaredDot
    from attnexp.scores.triweight import Triweight as Triweight
    from attnexp.scores.triweight_learned import TriweightLearned as TriweightLearned
else:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "Additive": "attnexp.scores.additive:Additive",
            "Average": "attnexp.scores.average:Average",
            "Bilinear": "attnexp.scores.bilinear:Bilinear",
            "Biweight": "attnexp.scores.biweight:Biweight",
            "BiweightLearned": "attnexp.scores.biweight_learned:BiweightLearned",
            "Boxcar": "attnexp.scores.boxcar:Boxcar",
            "Cosine": "attnexp.scores.cosine:Cosine",
            "Dot": "attnexp.scores.dot:Dot",
            "Elu": "attnexp.scores.elu:Elu",
            "Epanechnikov": "attnexp.scores.epanechnikov:Epanechnikov",
            "EpanechnikovLearned": "attnexp.scores.epanechnikov_learned:EpanechnikovLearned",
            "Gaussian": "attnexp.scores.gaussian:Gaussian",
            "GaussianLearned": "attnexp.scores.gaussian_learned:GaussianLearned",
            "Linear": "attnexp.scores.linear:Linear",
            "Parabola": "attnexp.scores.parabola:Parabola",
            "ParabolaLearned": "attnexp.scores.parabola_learned:ParabolaLearned",
            "Polynomial": "attnexp.scores.polynomial:Polynomial",
            "ScaledDot": "attnexp.scores.scaled_dot:ScaledDot",
            "SquaredDot": "attnexp.scores.squared_dot:SquaredDot",
            "Triweight": "attnexp.scores.triweight:Triweight",
            "TriweightLearned": "attnexp.scores.triweight_learned:TriweightLearned",
        },
    )
