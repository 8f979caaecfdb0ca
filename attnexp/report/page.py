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
    """A picture of a metric, whose `better` values are the lower or the higher ones.

    `log` says that the axis is logarithmic, `omitted` is the number of rows that only the table
    has.
    """

    metric: str
    better: str | None
    log: bool
    omitted: int
    rows: Sequence[DotRow]


class Result(Struct, frozen=True):
    """A section with the picture and the table of a result.

    `compared` says, at the top of the page, what is compared. `verdicts` are on the slide of the
    picture.
    """

    name: Phrase
    compared: Phrase
    dots: Dots | None
    table: TextTable | None
    costs: TextTable | None = None
    verdicts: Sequence[Phrase] = ()


class Series(Struct, frozen=True, omit_defaults=True):
    """A line of a chart with its band.

    `place` chooses the colour; a line without a place is a known one, such as the truth. `low` and
    `high` are the ends of the band.
    """

    label: Phrase
    place: int | None
    x: Numbers
    mean: Numbers
    seeds: int = 0
    low: Numbers | None = None
    high: Numbers | None = None


class Chart(Struct, frozen=True, omit_defaults=True):
    """Lines, and the points that they were fitted to, on axes named `x` and `y`."""

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
    """The weights of all heads for one example as bytes in base64.

    `rows` and `columns` are indices of the panel's `axes`, `gold` has the gold column of each row.
    """

    rows: int
    columns: int
    gold: Sequence[int] | None
    weights: str


class Moment(Struct, frozen=True):
    """The maps of test examples after an epoch, or at the end if `epoch` is None.

    Byte 0 stands for the `least` weight, which is 0 if none is negative, and 255 for the `largest`.
    """

    epoch: int | None
    least: float
    largest: float
    maps: Sequence[ByteMap]


class KeptAttention(Struct, frozen=True):
    """The maps of an attention of a run, in `frames` from early to late."""

    layers: int
    heads: int
    frames: Sequence[Moment]


class ShownRun(Struct, frozen=True):
    """The attentions of a run by name."""

    label: Phrase
    attentions: Mapping[str, KeptAttention]


class AttentionPanel(Struct, frozen=True):
    """Maps of several runs of one seed.

    - `names` are the attentions that can be chosen, `kinds` the same in words.
    - `ends` holds the end of the colour scale of each attention.
    - `rooted` are the attentions whose colours show square roots.
    - `signed` are those with negative weights: their scale goes as far below 0 as above.
    - `axes` are the sides of all maps, and `omitted` counts the configurations without maps.
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
    notes: Sequence[Phrase]


class Leaf(Struct, frozen=True, omit_defaults=True):
    """A leaf of a program: a parameter or a constant, or an input if `data` is None.

    `data` are the bytes of its numbers in float16, or in int32 for whole numbers, in base64.
    """

    name: str
    shape: Sequence[int]
    kind: str
    data: str | None = None


class SiteNode(Struct, frozen=True):
    """A node of a program whose value a page can replace.

    `of` says whether the node has `scores` or `weights`. `part` and `layer` name the attention, and
    `node` is the index of the node.
    """

    of: str
    part: str
    layer: int
    node: int


class PageProgram(Struct, frozen=True):
    """A program: its numbers, and its operations in an order in which they can be computed.

    The values are numbered: first those of the `leaves`, then those of the `nodes`. A node is a
    list of an index of `operations`, arguments, a shape and a kind, and, if there are any, named
    arguments. The argument `{"r": i}` is value i. `outputs` has the index of each output by name.
    `numbers` are the parameters that a slider can set.
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
    """The programs of a curve, and of each point as the other points predict it."""

    fit: PageProgram
    left_out: PageProgram


class CurveModel(Struct, frozen=True, tag_field="kind", tag="curve"):
    """A model of training points that can be dragged, and of points that can be added.

    The points are at `x` and `y`. There may be up to `slots` of them. The curve is drawn over
    `grid`, and so is the `truth` if it is known. `main` is the name of the attention.
    """

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
    """The ids of symbols that nobody types; `unknown` is None if the data have no such symbol."""

    pad: int
    bos: int
    eos: int
    unknown: int | None


class SideWritings(Struct, frozen=True):
    """How the texts of each side are split into symbols: names in writings.js."""

    source: str
    target: str


class SequenceModel(Struct, frozen=True, tag_field="kind", tag="sequences"):
    """A model that answers sources.

    - `source` and `target` are the most symbols of a source and of an answer.
    - `typed` are the ids of the source's symbols that a reader may type.
    - `first` is the source that is shown first, and `gold` has the gold keys of its answer.
    - `main` is the attention that is shown.
    - `signed` says that weights may be negative: such a page offers no law that divides their sum.
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
    """The program of the scores, weights and contexts of one attention."""

    steps: PageProgram


class TensorModel(Struct, frozen=True, tag_field="kind", tag="tensors"):
    """One attention, whose tensors can be edited; `given` has their numbers at first, by name."""

    label: Phrase
    programs: StepsProgram
    given: Mapping[str, Sequence[float | bool]]


class Refused(Struct, frozen=True, tag_field="kind", tag="refused"):
    """Stands for a configuration that a page cannot compute, with the reason."""

    label: Phrase
    why: str


Model = CurveModel | SequenceModel | TensorModel | Refused


class DataSection(Struct, frozen=True):
    """The pictures and models of one data set, in the section of the result with index `result`."""

    name: str
    result: int
    charts: Sequence[Chart] = ()
    attention: AttentionPanel | None = None
    configurations: Sequence[Rerun] = ()
    computed: Sequence[Model] = ()


class Live(Struct, frozen=True):
    """The progress of runs that have not finished, in words, and charts of their epochs so far."""

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
