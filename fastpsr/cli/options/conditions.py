"""Conditions and differences: which samples are evaluated apart, and what is compared."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import fastpsr as fp
from fastpsr.cli.options.declaration import option, words_among

if TYPE_CHECKING:
    from fastpsr.evaluation import GroupPairs, Pairs

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
#: A column and its bins; names may contain colons.
_BINNED = re.compile(rf"(.+?):(each|{_NUMBER}(?::{_NUMBER})*)", re.DOTALL)
_SYSTEM_PAIRS: "dict[str, Pairs]" = {"first": "first", "pairs": "all", "unpaired": "unpaired"}
_GROUP_PAIRS: "dict[str, GroupPairs]" = {"pooled": "pooled", "conditions": "all"}


@dataclass(frozen=True)
class Conditions:
    """Conditions as arguments of the library."""

    by: list[str | tuple[str, ...]] | None
    bins: dict[str, Any] | None

    @classmethod
    def parse(cls, texts: Sequence[str] | None) -> "Conditions":
        """Return the conditions of --by."""
        by: list[str | tuple[str, ...]] = []
        bins: dict[str, Any] = {}
        for text in texts or []:
            names = []
            for part in text.split(","):
                name, binning = _with_bins(part)
                names.append(name)
                if binning is not None and bins.setdefault(name, binning) != binning:
                    raise ValueError(f"--by must give the bins of {name} once")
            by.append(tuple(names) if len(names) > 1 else names[0])
        return cls(by or None, bins or None)

    @property
    def columns(self) -> list[str]:
        """The columns, each once."""
        names = [[each] if isinstance(each, str) else each for each in self.by or ()]
        return [*dict.fromkeys(name for some in names for name in some)]


def _with_bins(text: str) -> tuple[str, Any]:
    """Return a column and its bins: how many, their edges, "each", or None."""
    matched = _BINNED.fullmatch(text)
    if matched is None:
        return text, None
    name, bins = matched.groups()
    if bins == "each":
        return name, bins
    return name, int(bins) if bins.isdecimal() else [float(part) for part in bins.split(":")]


@dataclass(frozen=True)
class ByOptions:
    """Conditions."""

    by: Conditions = option(
        "Column whose values are conditions; of several columns each combination. Numbers in N "
        "bins of equal size, in bins with these edges, or each alone. May be repeated.",
        metavar="COLUMN[:N|:EDGE:EDGE...|:each],...",
        type=list[str] | None,
        parse=Conditions.parse,
        arguments={"bins": "--by {column}:{}"},
    )


@dataclass(frozen=True)
class CalibratorByOptions(ByOptions):
    """Conditions that have a calibrator each, and how many samples each needs."""

    min_per_class: int | None = option(
        "Samples of each class that a condition of --by needs for a calibrator of its own; by "
        "default 100.",
        min=1,
        metavar="N",
    )

    def __post_init__(self) -> None:
        if self.min_per_class is not None and self.by.by is None:
            raise ValueError("--min-per-class is for conditions: give --by too")

    def of(self, calibrator: Any) -> Any:
        """Return a calibrator by condition, if there are any."""
        if self.by.by is None:
            return calibrator
        more = {} if self.min_per_class is None else {"min_per_class": self.min_per_class}
        return fp.ByCondition(calibrator, bins=self.by.bins, **more)


@dataclass(frozen=True)
class Differences:
    """Which systems and which conditions are compared, as arguments of the library."""

    pairs: "Pairs | None"
    group_pairs: "GroupPairs | None"

    @classmethod
    def parse(cls, text: str | None) -> "Differences":
        """Return the differences of --differences."""
        words = words_among("--differences", text, (*_SYSTEM_PAIRS, *_GROUP_PAIRS))
        for alternatives in (_SYSTEM_PAIRS, _GROUP_PAIRS):
            if len({*alternatives} & {*words}) > 1:
                raise ValueError(
                    f"--differences must have one of {' and '.join(alternatives)}, not several"
                )
        if "unpaired" in words and len(words) > 1:
            raise ValueError(
                "--differences unpaired is between systems alone: leave out "
                f"{', '.join(word for word in words if word != 'unpaired')}, which needs a run of "
                "its own for each system"
            )
        pairs = next((_SYSTEM_PAIRS[word] for word in words if word in _SYSTEM_PAIRS), None)
        return cls(pairs, next((_GROUP_PAIRS[w] for w in words if w in _GROUP_PAIRS), None))
