"""Labels for target and non-target in files."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fastpsr.trials.coded import Coded
from fastpsr.trials.names import header_hint
from fastpsr.trials.text import Where

if TYPE_CHECKING:
    from polars import Series

__all__ = ["VOCABULARIES", "LabelWords", "decode_labels", "vocabularies_of"]

#: The word for target, then those for non-targets, of each vocabulary by its name.
VOCABULARIES: dict[str, tuple[str, ...]] = {
    "/".join(words): words
    for words in [
        ("target", "nontarget"),
        ("tgt", "imp"),
        ("tar", "non"),
        ("1", "0"),
        ("1", "-1"),
        ("true", "false"),
        ("1.0", "0.0"),  # as pandas writes labels of which some were missing
        ("1.0", "-1.0"),
        ("target", "nontarget", "spoof"),
    ]
}

_FIRST = 1000
_MOST_WORDS = 100  # a label may be in upper and lower case


def vocabularies_of(words: Iterable[str]) -> list[str]:
    """Return the vocabularies that hold all words; upper and lower case are the same.

    Examples
    --------
    >>> vocabularies_of(["Tgt", "imp"]), vocabularies_of(["1"]), vocabularies_of(["x"])
    (['tgt/imp'], ['1/0', '1/-1'], [])
    """
    lowered = {word.lower() for word in words}
    return [name for name, known in VOCABULARIES.items() if lowered <= set(known)]


def decode_labels(labels: Coded, where: Where) -> tuple[NDArray[np.uint8], str | None]:
    """Return 1 for target and 0 for non-target, and the vocabulary; errors name file and line."""
    series = labels.series()
    words = series.head(_FIRST).unique()  # most often all there are, which takes less time to check
    rows_of = {word: series == word for word in words[:_MOST_WORDS]}
    if sum(rows.sum() for rows in rows_of.values()) < len(series):
        words = series.unique()
        rows_of = {word: series == word for word in words[:_MOST_WORDS]}
    fitting = vocabularies_of(words) if len(words) <= _MOST_WORDS else []
    if not fitting:
        raise ValueError(_what_is_wrong(labels, where))
    target = VOCABULARIES[fitting[0]][0]
    is_target = np.zeros(len(labels), bool)
    for word, rows in rows_of.items():
        if word.lower() == target:
            is_target |= rows.to_numpy()
    return is_target.view(np.uint8), fitting[0]


class LabelWords:
    """The words that the labels of a file are, as far as it was read."""

    def __init__(self) -> None:
        self._seen: list[str] = []

    @property
    def vocabulary(self) -> str:
        """Name of the vocabulary that holds them, the first if several do."""
        return vocabularies_of(self._seen)[0]

    def decode(self, labels: "Series", where: Where) -> "Series":
        """Return whether each of some more labels is target; errors name file and line."""
        words = labels.unique().to_list()
        lowered = {word.lower() for word in words}
        if not lowered <= set(self._seen):
            self._meet(labels, where)
        target = VOCABULARIES[self.vocabulary][0]
        return labels.is_in([word for word in words if word.lower() == target])

    def _meet(self, labels: "Series", where: Where) -> None:
        """Add words in the order of the file, or raise at the first that does not fit."""
        for word in labels.unique(maintain_order=True).to_list():
            lowered = word.lower()
            if lowered in self._seen:
                continue
            if not vocabularies_of([*self._seen, lowered]):
                place = where([int((labels == word).arg_max() or 0)])[0]
                fits = bool(vocabularies_of([lowered]))
                raise ValueError(_mixed(place, word, self._seen) if fits else _unknown(place, word))
            self._seen.append(lowered)


def _unknown(place: str, word: str) -> str:
    rule = ", ".join(VOCABULARIES)
    return f"{place}: a label must be one of {rule}, not {word!r}{header_hint(word)}"


def _mixed(place: str, word: str, before: Iterable[str]) -> str:
    return (
        f"{place}: labels must be of one kind, but {word!r} follows "
        f"{' and '.join(map(repr, before))}"
    )


def _what_is_wrong(labels: Coded, where: Where) -> str:
    known = {word for words in VOCABULARIES.values() for word in words}
    in_use = labels.names.str.to_lowercase().is_in(list(known)).to_numpy()
    unknown = ~in_use[labels.codes]
    if unknown.any():
        row = int(unknown.argmax())
        return _unknown(where([row])[0], labels[row])
    before = ""
    for code in labels.codes[np.sort(np.unique(labels.codes, return_index=True)[1])]:
        word = str(labels.names[int(code)])
        if before and not vocabularies_of([*before.split(), word]):
            row = int((labels.codes == code).argmax())
            return _mixed(where([row])[0], word, before.split())
        before = f"{before} {word}"
    return f"{where([0])[0]}: there is no label"
