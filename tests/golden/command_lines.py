"""What the recorded command lines print, return and write.

Texts are compared word by word, numbers in them to one unit of their last digit. Of commands that
draw replicates the words are held and not the numbers, as streams of random numbers may change.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars

from tests.commands import fastpsr
from tests.golden import FOLDER, comparison
from tests.golden.cases import PARAMETERS, described
from tests.golden.files import write_files

LINES = FOLDER / "commands.txt"
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
DRAWS = re.compile("^compare |^fuse |--ci ")
CLOCK = re.compile(r"\b\d+\.\d s\b|\b\d+ s\b")


def sessions() -> list[list[str]]:
    """Return the command lines of each folder."""
    text = LINES.read_text("utf-8")
    groups = [block.splitlines() for block in text.split("\n\n")]
    held = [[line for line in lines if line and not line.startswith("#")] for lines in groups]
    return [lines for lines in held if lines]


def outcomes(lines: list[str]) -> dict[str, Any]:
    """Run the commands of a session in the working directory."""
    write_files()
    known = set(Path().rglob("*"))
    results = {}
    for line in lines:
        outcome = fastpsr(*shlex.split(line), columns=120)
        new = sorted(path for path in set(Path().rglob("*")) - known if path.is_file())
        files = {path.as_posix(): _content(path) for path in new}
        if outcome.code == 0 and DRAWS.search(line):
            results[line] = {"status": 0, "words": _words(outcome.out), "files": sorted(files)}
        else:
            results[line] = {
                "status": outcome.code,
                "out": CLOCK.sub("_ s", outcome.out).splitlines(),
                "err": CLOCK.sub("_ s", outcome.err).splitlines(),
                "files": files,
            }
        known |= set(Path().rglob("*"))
    return results


def _words(text: str) -> list[str]:
    """Return the words of a text without numbers and rules of tables, sorted, each once."""
    return sorted({word for word in text.split() if not re.search(r"[\d]|^\W*$|nan|inf", word)})


def _content(path: Path) -> Any:
    if path.suffix == ".npz":
        with np.load(path) as archive:
            return {name: described(archive[name]) for name in archive.files}
    if path.suffix == ".parquet":
        frame = polars.read_parquet(path)
        return {name: described(frame[name].to_numpy()) for name in frame.columns}
    text = path.read_text("utf-8")
    if path.suffix == ".html":
        return re.findall(r"<h[12][^>]*>(.*?)</h[12]>", text)
    lines = text.splitlines()
    return lines if len(lines) <= 60 else [*lines[:5], f"{len(lines)} lines", *lines[-2:]]


def differences(expected: Any, actual: Any, place: str = "") -> Iterator[str]:
    """Compare outcomes: texts by words, numbers in them to a unit of their last digit."""
    if isinstance(expected, str) and isinstance(actual, str):
        if not _alike(expected, actual):
            yield f"{place}: {actual!r}, not {expected!r}"
    else:
        yield from comparison.inside(differences, PARAMETERS, expected, actual, place)


def _alike(expected: str, actual: str) -> bool:
    expected, actual = (CLOCK.sub("_ s", text) for text in (expected, actual))
    pairs = NUMBER.findall(expected), NUMBER.findall(actual)
    if len(pairs[0]) != len(pairs[1]):
        return False
    if NUMBER.sub("#", expected).split() != NUMBER.sub("#", actual).split():
        return False
    return all(_near(one, other) for one, other in zip(*pairs, strict=True))


def _near(expected: str, actual: str) -> bool:
    if expected == actual:
        return True
    a, b = (float(text.replace(",", "")) for text in (expected, actual))
    mantissa = expected.partition("e")[0]
    decimals = len(mantissa.partition(".")[2])
    unit = 10.0**-decimals if decimals else 0.0  # whole numbers are counts
    return abs(a - b) <= max(
        1.01 * unit if decimals <= 6 else 0.0, 1e-6 * abs(a) if decimals else 0.0
    )
