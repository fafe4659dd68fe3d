"""Every layout of trial keys and score files that is known, as data."""

from dataclasses import dataclass, replace

from fastpsr.errors import ArgumentError

__all__ = [
    "ALIASES",
    "FORMATS",
    "NORM_COLUMNS",
    "TEXT_LAYOUTS",
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
)

#: Layouts whose columns, arrays or matrices have names.
_NAMED_LAYOUTS = tuple(
    Layout(name) for name in ("nist", "csv", "parquet", "npz", "bosaris", "sidekit")
)

FORMATS = tuple(dict.fromkeys(layout.name for layout in (*TEXT_LAYOUTS, *_NAMED_LAYOUTS)))

#: Usual names of columns, by role; compared without regard to case.
ALIASES = {
    "enroll": ("modelid", "model", "model_id", "enroll", "enrollment", "enroll_id", "enroll_path"),
    "test": ("segmentid", "segment", "segment_id", "test", "test_id", "test_path"),
    "label": ("targettype", "label", "target", "key", "y_true"),
    "score": ("llr", "score"),
    "side": ("side",),
}


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
    found = [layout for layout in (*TEXT_LAYOUTS, *_NAMED_LAYOUTS) if layout.name == name]
    return next((layout for layout in found if len(layout.roles) == n_columns), found[0])
