"""Trial lists of the systems of a fusion: read, checked to be of the same trials, and written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fastpsr import trials
from fastpsr.calibration import Quality
from fastpsr.cli.options.files import to_stdout
from fastpsr.cli.options.fusion import Measure
from fastpsr.cli.show import console, print_line
from fastpsr.cli.trial_files import TrialReader, check_ending
from fastpsr.data import Predictions, Scale
from fastpsr.trials import TrialSet
from fastpsr.trials.common import common_trials, lacking_trial
from fastpsr.trials.evaluate import predictions_of, trial_of


@dataclass(frozen=True, eq=False)
class Systems:
    """The same trials as several systems score them.

    Attributes
    ----------
    first : TrialSet
        The trials of the first system.
    given : dict of str to Predictions or Quality
        What is fused.
    format : str
        In which fused scores are written.
    by : list of str, or None
        Columns of conditions, if there are any.
    """

    first: TrialSet
    given: Mapping[str, Predictions | Quality]
    format: str
    by: list[str] | None

    @property
    def conditions(self) -> dict[str, Any]:
        """The argument of conditions, where there are any."""
        return {} if self.by is None else {"by": self.by}

    def write(self, path: Path, fused: Predictions, how: str = "") -> None:
        """Write fused scores, and print so."""
        with to_stdout(path) as target:
            trials.write_scores(target, self.first, fused.llrs, format=self.format)
        console.print(f"{path}: {len(fused):,} trials with fused LLRs (natural logarithms){how}")


def read_systems(
    reader: TrialReader,
    paths: Mapping[Path, str],
    scales: Mapping[str, Scale],
    measures: Mapping[str, Measure],
    output: Path | None = None,
    conditions: Sequence[str] = (),
    *,
    labeled: bool,
) -> Systems:
    """Read the files of systems by name, and quality measures and conditions of their trials.

    Raises
    ------
    ValueError
        For trials that a system lacks, unless these are dropped; for infinite scores and unlike
        labels, of which the message names a trial; for an output of another format.
    """
    sets: dict[str, TrialSet] = {}
    for path, name in paths.items():
        sets[name] = reader.read(path) if labeled else reader.read_unlabeled(path)
        print_line(f"{path}: scores of {name}, taken as {scales[name]}")
    format = reader.options.of_scores.format or next(iter(sets.values())).source.format
    if output is not None:
        check_ending("--output", output, format)
    if len(sets) > 1:
        sets = _common(sets, drop="missing" in reader.allowed.words)
    first = next(iter(sets.values()))
    given: dict[str, Predictions | Quality] = {}
    for name, made in sets.items():
        _check(name, made, first)
        given[name] = predictions_of(made, name, scales[name])
    for name, measure in measures.items():
        if name in given:
            raise ValueError(f"--quality must have a name that no system has, not {name}")
        given[name] = measure.of(first)
    first.check_columns("by", conditions)
    return Systems(first, given, format, [*conditions] or None)


def _common(sets: dict[str, TrialSet], *, drop: bool) -> dict[str, TrialSet]:
    """Return the trials that all systems have, in the order of the first."""
    common, left_out = common_trials(sets)
    if left_out:
        if not drop:
            lacking = lacking_trial(sets)
            raise ValueError(f"{lacking}: pass --allow missing to fuse the trials that all have")
        print_line(left_out)
    return common


def _check(name: str, made: TrialSet, first: TrialSet) -> None:
    """Raise if scores are infinite, or labels unlike those of the first system."""
    infinite = np.flatnonzero(np.isinf(made.score))
    if infinite.size:
        row = int(infinite[0])
        raise ValueError(
            f"{name}: scores that are fused must be finite, but that of {trial_of(made, row)} is "
            f"{made.score[row]}"
        )
    if made.y_true is None or first.y_true is None:
        return
    differ = np.flatnonzero(made.y_true != first.y_true)
    if differ.size:
        trial = trial_of(made, int(differ[0]))
        raise ValueError(f"{name}: must have the labels of the first system, but {trial} differs")
