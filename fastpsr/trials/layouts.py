"""Every layout of trial keys and score files that is known, as data."""

from dataclasses import dataclass, replace

from fastpsr.errors import ArgumentError

__all__ = [
    "ALIASES",
    "BARE_CSV",
    "FORMATS",
    "KIND",
    "LABEL_OF_NEED",
    "NORM_COLUMNS",
    "PAIRS",
    "TEXT_LAYOUTS",
    "WITH_SPOOF",
    "Layout",
    "check_format",
    "header_hint",
    "layout_of",
]

#: The four columns that wespeaker's score normalization appends.
NORM_COLUMNS = ("norm_1", "norm_2", "norm_3", "norm_4")


@dataclass(frozen=True)
class Layout:
    """How a file is laid out.

    Attributes
    ----------
    name : str
        What ``format=`` calls it.
    roles : tuple of str
        Roles of the columns from left to right, for text without a header line; else empty.
    words : str
        The labels' vocabulary where the format has one of its own, for writing.
    """

    name: str
    roles: tuple[str, ...] = ()
    words: str = "target/nontarget"

    def with_norms(self) -> "Layout":
        """Return the layout with the columns that score normalization appends."""
        return replace(self, roles=(*self.roles, *NORM_COLUMNS))


#: Text without a header line, columns apart by blanks and tabs.
TEXT_LAYOUTS = (
    Layout("kaldi-trials", ("enroll", "test", "label")),
    Layout("sitw", ("enroll", "test", "label"), "tgt/imp"),
    Layout("voxceleb", ("label", "enroll", "test"), "1/0"),
    Layout("kaldi-scores", ("enroll", "test", "score")),
    Layout("voxsrc", ("score", "enroll", "test")),
    Layout("wespeaker", ("enroll", "test", "score", "label")),
    Layout("wespeaker", ("enroll", "test", "score", "label")).with_norms(),
    Layout("3dspeaker", ("enroll", "test", "label", "score"), "1/0"),
    Layout("kaldi-eer", ("score", "label")),
    Layout("bob", ("label", "score"), "1/-1"),
    Layout("sasv", ("enroll", "test", "attack", "label"), "target/nontarget/spoof"),
    Layout("numbers", ("score",)),
)
#: Ids alone, which any words may be: looked for only where a file is known to hold nothing else.
PAIRS = Layout("pairs", ("enroll", "test"))

#: Layouts whose columns, arrays or matrices have names.
_NAMED_LAYOUTS = tuple(
    Layout(name)
    for name in ("nist", "csv", "bare-csv", "parquet", "npz", "bosaris", "sidekit", "dca-plda")
)

_LAYOUTS = (*TEXT_LAYOUTS, PAIRS, *_NAMED_LAYOUTS)

#: Words for labels of which the last is a kind of non-target that has a column of its own.
WITH_SPOOF = "target/nontarget/spoof"
#: The name of that column.
KIND = "kind"
#: Text whose columns have commas between and no names.
BARE_CSV = "bare-csv"

FORMATS = tuple(dict.fromkeys(layout.name for layout in _LAYOUTS))


def _ids_named(*sides: str) -> list[str]:
    return [f"{side}{ending}" for side in sides for ending in ("id", "", "_id")]


#: Usual names of columns, by role; compared without regard to case.
ALIASES = {
    "enroll": (
        *_ids_named("model", "enroll", "enrol", "enrollment", "enrolment"),
        *("enroll_path", "enrol_path", "enrollment_path", "enrolment_path"),
    ),
    "test": (*_ids_named("segment", "test"), "test_path"),
    "label": ("targettype", "label", "target", "key", "y_true"),
    "score": ("llr", "score"),
    "side": ("side",),
}
#: A column that holds the labels of a key where none has a usual name; else it may number trials.
LABEL_OF_NEED = "trial"


def check_format(argument: str, name: str | None) -> None:
    """Raise unless `name` is None or a known format."""
    if name is not None and name not in FORMATS:
        raise ArgumentError(argument, f"must be one of {', '.join(FORMATS)}, not {name!r}")


def header_hint(word: str) -> str:
    """Return a question about a word that names a column usually."""
    usual = {name for names in ALIASES.values() for name in names}
    return " (a header? this format has none)" if word.lower() in usual else ""


def layout_of(name: str, n_columns: int | None = None) -> Layout:
    """Return the layout of a format; wespeaker's depends on the number of columns."""
    found = [layout for layout in _LAYOUTS if layout.name == name]
    return next((layout for layout in found if len(layout.roles) == n_columns), found[0])
