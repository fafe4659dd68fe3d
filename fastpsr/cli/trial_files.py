"""Keys and score files of trials; how their columns were interpreted is printed."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from fastpsr import trials
from fastpsr.cli.options.sources import AllowOptions, KeyOptions, SpeakerOptions, TrialOptions
from fastpsr.cli.show import print_line
from fastpsr.cli.wording import note_in_options, worded
from fastpsr.files import can_be_read_again
from fastpsr.trials import Reading, TrialSet
from fastpsr.trials.conditions import known_column
from fastpsr.trials.formats import endings_of, may_end_in
from fastpsr.trials.reading import collect, open_as_one, read_file
from fastpsr.trials.roles import CLASSES, Label, Request, Wanted
from fastpsr.trials.speakers import AS_SPEAKERS, taken_as_conditions


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

    keys: KeyOptions
    options: TrialOptions
    allowed: AllowOptions = field(default_factory=AllowOptions)
    speakers: SpeakerOptions = field(default_factory=SpeakerOptions)
    has_scores: bool = True  # else the classes are the scores
    clock: Clock = field(default_factory=Clock)
    progress: Callable[..., object] = _no_progress
    _of_speakers: set[str] = field(default_factory=set)  # lines that hold for several systems

    def read(self, path: Path) -> TrialSet:
        """Read the scores of a system, with labels; add speakers."""
        key = self._key
        if key is None:
            made, n_printed = self._read_alone(path, labeled=True), 0
        else:
            self.progress(f"reading {path}")
            with self.clock.on("read"):
                scores = self._read_file(path, "scores", known=key.ids)
            print_line(scores.notes)  # printed before the join, since it may explain an error
            self.progress(f"joining {path}")
            with self.clock.on("join"):
                in_order = self.options.of_scores.in_order
                made = trials.read(key, scores, in_order=in_order, **self.allowed.policies)
            n_printed = 2
        before = {*made.notes} - {*taken_as_conditions(made.columns, AS_SPEAKERS)}
        self._print([line for line in made.notes[n_printed:] if line in before])
        with self.clock.on("join"):
            made = _with_speakers(made, self.speakers)
        of_speakers = [line for line in made.notes if line not in before | self._of_speakers]
        self._print(of_speakers)
        self._of_speakers.update(of_speakers)
        return made

    def read_unlabeled(self, path: Path) -> TrialSet:
        """Read scores without a key."""
        made = self._read_alone(path, labeled=False)
        self._print(made.notes)
        return made

    @cached_property
    def _key(self) -> Reading | None:
        classes = self.keys.classes if self.has_scores else None
        files: list[tuple[Path, Label | None]] = [(path, None) for path in self.keys.keys]
        if classes is not None:
            files = [*zip(classes, CLASSES, strict=True), *files]
        if not files:
            return None
        self.progress(f"reading {' and '.join(str(path) for path, _ in files)}")
        layout = self.options.of_key
        transpose = "--key-format transpose or no-transpose"
        with self.clock.on("read"), worded(transpose=transpose):
            request = Request("key", layout.format, layout.columns, prefix="key_")
            turns = [layout.transpose] * len(files)
            key = collect(open_as_one(files, request, turns), self.progress)
        self._print(key.notes.splitlines())
        return key

    def _read_file(self, path: Path, wanted: Wanted, **more: Any) -> Reading:
        """Read a file, and show how much of it was read."""
        layout = self.options.of_scores
        request = Request(wanted, layout.format, layout.columns, layout.transpose, prefix="score_")
        return read_file(path, request, self.progress, **more)

    def _read_alone(self, path: Path, *, labeled: bool) -> TrialSet:
        policies = {name: self.allowed.policies[name] for name in ("duplicates", "nan")}
        if self.keys.classes is not None:
            self.progress(f"reading {' and '.join(map(str, self.keys.classes))}")
            with self.clock.on("read"), worded():
                found = trials.read_classes(
                    *self.keys.classes, format=self.options.of_scores.format, progress=self.progress
                )
            made = trials.read(found, **policies)
            return replace(made, notes=(*found.notes.splitlines(), *made.notes[1:]))
        self.progress(f"reading {path}")
        with self.clock.on("read"):
            if not labeled:
                found = self._read_file(path, "scores")
                return trials.read(None, found, **policies)
            try:
                found = self._read_file(path, "labeled scores")
                return trials.read(found, **policies)
            except ValueError as error:
                if not can_be_read_again(path):
                    raise
                try:
                    has_labels = self._read_file(path, "scores").y_true is not None
                except ValueError:  # which asks for ids that labeled scores need not have
                    raise error from None
                if not has_labels:
                    raise ValueError(f"{path} has no labels: give a key with --key") from None
                raise

    @staticmethod
    def _print(taken: Sequence[str]) -> None:
        for line in taken:
            print_line(note_in_options(line))


def _with_speakers(made: TrialSet, options: SpeakerOptions) -> TrialSet:
    """Return trials with their speakers, if a source of speakers was given."""
    if options.file is not None:
        return made.with_speakers(options.file)
    if options.pair is not None:
        for name in options.pair:
            known_column(made, name, "speaker_columns")
        return made.with_speakers(column=options.pair)
    if options.pattern is not None:
        return made.with_speakers(pattern=options.pattern)
    return made


def check_ending(option: str, path: Path, format: str) -> None:
    """Raise if the extension of an output file implies another format."""
    if not may_end_in(format, path):
        ending, usual = Path(path.name.removesuffix(".gz")).suffix, endings_of(format)
        raise ValueError(
            f"{option} must not end in {ending}, as {path} does: scores of trials are written in "
            f"the format that they were read in, {format}: end it in {' or '.join(usual)}"
        )
