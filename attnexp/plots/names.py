"""The names of pictures and of venues, without what draws them: shell completion offers them."""

from enum import StrEnum, auto


class PictureName(StrEnum):
    """The names of pictures, in the order in which they are drawn."""

    FIT = auto()
    ATTENTION = auto()
    LOSS = auto()
    WIDTHS = auto()
    METRIC = auto()
    GROWTH = auto()
    LENGTHS = auto()
    CONSISTENCY = auto()
    RANKS = auto()
    INTERVENTIONS = auto()
    ENCODING = auto()


VENUES = (
    "cvpr2024",
    "icml2022",
    "icml2024",
    "aistats2022",
    "aistats2023",
    "aistats2025",
    "aaai2024",
    "uai2023",
    "eccv2024",
    "jmlr2001",
    "tmlr2023",
    "neurips2021",
    "neurips2022",
    "neurips2023",
    "neurips2024",
    "iclr2023",
    "iclr2024",
    "colm2026",
    "probnum2025",
    "tue_ai_thesis",
    "beamer_moml",
    "tue_ai_beamer",
)
"""Conferences, journals and classes of slides whose styles tueplots has."""
