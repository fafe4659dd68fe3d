"""Words for target and non-target, and which of them a file uses."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from fastpsr.trials.coded import Coded
from fastpsr.trials.layouts import header_hint
from fastpsr.trials.text import Where

__all__ = ["VOCABULARIES", "decode_labels", "vocabularies_of"]

#: The words for (target, non-target) of each vocabulary, by its name.
VOCABULARIES: dict[str, tuple[str, str]] = {
    f"{target}/{nontarget}": (target, nontarget)
    for target, nontarget in [
        ("target", "nontarget"),
        ("tgt", "imp"),
        ("tar", "non"),
        ("1", "0"),
        ("1", "-1"),
        ("true", "false"),
    ]
}


def vocabularies_of(words: Iterable[str]) -> list[str]:
    """Return the vocabularies that hold all words; upper and lower case are the same.

    Examples
    --------
    >>> vocabularies_of(["Target", "nontarget"]), vocabularies_of(["1"]), vocabularies_of(["x"])
    (['target/nontarget'], ['1/0', '1/-1'], [])
    """
    lowered = {word.lower() for word in words}
    return [name for name, pair in VOCABULARIES.items() if lowered <= set(pair)]


def decode_labels(labels: Coded, where: Where) -> tuple[NDArray[np.uint8], str | None]:
    """Return 1 for target and 0 for non-target, and the vocabulary; errors name file and line."""
    words = labels.names
    used = np.bincount(labels.codes, minlength=len(words)) > 0
    seen = [str(word) for word in words.filter(used.tolist())] if used.sum() <= 3 else []
    fitting = vocabularies_of(seen) if seen else []
    if not fitting:
        raise ValueError(_what_is_wrong(labels, where))
    target = VOCABULARIES[fitting[0]][0]
    is_target = np.array([str(word).lower() == target for word in words], np.uint8)
    return is_target[labels.codes], fitting[0]


def _what_is_wrong(labels: Coded, where: Where) -> str:
    known = {word for pair in VOCABULARIES.values() for word in pair}
    in_use = labels.names.str.to_lowercase().is_in(list(known)).to_numpy()
    unknown = ~in_use[labels.codes]
    if unknown.any():
        row = int(unknown.argmax())
        rule = ", ".join(VOCABULARIES)
        word = labels[row]
        return f"{where([row])[0]}: a label must be one of {rule}, not {word!r}{header_hint(word)}"
    before = ""
    for code in labels.codes[np.sort(np.unique(labels.codes, return_index=True)[1])]:
        word = str(labels.names[int(code)])
        if before and not vocabularies_of([*before.split(), word]):
            row = int((labels.codes == code).argmax())
            return (
                f"{where([row])[0]}: labels must be of one kind, but {word!r} follows "
                f"{' and '.join(map(repr, before.split()))}"
            )
        before = f"{before} {word}"
    return f"{where([0])[0]}: there is no label"
