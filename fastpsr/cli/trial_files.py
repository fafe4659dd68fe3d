"""Keys and score files of trials; how their columns were interpreted is printed."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import trials
from fastpsr.cli.options import SpeakerOptions, TrialOptions, TrialScale
from fastpsr.cli.show import tell
from fastpsr.cli.wording import in_options, note_in_options, worded
from fastpsr.errors import ArgumentError
from fastpsr.predictions import Predictions
from fastpsr.trials import Reading, TrialSet
from fastpsr.trials.coded import Coded
from fastpsr.trials.formats import endings_of, may_end_in
from fastpsr.trials.reading import collect, read_file
from fastpsr.trials.request import CLASSES, Label, Request, Wanted
from fastpsr.trials.several import open_as_one
from fastpsr.trials.speakers import AS_SPEAKERS, taken_as_conditions

__all__ = [
    "Clock",
    "FileOptions",
    "TrialReader",
    "check_column",
    "check_ending",
    "predictions_of",
]

_POLICIES = ("missing", "extra", "duplicates", "nan")


@dataclass(frozen=True)
class FileOptions:
    """Format and columns of a file, if these cannot be detected."""

    format: str | None = None
    columns: Mapping[str, str] | None = None
    transpose: bool | None = None

    @classmethod
    def parse(
        cls, option: str, format: str | None, columns: str | None, transpose: bool | None
    ) -> "FileOptions":
        """Parse values of the command line; `option` is the name of the option for columns."""
        if columns is None:
            return cls(format, None, transpose)
        pairs = [pair.partition("=") for pair in columns.split(",")]
        chosen = {role.strip(): name.strip() for role, _, name in pairs}
        if len(chosen) < len(pairs) or not all(role and name for role, name in chosen.items()):
            raise ValueError(
                f"{option} must be ROLE=NAME for trials, with commas between, not {columns!r}"
            )
        return cls(format, chosen, transpose)


@dataclass(eq=False)
class Clock:
    """Seconds spent on reading, joining and metrics."""

    spent: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        """Add the time of a block."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.spent[what] = self.spent.get(what, 0.0) + time.perf_counter() - begun

    def __str__(self) -> str:
        return ", ".join(f"{what} {seconds:.1f} s" for what, seconds in self.spent.items())


def _no_progress(step: str, done: int | None = None, out_of: int | None = None) -> None:
    pass


