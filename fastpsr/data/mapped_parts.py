"""Data in parts: where parts come from, how they are mapped, and what is known of the whole."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr.data.facts import Facts, label_checksum
from fastpsr.data.labeled import Floats, Kind, LabeledData
from fastpsr.data.part import Part
from fastpsr.data.predictions import Predictions
from fastpsr.data.sources import Source, naming
from fastpsr.errors import ArgumentError


class Transform(ABC):
    """A map of the predictions of a part: plain data, which can be sent to another process."""

    #: Names of columns of ids that it reads.
    reads: frozenset[str] = frozenset()
    #: Whether rows and their weights stay, so that the facts of the whole do.
    keeps_rows: bool = True
    #: What comes out, where it differs from what goes in.
    kind: Kind | None = None
    n_classes: int | None = None
    #: Whether rows stay and have the weights of a replicate.
    is_replicate: bool = False
    #: Whether posteriors of likelihoods stay, though frequencies change.
    keeps_posteriors: bool = True
    #: Whether given priors stay those of the data.
    keeps_priors: bool = True
    #: Whether it is a function of the user's, who knows the part only, and whose errors name it.
    is_of_user: bool = False

    @abstractmethod
    def __call__(self, part: Part) -> Predictions:
        """Return the predictions that a part is mapped to."""


class Selection(Transform):
    """The rows of a group, as data of their own."""

    keeps_rows = keeps_posteriors = False

    @abstractmethod
    def rows(self, part: Part) -> NDArray[np.bool_]:
        """Return which rows of a part are in the group, (n,)."""

    def __call__(self, part: Part) -> Predictions:
        return part.predictions[self.rows(part)].alone()


class MappedParts(LabeledData):
    """The parts of a source, each mapped when it is read."""

    def __init__(
        self,
        source: Source,
        parent: Self | None = None,
        transform: Transform | None = None,
    ) -> None:
        self.source = source
        self._parent, self._transform = parent, transform
        self.n_parts = source.n_parts
        before_it: Any = source if parent is None else parent
        self.n_classes: int = before_it.n_classes
        self.given_priors: Floats | None = before_it.given_priors
        if transform is not None:
            self.n_classes = transform.n_classes or self.n_classes
            self.given_priors = self.given_priors if transform.keeps_priors else None
        before = source.kind if parent is None else parent.kind
        kind = None if transform is None else transform.kind
        self.kind: Kind = before if kind is None else kind
        self._facts: Facts | None = None
        #: Checksums of scores by part, as first seen.
        self._seen: dict[int, int] = {}

    def __len__(self) -> int:
        return int(self.facts.n_rows.sum())

    # What the whole is

    @property
    def facts_or_none(self) -> Facts | None:
        """The table of facts, where it is known already."""
        if self._parent is not None and self._transform is not None and self._transform.keeps_rows:
            return self._parent.facts_or_none
        return self._facts

    @property
    def facts(self) -> Facts:
        """The table of facts."""
        facts = self.facts_or_none
        assert facts is not None, "facts are counted before rows are"
        return facts

    def as_known(self, other: Self) -> Self:
        """Return these data with the facts of others, which have the same labels and weights."""
        self._facts = other.facts_or_none
        return self

    def find_facts(self, facts_of: Callable[[Self], Facts]) -> None:
        """Know the facts, which `facts_of` counts where none of the parents knows them."""
        if self.facts_or_none is None and self._parent is not None:
            self._parent.find_facts(facts_of)
        if self.facts_or_none is None:
            self._facts = facts_of(self)

    @property
    def class_weights(self) -> Floats:
        """Total sample weight of each class, shape (K,)."""
        return self.facts.class_weights

    @property
    def class_sizes(self) -> NDArray[np.int64]:
        """Number of samples of positive weight of each class, shape (K,)."""
        return np.asarray(self.facts.sizes.sum(axis=0))

    @property
    def has_weights(self) -> bool:
        """Whether samples may count differently."""
        return self.facts.has_weights

    @property
    def common_weight(self) -> float | None:
        """Weight of all samples of positive weight; None if these have different weights."""
        return self.facts.common_weight

    @property
    def drawn_from(self) -> Self:
        if self._parent is None or self._transform is None:
            return self
        has_rows = self._transform.keeps_rows or self._transform.is_replicate
        return self._parent.drawn_from if has_rows else self

    def _fix_posterior_priors(self) -> Floats:
        parent, transform = self._parent, self._transform
        if parent is None or transform is None:
            return self.priors
        keeps = transform.keeps_posteriors and parent.kind == self.kind
        return parent._fix_posterior_priors() if keeps else self.priors

    # Parts

    @property
    def columns_read(self) -> frozenset[str]:
        """Names of columns of ids that transforms read."""
        if self._parent is None or self._transform is None:
            return frozenset()
        return self._parent.columns_read | self._transform.reads

    @property
    def root(self) -> Self:
        """The data that its source gives, unmapped."""
        return self if self._parent is None else self._parent.root

    def part(self, raw: Part, mapped_parts: dict[int, Part]) -> Part:
        """Return the part of what the source gave; `mapped_parts` holds what was mapped already."""
        if id(self) not in mapped_parts:
            mapped_parts[id(self)] = self._part(raw, mapped_parts)
        return mapped_parts[id(self)]

    def _part(self, raw: Part, mapped_parts: dict[int, Part]) -> Part:
        number, before = raw.number, None
        if self._parent is None or self._transform is None:
            predictions, columns = raw.predictions, raw.columns
        else:
            before = self._parent.part(raw, mapped_parts)
            columns = before.columns
            if self._transform.is_of_user:
                with naming(self.source, number):
                    predictions = self._transform(before)
            else:
                predictions = self._transform(before)
                if isinstance(self._transform, Selection):
                    columns = before.columns_of(self._transform.rows(before))
        facts = self.facts_or_none
        if facts is None:  # they are being counted
            part = Part(predictions, number, 0, np.zeros(self.n_classes, np.int64), columns)
        else:
            # what users make knows its part only, whose priors may have been looked at
            is_given = self._transform is None or self._transform.is_of_user
            bound = predictions.as_part_of(facts.class_weights, is_given=is_given)
            first_row, ranks = int(facts.first_rows[number]), facts.ranks[number]
            part = Part(bound, number, first_row, ranks, columns)
        if before is None or self._transform is None:
            return part
        changes = self._transform
        return part.made_from(
            before, keeps_rows=changes.keeps_rows, is_replicate=changes.is_replicate
        )

    def check_unchanged(self, raw: Part, with_scores: bool) -> None:
        """Raise where a part is not what it was when it was read before."""
        facts = self._facts
        if facts is None:
            return
        checksum = label_checksum(raw)
        if (
            len(raw.predictions) != facts.n_rows[raw.number]
            or checksum != facts.checksums[raw.number]
        ):
            self._raise_changed(raw.number, "labels or weights")
        if with_scores:
            self.note_scores(raw.number, raw.predictions.score_checksum())

    def note_scores(self, number: int, checksum: int | None) -> None:
        """Raise where the scores of a part have another checksum than when they were first seen."""
        if checksum is not None and self._seen.setdefault(number, checksum) != checksum:
            self._raise_changed(number, "scores")

    def _raise_changed(self, number: int, what: str) -> None:
        raise ArgumentError(
            "data",
            f"must not change between reads, but the {what} of {self.source.name_of(number)} "
            f"are not what they were{self.source.hint_if_changed}",
        )

    def mapped(self, transform: Transform) -> Self:
        """Return the data with each part mapped when it is read."""
        return type(self)(self.source, self, transform)

    def on(self, source: Source) -> Self:
        """Return the data, mapped as they are, with parts that another source gives."""
        if self._parent is None:
            return type(self)(source)
        return type(self)(source, self._parent.on(source), self._transform)
