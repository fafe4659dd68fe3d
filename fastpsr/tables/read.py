"""`fastpsr.read_table`."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.data import KINDS, ScoreKind
from fastpsr.errors import ArgumentError, counted, warn
from fastpsr.options import with_hints
from fastpsr.tables.opening import open_table


@with_hints
def read_table(
    path: str | os.PathLike[str],
    *,
    labels: str | None = None,
    columns: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = None,
    weights: str | None = None,
    kind: ScoreKind = "posteriors",
    priors: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    normalize: bool = False,
    floor: float = 0.0,
    in_parts: bool | None = None,
    sep: Literal[",", ";", "\t"] | None = None,
    nan: Literal["error", "drop"] = "error",
) -> Any:
    r"""Return the predictions of a table of scores with labels, which is a file or several.

    Parameters
    ----------
    path : str or path
        A file that ends in .npz, .npy, .csv, .tsv (these also with .gz), .parquet or .pq; a folder
        of Parquet files; or a pattern of these, such as ``trials/*.parquet``.
    labels : str, optional
        Column (of .npz, array) of the classes, 0 to K-1 or labels in `classes`. By default the
        first found of ``y_true``, ``label``, ``labels``, ``target`` and ``targets``. With .npy,
        another file.
    columns : str, sequence of str, or dict of name to these, optional
        Columns of the scores, N rows: one in a binary task, or K in the order of the classes. By
        default all others; of LLRs and raw scores in Parquet files the column ``llr``, if it
        exists; of .npz the only other array, (N,) or (N, K). Not with .npy, which is the scores. A
        dict names several systems, whose labels and weights are read once.
    weights : str, optional
        Column of sample weights: finite, none negative. By default the first found of
        ``sample_weight``, ``weight`` and ``weights``, if any. With .npy, another file.
    kind : str
        What the scores are, as for :meth:`Predictions.of`. It is never guessed from the values.
    priors : array-like of float, shape (K,), optional
        Class priors of the evaluation; by default the class frequencies.
    classes : array-like, shape (K,), optional
        Labels in the order of the columns; in binary tasks [negative, positive].
    normalize, floor : optional
        For posteriors and log-posteriors: see :meth:`Predictions.from_posteriors`.
    in_parts : bool, optional
        Whether Parquet files are read part by part, again for each evaluation and each batch of
        replicates. By default folders and patterns are, and files whose numbers, at 32 bytes each,
        take more than ``FASTPSR_MEMORY``: by default 1 GB, or a quarter of what the machine has if
        that is less.
    sep : {",", ";", "\\t"}, optional
        Separator of the columns of text. By default it is detected: all lines have the same number
        of columns, and some columns hold numbers.
    nan : {"error", "drop"}
        What to do with rows whose label, weight or score of some system is nan or empty. With
        "drop" a warning has their number; tables that are read part by part are refused.

    Returns
    -------
    Predictions or PartitionedPredictions
        In parts if the files are read part by part. With a dict of columns, a dict of these. Its
        `columns` are all others of the table.

    Raises
    ------
    ArgumentError
        If the file is damaged, empty or of another format, a column is missing or is text, there
        are no labels, a column of scores is that of labels or weights, or :meth:`Predictions.of`
        refuses the values; with the file and the column.
    FileNotFoundError
        If there is no such file.

    Notes
    -----
    The columns ``enroll_speaker`` and ``test_speaker`` of a table that has both, and its columns
    ``enroll`` and ``test``, are not taken for scores. The commands ``fastpsr evaluate``,
    ``calibrate``, ``select`` and ``compare`` read tables with this function's defaults.

    Text is UTF-8, or UTF-16 with a byte order mark. Where columns are apart by semicolons or tabs,
    numbers may have decimal commas. Lines with ``#`` are comments, unless they have as many columns
    as others. Blanks after separators are none of the cells if all in the header have one.

    Columns of CSV files are text as it is written (plain integers stay integers): 007 is not 7.
    They are read when they are used, and must not be empty then.

    Examples
    --------
    >>> import pathlib, tempfile, fastpsr as fp
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "scores.csv").write_text("label,dog,cat\n0,0.75,0.25\n1,0.5,0.5\n")
    >>> data = fp.read_table(folder / "scores.csv", columns=["dog", "cat"])
    >>> data
    <Predictions: 2 samples, 2 classes, posteriors>
    >>> data.posteriors[:, 1].tolist()
    [0.25, 0.5]

    Other columns of the table have names:

    >>> _ = (folder / "s.csv").write_text("label,q,site\n0,0.1,a\n1,0.8,a\n0,0.3,b\n1,0.6,b\n")
    >>> data = fp.read_table(folder / "s.csv", columns="q")
    >>> data.columns
    <columns: site>
    >>> [row.value for row in fp.evaluate(data, [fp.EER()], by="site").rows]
    [0.0, 0.0, 0.0]

    Two systems in columns of one table:

    >>> systems = fp.read_table(folder / "scores.csv", columns={"a": "dog", "b": "cat"})
    >>> print(fp.evaluate(systems, [fp.BrierScore()], differences="first"))
    difference: a - b
    metric          a       b  difference
    positives       1       1
    negatives       1       1
    NBS        1.6250  0.6250      1.0000
    """
    checks.check_choice("kind", kind, tuple(KINDS))
    checks.check_choice("nan", nan, ("error", "drop"))
    by_name = columns if isinstance(columns, Mapping) else {"": columns}
    if not by_name:
        raise ArgumentError("columns", "must name a system or more, and is empty")
    kinds = dict.fromkeys(by_name, kind)
    source = open_table(Path(path), sep)
    tables = source.choose(kinds, by_name, labels, weights, {}, in_parts=in_parts, nan=nan)
    n_left_out = next(iter(tables.values())).source.n_left_out
    if n_left_out:
        warn(f"{path}: left out {counted(n_left_out, 'row', 'with nan')}")
    found = {}
    for name, table in tables.items():
        table.require_labels()
        found[name] = table.predictions(priors, classes, normalize=normalize, floor=floor)
    return found if by_name is columns else found[""]
