"""Labels for target and non-target in files."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polars import Series

    from fastpsr.trials.roles import Request
    from fastpsr.trials.trial_file import Where

#: Words for labels of which the last is a kind of non-target that has a column of its own.
WITH_SPOOF = "target/nontarget/spoof"
#: The name of that column.
KIND = "kind"

#: The word for target, then those for non-targets, of each vocabulary by its name.
VOCABULARIES: dict[str, tuple[str, ...]] = {
    name: tuple(name.split("/"))
    for name in [
        *("target/nontarget", "tgt/imp", "tar/non", "target/impostor", "target/imposter"),
        *("target/non-target", "target/non_target", "genuine/impostor", "genuine/imposter"),
        *("client/impostor", "same/different", "same/diff", "1/0", "1/-1", "true/false"),
        *("1.0/0.0", "1.0/-1.0"),  # as pandas writes labels of which some were missing
        *(WITH_SPOOF, "bonafide/spoof"),
    ]
}


def vocabularies_of(
    words: Iterable[str], known: Mapping[str, Sequence[str]] = VOCABULARIES
) -> list[str]:
    """Return the known vocabularies that hold all words; upper and lower case are the same.

    Examples
    --------
    >>> vocabularies_of(["Tgt", "imp"]), vocabularies_of(["1"]), vocabularies_of(["x"])
    (['tgt/imp'], ['1/0', '1/-1'], [])
    """
    lowered = {word.lower() for word in words}
    return [name for name, words_of in known.items() if lowered <= {*map(str.lower, words_of)}]


class LabelWords:
    """The words that the labels of a file are, as far as it was read."""

    def __init__(self, request: "Request") -> None:
        self._request, self._known = request, request.vocabularies
        self._seen: list[str] = []  # as they are spelled

    @property
    def vocabulary(self) -> str:
        """Name of the vocabulary that holds them, the first if several do."""
        return vocabularies_of(self._seen, self._known)[0]

    def decode(self, labels: "Series", where: "Where") -> "Series":
        """Return whether each of some more labels is target; errors name file and line.

        A few comparisons take less time than to find distinct words.
        """
        rows = {word: labels == word for word in self._seen}
        if sum(int(of_word.sum()) for of_word in rows.values()) < len(labels):
            self._meet(labels, where)
            rows = {word: labels == word for word in self._seen}
        target = self._known[self.vocabulary][0].lower()
        spellings = (of_word for word, of_word in rows.items() if word.lower() == target)
        return reduce(or_, spellings, labels.is_null())

    def _meet(self, labels: "Series", where: "Where") -> None:
        """Add words in the order of the file, or raise at the first that does not fit."""
        for word in labels.unique(maintain_order=True).to_list():
            if word in self._seen:
                continue
            if not vocabularies_of([*self._seen, word], self._known):
                place = where([int((labels == word).arg_max() or 0)])[0]
                if not vocabularies_of([word], self._known):
                    rule = f"a label must be one of {', '.join(self._known)}, not {word!r}"
                    rule = f"{rule}: replace it in the file, or name its words"
                    raise self._request.unclear(place, rule, "target=WORD,nontarget=WORD")
                before = " and ".join(map(repr, self._seen))
                raise ValueError(
                    f"{place}: labels must be of one kind, but {word!r} follows {before}"
                )
            self._seen.append(word)
