"""Trials with scores: labels, conditions and speakers, and the predictions they make."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks
from fastpsr.bootstrap import IID, Resampling, TwoWay
from fastpsr.calibration import Quality
from fastpsr.data import KINDS_OF_SCALES, Predictions, Scale
from fastpsr.data.columns import Columns
from fastpsr.data.groupings import Grouping, combined, rows_of_each
from fastpsr.errors import ArgumentError
from fastpsr.ids import SPEAKER_COLUMNS
from fastpsr.trials.by_id import Files, Metadata, treated
from fastpsr.trials.coded import Coded, Column, as_column, pick
from fastpsr.trials.labels import KIND, VOCABULARIES, WITH_SPOOF
from fastpsr.trials.speakers import SpeakerFinder, Speakers, taken_as_conditions

#: The column of predictions that says which trials are spoofed, of lists that have such trials.
SPOOF = "spoof"


@dataclass(frozen=True)
class Source:
    """How the scores came: what is needed to write others in the same layout.

    Attributes
    ----------
    format : str
        Name of the format.
    names : mapping of str to str
        Names of columns by role, where the file names them.
    vocabulary : str or None
        The words for the labels, if the file of the scores had any.
    columns : tuple of str
        Names of all its columns that the trials have, from left to right; or their roles.
    """

    format: str
    names: Mapping[str, str]
    vocabulary: str | None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class TrialSet:
    r"""N trials with scores, in the order of the key.

    Attributes
    ----------
    enroll_ids, test_ids : Coded or None
        Ids as codes; :attr:`enroll` and :attr:`test` give the strings.
    y_true : ndarray of uint8, shape (N,), or None
        1 for target, 0 for non-target; None for scores without a key.
    score : ndarray of float64, shape (N,)
        Scores, never nan.
    columns : dict of Coded or ndarray
        All other columns of the files, by name; :meth:`column` gives the values.
    notes : tuple of str
        Messages on the files, the interpretation of their columns, and what was left out.
    source : Source
        The layout of the score file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fastpsr import trials
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     key, scores = pathlib.Path(folder, "key"), pathlib.Path(folder, "scores")
    ...     _ = key.write_text("ann a target\nann b nontarget\nbob b target\n")
    ...     _ = scores.write_text("bob b 1.5\nann a 2.5\nann b -3\n")
    ...     found = trials.read(key, scores)
    >>> found.score.tolist(), found.enroll.tolist()
    ([2.5, -3.0, 1.5], ['ann', 'ann', 'bob'])
    >>> found.predictions(scores_are="llr", prior=0.5)
    <Predictions: 3 samples, 2 classes, likelihoods>
    """

    enroll_ids: Coded | None
    test_ids: Coded | None
    y_true: NDArray[np.uint8] | None
    score: NDArray[np.float64]
    columns: dict[str, Column]
    notes: tuple[str, ...]
    source: Source
    _speakers: tuple[Coded, Coded] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return int(self.score.size)

    def __repr__(self) -> str:
        targets = "no labels" if self.y_true is None else f"{int(self.y_true.sum()):,} targets"
        return f"<TrialSet: {len(self):,} trials, {targets}, {len(self.columns)} more columns>"

    @property
    def enroll(self) -> NDArray[np.object_]:
        """Ids of the models, shape (N,); made of the codes at each call."""
        return self.ids[0].strings()

    @property
    def test(self) -> NDArray[np.object_]:
        """Ids of the test segments, shape (N,); made of the codes at each call."""
        return self.ids[1].strings()

    @property
    def speakers(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Speakers of the enrollment and of the test side, as numbers, each of shape (N,)."""
        enroll, test = self._known_speakers()
        return enroll.codes.astype(np.int64), test.codes.astype(np.int64)

    @property
    def has_speakers(self) -> bool:
        """Whether the speakers are known."""
        return self._speakers is not None

    @property
    def speaker_names(self) -> list[str]:
        """Names of the speakers: `speakers` are places in this list."""
        names: list[str] = self._known_speakers()[0].names.to_list()
        return names

    @property
    def is_spoof(self) -> NDArray[np.bool_] | None:
        """Which trials are spoofed, shape (N,); None if the list marks none."""
        kinds = self.columns.get(KIND)
        if not isinstance(kinds, Coded):
            return None
        words = [word.lower() for word in kinds.names.to_list()]
        if not set(words) <= set(VOCABULARIES[WITH_SPOOF]):
            return None
        is_spoof = np.array([word == SPOOF for word in words], bool)[kinds.codes]
        return is_spoof if is_spoof.any() else None

    def column(self, name: str) -> NDArray[Any]:
        """Return the values of a column, shape (N,): strings as objects, numbers as they are."""
        column = self._column(name)
        return column.strings() if isinstance(column, Coded) else column

    def predictions(
        self,
        scores_are: Scale = "llr",
        *,
        prior: float | None = None,
        weights: ArrayLike | None = None,
    ) -> Predictions:
        """Make predictions from the scores.

        Parameters
        ----------
        scores_are : {"llr", "log10-llr", "posteriors", "raw", "cosine"}
            Natural-log likelihood ratios, log10 ones, posteriors of target, or scores that only
            rank trials; cosine similarities are such.
        prior : float, optional
            P(target); by default the weighted frequency of targets.
        weights : array-like of float, shape (N,), optional
            Weights of the trials, such as :meth:`equalized_weights`.

        Returns
        -------
        Predictions
            Their ``columns`` are ``enroll`` and ``test``, the others of the files,
            ``enroll_speaker`` and ``test_speaker`` where the speakers are known, and ``spoof``,
            whether a trial is spoofed, where some are.

        Raises
        ------
        ValueError
            For invalid scores, such as posteriors outside [0, 1], or a prior for raw scores.

        Examples
        --------
        >>> made = TrialSet(None, None, np.array([1, 0], np.uint8), np.array([2.0, -1.0]), {}, (),
        ...     Source("npz", {}, None))
        >>> made.predictions("log10-llr", prior=0.01).llrs.round(4).tolist()
        [4.6052, -2.3026]
        """
        checks.check_choice("scores_are", scores_are, tuple(KINDS_OF_SCALES))
        priors, kind = None, KINDS_OF_SCALES[scores_are]
        if prior is not None:
            if kind == "raw scores":
                raise ArgumentError("prior", "means nothing to raw scores, which only rank trials")
            checks.check_number("prior", prior, 0.0, 1.0, "lie in 0 to 1")
            priors = [1.0 - prior, prior]
        try:
            data = Predictions.of(
                kind, self.y_true, self.score, priors=priors, sample_weight=weights
            )
        except ArgumentError as error:
            if error.argument != "scores" or error.index is None:
                raise
            trial = self.trial_at(error.index)
            rule = f"{error.rule}, but that of {trial} is {error.value} (taken as {scores_are})"
            raise ArgumentError("scores", rule, error.index, name="score") from None
        columns: dict[str, Any] = {}
        if self.enroll_ids is not None and self.test_ids is not None:
            columns |= {"enroll": self.enroll_ids, "test": self.test_ids}
        columns |= self.columns
        columns |= dict(zip(SPEAKER_COLUMNS, self._speakers or (), strict=False))
        is_spoof = self.is_spoof
        if is_spoof is not None:
            columns[SPOOF] = is_spoof
        return data.with_columns(Columns(columns))

    def select(self, index: Any) -> "TrialSet":
        """Return the trials selected by a boolean mask, a slice or an array of row numbers.

        Examples
        --------
        >>> made = TrialSet(None, None, np.array([1, 0], np.uint8), np.array([2.0, -1.0]), {}, (),
        ...     Source("npz", {}, None))
        >>> made.select(made.y_true == 1).score.tolist()
        [2.0]
        """
        score = pick(self.score, index)
        if score.ndim != 1 or score.size == 0:
            raise ArgumentError("index", "must pick at least one trial")
        speakers = self._speakers
        return replace(
            self,
            enroll_ids=pick(self.enroll_ids, index),
            test_ids=pick(self.test_ids, index),
            y_true=pick(self.y_true, index),
            score=score,
            columns={name: pick(column, index) for name, column in self.columns.items()},
            _speakers=speakers and (speakers[0].pick(index), speakers[1].pick(index)),
        )

    def split(self, column: str) -> dict[str, "TrialSet"]:
        """Return the trials of each value of a column, values in ascending order.

        Examples
        --------
        >>> made = TrialSet(
        ...     None, None, np.array([1, 0, 1], np.uint8), np.array([2.0, -1.0, 0.5]),
        ...     {"snr": np.array([10, 20, 10])}, (), Source("npz", {}, None))
        >>> {snr: part.score.tolist() for snr, part in made.split("snr").items()}
        {'10': [2.0, 0.5], '20': [-1.0]}
        """
        grouping = self._grouping(column)
        rows = rows_of_each(grouping.places, len(grouping.values))
        return {
            str(value): self.select(of_value)
            for value, of_value in zip(grouping.values, rows, strict=True)
        }

    def with_speakers(self, speakers: Speakers | SpeakerFinder) -> "TrialSet":
        r"""Return the same trials with the speaker of each side.

        Speakers are one population: the same name on both sides is the same speaker.

        Parameters
        ----------
        speakers : path, mapping of str to str, pair of str, or str
            Speaker by id, for ids of both sides: a mapping, or a file with lines ``id speaker``.
            Or the columns with the speaker of the enrollment side and of the test side: a pair of
            names, or ``"columns:ENROLL,TEST"``. Or ``"pattern:REGEX"``, a regular expression that
            is searched in every id; its first group, or else the whole match, is the speaker.
            VoxCeleb: ``"pattern:^[^/]+"``.

        Raises
        ------
        ValueError
            If an id has no speaker; with a count and examples.

        Warns
        -----
        RuntimeWarning
            If 2 % of the target trials or more are of two speakers: then the names found are not of
            speakers. If a speaker is in all trials, which cannot be resampled by speaker then.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from fastpsr import trials
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "scores")
        ...     _ = path.write_text("s1/a s1/b 2.5 target\ns2/a s3/b -3 nontarget\n")
        ...     found = trials.read(path).with_speakers("pattern:^[^/]+")
        >>> [side.tolist() for side in found.speakers], found.speaker_names
        ([[0, 1], [0, 2]], ['s1', 's2', 's3'])
        """
        finder = SpeakerFinder.of(speakers)
        if finder is None:
            raise ArgumentError("speakers", "must be given")
        finder.check_columns([*self.columns])
        has_ids = self.enroll_ids is not None and self.test_ids is not None
        ids = self.ids if has_ids or finder.columns is None else ()
        sides = finder.find(ids, self.columns, None if self.y_true is None else self.y_true == 1)
        finder.check()
        untrue = taken_as_conditions(self.columns)
        notes = [line for line in self.notes if line not in untrue]
        return replace(self, _speakers=sides, notes=(*notes, finder.note))

    def with_metadata(self, metadata: Metadata | Files) -> "TrialSet":
        r"""Return the same trials with columns of the recordings of each side.

        Parameters
        ----------
        metadata : path, list of path, or dict of name to path or mapping
            Files of lines ``id value`` with the ids of both sides, or such mappings. By default a
            name is that of the file up to a point.

        Returns
        -------
        TrialSet
            With the columns ``enroll_NAME`` and ``test_NAME``: numbers where all values are.

        Raises
        ------
        ValueError
            If an id has no value, or two, or a column of this name exists.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from fastpsr import trials
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "scores")
        ...     _ = path.write_text("ann a 2.5 target\nann b -3 nontarget\n")
        ...     found = trials.read(path)
        >>> seconds = {"ann": 30, "a": 4, "b": 9}
        >>> found.with_metadata({"seconds": seconds}).column("test_seconds").tolist()
        [4, 9]
        """
        read = metadata if isinstance(metadata, Metadata) else Metadata(metadata)
        read.check_names(self.columns)
        columns = {name: as_column(series) for name, series in read.columns_of(self.ids).items()}
        return replace(self, columns=self.columns | columns)

    def quality(
        self,
        values: str | os.PathLike[str] | Mapping[str, object] | tuple[str, str],
        *,
        cap: float | None = None,
        log: bool = False,
    ) -> Quality:
        r"""Return a quality measure of both recordings of each trial, for a fusion.

        Parameters
        ----------
        values : path, mapping of str to float, or pair of str
            Finite value by id, for ids of both sides: a mapping, or a file with lines ``id value``.
            Or the columns with the value of the enrollment side and of the test side.
        cap : float, optional
            Larger values count as this: durations above 20 s, say.
        log : bool
            Whether to take natural logarithms, after `cap`.

        Returns
        -------
        Quality

        Raises
        ------
        ValueError
            If an id has no value, or two, or one that is no finite number; with examples.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from fastpsr import trials
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "scores")
        ...     _ = path.write_text("ann a 2.5 target\nann b -3 nontarget\n")
        ...     found = trials.read(path)
        >>> seconds = found.quality({"ann": 30.0, "a": 4.0, "b": 9.0}, cap=20.0)
        >>> seconds.enroll.tolist(), seconds.test.tolist()
        ([20.0, 20.0], [4.0, 9.0])
        """
        if isinstance(values, tuple | list):
            if len(values) != 2:
                raise ArgumentError("values", f"must be two names of columns, not {values!r}")
            sides: list[Any] = [(self._column(n), f"in column {n}") for n in values]
        else:
            columns = Metadata({"": values}, "values").columns_of(self.ids).values()
            sides = [*zip(map(as_column, columns), self.ids, strict=True)]
        enroll, test = (treated(column, source, cap, log) for column, source in sides)
        return Quality(enroll, test)

    def equalized_weights(self, columns: str | Sequence[str]) -> NDArray[np.float64]:
        """Return weights that give all partitions equal weight, as NIST's scoring tools do.

        Partitions are the combinations of values of `columns` that occur. In each class, each
        partition has the same total weight, and the mean weight is 1: a trial of class c and
        partition p weighs N_c / (P n_cp), with P partitions of n_cp of the N_c trials of the class.

        Parameters
        ----------
        columns : str or sequence of str
            Names of condition columns.

        Returns
        -------
        ndarray of float64, shape (N,)

        Raises
        ------
        ValueError
            If a partition lacks targets or non-targets; names it.

        Examples
        --------
        >>> made = TrialSet(
        ...     None, None, np.array([1, 1, 1, 0, 0], np.uint8), np.zeros(5),
        ...     {"sex": np.array([0, 0, 1, 0, 1])}, (), Source("npz", {}, None))
        >>> made.equalized_weights("sex").tolist()
        [0.75, 0.75, 1.5, 1.0, 1.0]
        """
        names = [columns] if isinstance(columns, str) else list(columns)
        if self.y_true is None:
            raise ValueError("equalized weights need labels")
        if not names:
            raise ArgumentError("columns", "must name at least one column")
        partitions, places = combined([self._grouping(name) for name in names])
        counts = np.bincount(places * 2 + self.y_true, minlength=2 * len(partitions))
        counts = counts.reshape(-1, 2)
        lacking = [
            ", ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
            + f" has no {'targets' if n_targets == 0 else 'non-targets'}"
            for values, (n_nontargets, n_targets) in zip(partitions, counts.tolist(), strict=True)
            if not (n_nontargets and n_targets)
        ]
        if lacking:
            more = f", and {len(lacking) - 3:,} more" if len(lacking) > 3 else ""
            rule = "must make partitions that have both classes, but "
            raise ArgumentError("columns", f"{rule}{'; '.join(lacking[:3])}{more}")
        per_trial = counts.sum(axis=0) / (len(partitions) * counts)
        return np.asarray(per_trial[places, self.y_true])

    def trial_at(self, row: int) -> str:
        """Return the ids of a trial, or its number where there are none."""
        if self.enroll_ids is None or self.test_ids is None:
            return f"trial {row}"
        return f"{self.enroll_ids[row]!r} {self.test_ids[row]!r}"

    @property
    def ids(self) -> tuple[Coded, Coded]:
        """Ids of models and segments as codes, or an error where there are none."""
        if self.enroll_ids is None or self.test_ids is None:
            raise ValueError(f"these trials have no ids: {self.source.format} holds none")
        return self.enroll_ids, self.test_ids

    def check_columns(self, argument: str, columns: Iterable[str | Sequence[str]]) -> None:
        """Raise unless there are columns of the names that an argument gives, some as tuples."""
        for column in columns:
            for name in [column] if isinstance(column, str) else column:
                if name not in self.columns:
                    known = ", ".join(self.columns) or "they have none"
                    rule = f"must name a column of the files ({known}), not {name!r}"
                    raise ArgumentError(argument, rule)

    def _column(self, name: str) -> Column:
        self.check_columns("column", [name])
        return self.columns[name]

    def _grouping(self, name: str) -> Grouping:
        column = self._column(name)
        return Grouping.of(column.coded_ids() if isinstance(column, Coded) else column)

    def _known_speakers(self) -> tuple[Coded, Coded]:
        if self._speakers is None:
            raise ValueError("speakers are not known: say where they are by with_speakers(...)")
        return self._speakers


def units_of(trials: TrialSet, resampling: Resampling | None) -> Resampling:
    """Return the units that are drawn of trials, by default their speakers if known."""
    if resampling is not None:
        return resampling
    return TwoWay(*SPEAKER_COLUMNS) if trials.has_speakers else IID()


def predictions_of(
    trials: TrialSet,
    name: object,
    scores_are: Scale,
    *,
    prior: float | None = None,
    weights: NDArray[np.float64] | None = None,
) -> Predictions:
    """Return the predictions of trials; an error names the system."""
    try:
        return trials.predictions(scores_are, prior=prior, weights=weights)
    except ArgumentError as error:
        what = error.name or error.argument
        raise error.renamed(what if name is None else f"{name}: {what}") from None
