"""Files of scores with labels: .npz, .npy, .csv and .parquet."""

import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.files import whole_file
from fastpsr.predictions import Predictions

__all__ = ["ScoreFile", "read_scores", "write_columns"]

_LABELS = ("y_true", "label", "labels", "target", "targets")
_WEIGHTS = ("sample_weight", "weight", "weights")


@dataclass(frozen=True, eq=False)
class ScoreFile:
    """What a file holds, and what its parts were taken for."""

    scores: NDArray[Any]
    y_true: NDArray[Any] | None
    weights: NDArray[Any] | None
    taken: str

    def predictions(self, scores_are: str, priors: list[float] | None) -> Predictions:
        """Make predictions of scores that are posteriors, logits, LLRs, ..."""
        y, x = self.y_true, self.scores
        options: dict[str, Any] = {"sample_weight": self.weights}
        if scores_are == "llr":
            prior = None if priors is None else _prior_of_target(priors)
            return Predictions.from_llrs(y, _one_column(x), prior=prior, **options)
        if scores_are == "raw":
            if priors is not None:
                raise ValueError("--priors mean nothing to raw scores, which only rank samples")
            return Predictions.from_raw_scores(y, _one_column(x), **options)
        make = {
            "posteriors": Predictions.from_posteriors,
            "log-posteriors": Predictions.from_log_posteriors,
            "logits": Predictions.from_logits,
            "log-likelihoods": Predictions.from_log_likelihoods,
        }[scores_are]
        if scores_are in ("posteriors", "logits") and x.ndim == 2 and x.shape[1] == 1:
            x = x[:, 0]
        return make(y, x, priors=priors, **options)


def read_scores(
    path: Path, labels: str | None, scores: str | None, weights: str | None
) -> ScoreFile:
    """Read a file by its ending.

    `labels`, `scores` and `weights` name columns or arrays (scores: several, with commas between);
    for .npy files `labels` and `weights` are files of their own.
    """
    if path.suffix == ".npy":
        return _read_npy(path, labels, scores, weights)
    if path.suffix == ".npz":
        names, load = _open_npz(path)
    elif path.suffix in (".csv", ".parquet", ".pq"):
        names, load = _open_table(path)
    else:
        raise ValueError(f"{path} must end in .npz, .npy, .csv or .parquet")
    label = _find(path, names, labels, _LABELS)
    weight = _find(path, names, weights, _WEIGHTS)
    if scores is not None:
        chosen = [_known(path, names, name) for name in scores.split(",")]
    else:
        chosen = [name for name in names if name not in (label, weight)]
        if path.suffix == ".npz" and len(chosen) > 1:
            raise ValueError(f"--scores must name one of the arrays of {path}: {', '.join(chosen)}")
    if not chosen:
        raise ValueError(f"{path} must have a column of scores besides {', '.join(names)}")
    x = load(chosen[0]) if len(chosen) == 1 else np.column_stack([load(c) for c in chosen])
    taken = f"scores: {', '.join(chosen)}; labels: {label or 'none'}; weights: {weight or 'none'}"
    return ScoreFile(x, load(label) if label else None, load(weight) if weight else None, taken)


def write_columns(path: Path, columns: dict[str, NDArray[Any]]) -> None:
    """Write arrays of one length to .npz, .csv or .parquet, whole or not at all."""
    if path.suffix not in (".npz", ".csv", ".parquet"):
        raise ValueError(f"{path} must end in .npz, .csv or .parquet to be written")
    if not path.parent.is_dir():
        raise ValueError(f"{path} must lie in a folder that exists")
    with whole_file(path) as part:
        if path.suffix == ".npz":
            np.savez(part, **columns)  # type: ignore[arg-type]
            return
        import polars

        flat: dict[str, NDArray[Any]] = {}
        for name, values in columns.items():
            if values.ndim == 1:
                flat[name] = values
            else:
                flat.update({f"{name}_{k}": values[:, k] for k in range(values.shape[1])})
        frame = polars.DataFrame(flat)
        frame.write_csv(part) if path.suffix == ".csv" else frame.write_parquet(part)


def _read_npy(path: Path, labels: str | None, scores: str | None, weights: str | None) -> ScoreFile:
    if scores is not None:
        raise ValueError(f"--scores names columns, and {path} has none")
    taken = f"scores: {path}; labels: {labels or 'none'}; weights: {weights or 'none'}"
    return ScoreFile(
        _load(path),
        _load(Path(labels)) if labels else None,
        _load(Path(weights)) if weights else None,
        taken,
    )


def _load(path: Path) -> NDArray[Any]:
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} must be a whole .npy file: {error}") from None
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{path} must be a .npy file, not an archive")
    return array


def _open_npz(path: Path) -> tuple[list[str], Callable[[str], NDArray[Any]]]:
    """Return the names of the arrays, and what reads one of them."""

    def attempt(read: Callable[[Any], Any]) -> Any:
        try:
            with np.load(path, allow_pickle=False) as archive:
                return read(archive)
        except (ValueError, EOFError, zipfile.BadZipFile, zlib.error, AttributeError) as error:
            raise ValueError(f"{path} must be a whole .npz file: {error}") from None

    return attempt(lambda archive: archive.files), lambda name: attempt(lambda a: a[name])


def _open_table(path: Path) -> tuple[list[str], Callable[[str], NDArray[Any]]]:
    """Return the names of the columns, and what reads one of them."""
    import polars

    def attempt(read: Callable[[Any], Any]) -> Any:
        try:
            scan = polars.scan_csv if path.suffix == ".csv" else polars.scan_parquet
            return read(scan(path))
        except polars.exceptions.PolarsError as error:
            kind = "CSV" if path.suffix == ".csv" else "Parquet"
            raise ValueError(f"{path} must be a whole {kind} file: {error}") from None

    names = attempt(lambda frame: frame.collect_schema().names())
    return names, lambda name: attempt(lambda f: f.select(name).collect()[name].to_numpy())


def _find(path: Path, names: list[str], asked: str | None, usual: tuple[str, ...]) -> str | None:
    if asked is not None:
        return _known(path, names, asked)
    return next((name for name in usual if name in names), None)


def _known(path: Path, names: list[str], name: str) -> str:
    if name.strip() not in names:
        raise ValueError(f"{path} has no column {name.strip()!r}; it has {', '.join(names)}")
    return name.strip()


def _one_column(x: NDArray[Any]) -> NDArray[Any]:
    return x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x


def _prior_of_target(priors: list[float]) -> float:
    if len(priors) != 2 or abs(sum(priors) - 1.0) > 1e-6:
        raise ValueError(f"--priors must be two numbers that sum to 1 for LLRs, not {priors}")
    return priors[1]
