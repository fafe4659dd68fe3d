"""Write scores in the layouts that they are read from."""

import os
from pathlib import Path

from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.errors import ArgumentError
from fastpsr.files import whole_file
from fastpsr.trials.formats import FORMATS, REGISTRY
from fastpsr.trials.trial_set import TrialSet


def write_scores(
    path: str | os.PathLike[str],
    trials: TrialSet,
    llrs: ArrayLike | None = None,
    *,
    format: str | None = None,
) -> None:
    r"""Write scores of trials; after an error no file is created.

    Parameters
    ----------
    path : path
        The file to write; text is compressed if the name ends in .gz.
    trials : TrialSet
        Ids, and labels for formats that hold them, in this order.
    llrs : array-like of float, shape (N,), optional
        Natural-log likelihood ratios, or other scores; by default the trials' own.
    format : str, optional
        Name of the format; by default that of the file that the scores came from.

    Raises
    ------
    ValueError
        If the format needs what the trials lack, holds no scores, or cannot hold an id.

    Notes
    -----
    Numbers are written with enough digits to restore the same float64. In the format of the score
    file, the output has its columns in its order: labels only if it had labels, whatever the key
    says. In other formats NIST's TSV has ids, side and score; CSV, Parquet and npz also labels.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fastpsr import trials
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path, calibrated = pathlib.Path(folder, "a"), pathlib.Path(folder, "b")
    ...     _ = path.write_text("ann a 2 tgt\nbob b -3 imp\n")
    ...     trials.write_scores(calibrated, trials.read(path), [0.5, -0.25])
    ...     print(calibrated.read_text(), end="")
    ann a 0.5 tgt
    bob b -0.25 imp
    """
    name = trials.source.format if format is None else format
    checks.check_choice("format", name, FORMATS)
    target = Path(path)
    scores = trials.score if llrs is None else checks.as_floats("llrs", llrs, 1)
    checks.check_length("llrs", scores.size, len(trials))
    found = [f for f in REGISTRY if f.name == name]
    writer = next((f for f in found if f.holds_scores), found[0])
    if not writer.holds_scores:
        raise ArgumentError("format", f"{name} holds no scores: {' '.join(writer.roles)}")
    if target.suffix == ".gz" and writer.kind != "text":
        raise ValueError(f"only text is compressed by gzip, not {name}: {target}")
    if not target.parent.is_dir():
        raise ValueError(f"{target} must lie in a folder that exists")
    with whole_file(target) as part:
        writer.write(part, trials, scores)
