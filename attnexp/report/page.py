"""The content of a page: its makers call these constructors, and the scripts in `template` read it.

A test compares the fields with those that the scripts read. Texts of tables and remarks are plain,
and places are indices of lists.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from attnexp.core.language import Phrase

Numbers = Sequence[float | None]
"""Numbers of a picture, null for infinities and NaN."""


class TextCell(Struct, frozen=True):
    """A cell of a table, which may be emphasised."""

    text: Phrase
    strong: bool


class Heading(Struct, frozen=True):
    """The head of a column, which is aligned `right`, or hidden until requested if it is spare."""

    title: Phrase
    right: bool
    spare: bool


class TextTable(Struct, frozen=True):
    """A table that can be sorted."""

    title: Phrase
    caption: Phrase
    columns: Sequence[Heading]
    rows: Sequence[Sequence[TextCell]]


class DotRow(Struct, frozen=True):
    """The mean of a row, its interval and its seeds, with words `above` it."""

    name: Phrase
    mean: float | None
    low: float | None
    high: float | None
    seeds: Sequence[float]
    above: Phrase = ""


class Dots(Struct, frozen=True):
    """A picture of a metric, which is `better` lower or higher."""

    metric: str
    better: str | None
    log: bool
    omitted: int
    rows: Sequence[DotRow]


class Result(Struct, frozen=True):
    """A section with a table; `compared` is for the top of the page, `verdicts` for the slide."""

    name: Phrase
    compared: Phrase
    dots: Dots | None
    table: TextTable | None
    costs: TextTable | None = None
    verdicts: Sequence[Phrase] = ()


class Series(Struct, frozen=True, omit_defaults=True):
    """A line of a chart with its band; its `place` chooses the colour, and null is the truth."""

    label: Phrase
    place: int | None
    x: Numbers
    mean: Numbers
    seeds: int = 0
    low: Numbers | None = None
    high: Numbers | None = None


class Chart(Struct, frozen=True, omit_defaults=True):
    """Lines, and points that they were fitted to, on axes named `x` and `y`."""

    title: Phrase
    x: Phrase
    y: Phrase
    log: bool
    lines: Sequence[Series]
    points: Sequence[Numbers]
    log_x: bool = field(default=False, name="logX")


class MapSide(Struct, frozen=True):
    """A side of a map, with symbols or numbers."""

    name: Phrase
    symbols: Sequence[str]
    numbers: Numbers | None


class ByteMap(Struct, frozen=True):
    """Weights of all heads as bytes in base64, between two of the `axes`, and the gold columns."""

    rows: int
    columns: int
    gold: Sequence[int] | None
    weights: str


class Moment(Struct, frozen=True):
    """Maps of test examples after an epoch, or at the end.

    Byte 0 is the `least` weight, which is 0 if none is negative, and 255 the `largest`.
    """

    epoch: int | None
    least: float
    largest: float
    maps: Sequence[ByteMap]


class KeptAttention(Struct, frozen=True):
    """The maps of an attention as it grew."""

    layers: int
    heads: int
    frames: Sequence[Moment]


class ShownRun(Struct, frozen=True):
    """The attentions of a run by name."""

    label: Phrase
    attentions: Mapping[str, KeptAttention]


class AttentionPanel(Struct, frozen=True):
    """Maps of several runs of one seed, on scales that end at `ends`; some are `rooted`.

    Those that are `signed` go as far below 0. `kinds` are the `names` in words.
    """

    seed: int
    omitted: int
    names: Sequence[str]
    kinds: Sequence[Phrase]
    ends: Mapping[str, float]
    rooted: Sequence[str]
    signed: Sequence[str]
    axes: Sequence[MapSide]
    configurations: Sequence[ShownRun]


class Rerun(Struct, frozen=True):
    """A configuration with its settings, and the command that runs it again."""

    label: Phrase
    seeds: Sequence[int]
    command: str | None
    choices: Mapping[str, str]
    settings: Sequence[tuple[str, str]]
    code: Sequence[str]
    notes: Sequence[str]


class Leaf(Struct, frozen=True, omit_defaults=True):
    """A parameter or a constant with the bytes of float16, or int32, in base64; or an input."""

    name: str
    shape: Sequence[int]
    kind: str
    data: str | None = None


class SiteNode(Struct, frozen=True):
    """A node with scores or weights that can be replaced, `of` a part of the model."""

    of: str
    part: str
    layer: int
    node: int


class PageProgram(Struct, frozen=True):
    """A program: its numbers, and its operations in an order in which they can be computed.

    `operations` are the names that occur, and a node has the index of its operation, its arguments,
    its shape and its kind. The argument `{"r": i}` is the value of node i; the first nodes are
    leaves. `outputs` are nodes by name, and `numbers` the parameters that a slider can set.
    """

    leaves: Sequence[Leaf]
    operations: Sequence[str]
    nodes: Sequence[Sequence[Any]]
    outputs: Mapping[str, int]
    sites: Sequence[SiteNode]
    numbers: Sequence[str]


class Scale(Struct, frozen=True):
    """The name of a number, and the mean and deviation by which a page standardises it."""

    name: str
    mean: float = 0.0
    deviation: float = 1.0


class Units(Struct, frozen=True):
    """The scales of the two sides of a curve."""

    x: Scale
    y: Scale


class CurvePrograms(Struct, frozen=True):
    """The curve, and each point as it is predicted by the others."""

    fit: PageProgram
    left_out: PageProgram


class CurveModel(Struct, frozen=True, tag_field="kind", tag="curve"):
    """A model of training points, which can be dragged, in `slots` with some to spare."""

    label: Phrase
    seed: int
    programs: CurvePrograms
    x: Sequence[float]
    y: Sequence[float]
    grid: Sequence[float]
    truth: Sequence[float] | None
    units: Units
    slots: int
    main: str


class ForwardProgram(Struct, frozen=True):
    """The forward pass on a source and an answer so far."""

    forward: PageProgram


class SpecialIds(Struct, frozen=True):
    """The numbers of symbols that are not typed."""

    pad: int
    bos: int
    eos: int
    unknown: int | None


class SideWritings(Struct, frozen=True):
    """The names in writings.js of how texts are written."""

    source: str
    target: str


class SequenceModel(Struct, frozen=True, tag_field="kind", tag="sequences"):
    """A model that answers sources of up to `source` symbols, of which `first` is shown first.

    `signed` says that its weights may be negative, so that no law gives the sum of a row to one.
    """

    label: Phrase
    seed: int
    programs: ForwardProgram
    source: int
    target: int
    source_vocab: Sequence[str]
    target_vocab: Sequence[str]
    typed: Sequence[int]
    ids: SpecialIds
    writings: SideWritings
    first: str
    gold: Sequence[int] | None
    main: str
    signed: bool


class StepsProgram(Struct, frozen=True):
    """Scores, weights and contexts of one attention."""

    steps: PageProgram


class TensorModel(Struct, frozen=True, tag_field="kind", tag="tensors"):
    """One attention, whose given tensors can be edited."""

    label: Phrase
    programs: StepsProgram
    given: Mapping[str, Sequence[float | bool]]


class Refused(Struct, frozen=True, tag_field="kind", tag="refused"):
    """The reason why a page cannot compute a configuration."""

    label: Phrase
    why: str


Model = CurveModel | SequenceModel | TensorModel | Refused


class DataSection(Struct, frozen=True):
    """Pictures and models of one data set, in the section of a result."""

    name: str
    result: int
    charts: Sequence[Chart] = ()
    attention: AttentionPanel | None = None
    configurations: Sequence[Rerun] = ()
    computed: Sequence[Model] = ()


class Live(Struct, frozen=True):
    """How far runs are that have not finished, and their curves so far."""

    text: Phrase
    charts: Sequence[Chart]


class Page(Struct, frozen=True):
    """A page: verdicts, results by table, pictures by data set, tables of all runs, and remarks.

    A `Text` is in both languages. The page begins in its `language` and has a switch;
    without one it is in English alone.

    `notes` have to be read with the verdicts, and `further` are the remarks that change less. The
    `colours` of maps go from weight 0 to the largest, `diverging` ones from the most negative. A
    `live` page loads itself again.
    """

    title: Phrase
    colours: Sequence[str] = ()
    diverging: Sequence[str] = ()
    verdicts: Sequence[Phrase] = ()
    results: Sequence[Result] = ()
    data: Sequence[DataSection] = ()
    every: Sequence[TextTable] = ()
    notes: Sequence[Phrase] = ()
    further: Sequence[Phrase] = ()
    language: str | None = None
    live: Live | None = None