@dataclass(eq=False)
class TrialReader:
    """Reads score files and joins them with the key, or uses the labels that they contain."""

    keys: Sequence[Path] = ()
    key_options: FileOptions = FileOptions()
    score_options: FileOptions = FileOptions()
    policies: Mapping[str, str] = field(default_factory=dict)
    speakers: SpeakerOptions = field(default_factory=SpeakerOptions)
    classes: tuple[Path, Path] | None = None  # files of targets and of non-targets
    has_scores: bool = True  # else the classes are the scores
    clock: Clock = field(default_factory=Clock)
    progress: Callable[..., object] = _no_progress
    _of_speakers: set[str] = field(default_factory=set)  # lines that hold for several systems

    @classmethod
    def of(
        cls,
        keys: Path | Sequence[Path] | None,
        options: TrialOptions,
        columns: str | None,
        speakers: SpeakerOptions | None = None,
        *,
        classes: tuple[Path, Path] | None = None,
        has_scores: bool = True,
    ) -> "TrialReader":
        """Return the reader for the options of the command line.

        `classes` are files of targets and of non-targets: a key, or without other scores these.
        """
        return cls(
            [keys] if isinstance(keys, Path) else keys or [],
            FileOptions.parse(
                "--key-columns", options.key_format, options.key_columns, options.key_transpose
            ),
            FileOptions.parse("--columns", options.format, columns, options.transpose),
            {name: getattr(options, name).value for name in _POLICIES},
            SpeakerOptions() if speakers is None else speakers,
            classes,
            has_scores,
        )

    def read(self, path: Path) -> TrialSet:
        """Read the scores of a system, with labels; add speakers."""
        key = self._key
        if key is None:
            made, n_printed = self._read_alone(path, labeled=True), 0
        else:
            self.progress(f"reading {path}")
            with self.clock.on("read"):
                scores = self._read_file(path, "scores", self.score_options, known=key.ids)
            tell(scores.notes)  # printed before the join, since it may explain an error
            self.progress(f"joining {path}")
            with self.clock.on("join"):
                made, n_printed = trials.read(key, scores, **self._policies), 2
        before = {*made.notes} - {*taken_as_conditions(made.columns, AS_SPEAKERS)}
        self._print([line for line in made.notes[n_printed:] if line in before])
        with self.clock.on("join"):
            made = _with_speakers(made, self.speakers)
        of_speakers = [line for line in made.notes if line not in before | self._of_speakers]
        self._print(of_speakers)
        self._of_speakers.update(of_speakers)
        return made

    def common(self, systems: Mapping[Path, TrialSet]) -> dict[Path, TrialSet]:
        """Return the trials of the key with scores of all systems; print how many are left out."""
        numbers = {path: self._numbers(made) for path, made in systems.items()}
        first, *others = numbers.values()
        if all(np.array_equal(first, other) for other in others):
            return dict(systems)
        shared = first
        for other in others:
            shared = np.intersect1d(shared, other, assume_unique=True)
        if not shared.size:
            paths = " and ".join(map(str, systems))
            raise ValueError(f"{paths} have a score for no trial in common")
        left = [f"{own.size - shared.size:,} of {path}" for path, own in numbers.items()]
        tell(f"{shared.size:,} trials have all scores; left out: {', '.join(left)}")
        return {
            path: made.select(np.flatnonzero(np.isin(numbers[path], shared)))
            for path, made in systems.items()
        }

    def _numbers(self, made: TrialSet) -> NDArray[np.int64]:
        """Return a number for each trial that is the same for all systems."""
        assert self._key is not None
        sides = [*made.ids]
        if "side" in self._key.names:
            column = made.columns[self._key.names["side"]]
            assert isinstance(column, Coded)
            sides.append(column)
        numbers = np.zeros(len(made), np.int64)
        for side in sides:
            numbers = numbers * len(side.names) + side.codes
        return numbers

    def read_unlabeled(self, path: Path) -> TrialSet:
        """Read scores without a key."""
        made = self._read_alone(path, labeled=False)
        self._print(made.notes)
        return made

    @cached_property
    def _key(self) -> Reading | None:
        files: list[tuple[Path, Label | None]] = [(path, None) for path in self.keys]
        if self.classes is not None and self.has_scores:
            files = [*zip(self.classes, CLASSES, strict=True), *files]
        if not files:
            return None
        options = self.key_options
        self.progress(f"reading {' and '.join(str(path) for path, _ in files)}")
        with self.clock.on("read"), worded(of_key=True):
            request = Request("key", options.format, options.columns or {})
            turns = [options.transpose] * len(files)
            key = collect(open_as_one(files, request, turns), self.progress)
        self._print(key.notes.splitlines())
        return key

    def _read_file(
        self, path: Path, wanted: Wanted, options: FileOptions, prefix: str = "", **more: Any
    ) -> Reading:
        """Read a file, and show how much of it was read."""
        columns = options.columns or {}
        request = Request(wanted, options.format, columns, options.transpose, prefix=prefix)
        return read_file(path, request, self.progress, **more)

    def _read_alone(self, path: Path, *, labeled: bool) -> TrialSet:
        if self.classes is not None:
            self.progress(f"reading {' and '.join(map(str, self.classes))}")
            with self.clock.on("read"), worded():
                found = trials.read_classes(
                    *self.classes, format=self.score_options.format, progress=self.progress
                )
            policies = {name: self._policies[name] for name in ("duplicates", "nan")}
            made = trials.read(found, **policies)
            return replace(made, notes=(*found.notes.splitlines(), *made.notes[1:]))
        self.progress(f"reading {path}")
        policies = {name: self._policies[name] for name in ("duplicates", "nan")}
        with self.clock.on("read"):
            if not labeled:
                found = self._read_file(path, "scores", self.score_options, "score_")
                return trials.read(None, found, **policies)
            try:
                found = self._read_file(path, "labeled scores", self.score_options, "score_")
                return trials.read(found, **policies)
            except ValueError:
                if not path.is_file():  # a pipe is read once
                    raise
                if self._read_file(path, "scores", self.score_options).y_true is None:
                    raise ValueError(f"{path} has no labels: give a key with --key") from None
                raise

    @staticmethod
    def _print(taken: Sequence[str]) -> None:
        for line in taken:
            tell(note_in_options(line))

    @property
    def _policies(self) -> dict[str, Any]:
        return {name: self.policies.get(name, "error") for name in _POLICIES}


def _with_speakers(made: TrialSet, options: SpeakerOptions) -> TrialSet:
    """Return trials with their speakers, if a source of speakers was given."""
    if options.speakers is not None:
        return made.with_speakers(options.speakers)
    if options.pair is not None:
        for name in options.pair:
            check_column(made, "--speaker-columns", name)
        return made.with_speakers(column=options.pair)
    if options.speaker_pattern is not None:
        return made.with_speakers(pattern=options.speaker_pattern)
    return made


def check_column(made: TrialSet, option: str, name: str) -> str:
    """Return the name of a column given by an option; raise if there is no such column."""
    if name not in made.columns:
        known = ", ".join(made.columns) or "they have none"
        raise ValueError(f"{option} must name a column of the files ({known}), not {name!r}")
    return name


def check_ending(option: str, path: Path, format: str) -> None:
    """Raise if the extension of an output file implies another format."""
    if not may_end_in(format, path):
        ending, usual = Path(path.name.removesuffix(".gz")).suffix, endings_of(format)
        raise ValueError(
            f"{option} must not end in {ending}, as {path} does: scores of trials are written in "
            f"the format that they were read in, {format}: end it in {' or '.join(usual)}"
        )


def predictions_of(
    made: TrialSet,
    path: Path,
    scale: TrialScale,
    *,
    prior: float | None = None,
    weights: ArrayLike | None = None,
) -> Predictions:
    """Make predictions of trials; an error names the file of the scores."""
    try:
        return made.predictions(scale, prior=prior, weights=weights)
    except ArgumentError as error:
        if error.argument != "scores":
            raise ValueError(f"{path}: {in_options(error)} (taken as {scale})") from None
        row, said = error.index, error.renamed("score").problem
        if row is not None and made.enroll_ids is not None and made.test_ids is not None:
            trial = f"{made.enroll_ids[row]!r} {made.test_ids[row]!r}"
            said = f"score {error.rule}, but that of {trial} is {error.value}"
        raise ValueError(f"{path}: {said} (taken as {scale})") from None
