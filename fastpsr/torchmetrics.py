"""Metrics of fastpsr as metrics of torchmetrics.

Needs the extra ``torchmetrics``, and an explicit ``import fastpsr.torchmetrics``.
"""

from __future__ import annotations  # the documentation is built without PyTorch

import math
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks
from fastpsr.compat.inputs import from_tensor
from fastpsr.counts.sums import Sums
from fastpsr.data import Floats, Kind, Part, Predictions, ScoreKind
from fastpsr.data.one_class import class_number
from fastpsr.errors import ArgumentError
from fastpsr.metrics import Metric
from fastpsr.metrics.defaults import named_metric

try:
    import torch
    import torchmetrics
    from torch import Tensor
except ImportError as error:
    message = 'fastpsr.torchmetrics needs torchmetrics: pip install "fastpsr[torchmetrics]"'
    raise ImportError(message) from error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TorchMetric"]

Input = Literal["posteriors", "logits", "llrs", "scores"]

#: Kinds of predictions by input, where they are not posteriors.
_KINDS: dict[Input, Kind] = {"llrs": "likelihoods", "scores": "raw scores"}

#: Arguments of `update` by the arguments of `Predictions.of`.
_NAMES = {"scores": "preds", "y_true": "target"}


class TorchMetric(torchmetrics.Metric):
    """A metric of fastpsr that is updated batch by batch, and synchronized between processes.

    Parameters
    ----------
    metric : Metric, or str
        A metric, or its name in default tables, such as "NCE".
    input : {"posteriors", "logits", "llrs", "scores"}
        The kind of ``preds``. It is never guessed from the values: logits between 0 and 1 remain
        logits. "llrs" are natural logarithms; "scores" only rank.
    num_classes : int
        The number K of classes; 2 for LLRs and scores.
    priors : array-like of float, shape (K,), optional
        Class priors of the evaluation; by default the class frequencies of all samples.
    ignore_index : int, optional
        Samples whose target has this value are left out; their `preds` may have any values.
    **kwargs
        As for ``torchmetrics.Metric``, such as ``sync_on_compute``.

    Attributes
    ----------
    keeps_samples : bool
        Whether the state grows with the samples.

    Raises
    ------
    ValueError
        If the metric is not defined for this input, or holds data of its own for each sample
        (``SemiEmpiricalScore``, a-DCF). From ``update``, for invalid `preds`, `target` or
        `sample_weight`.

    Notes
    -----
    Expected scores, Bayes risks, Cllr, actDCF and the ECE with bins of equal width are computed
    from sums, in a state whose size depends only on the metric and on K. Other metrics keep all
    samples, with 8 (K + 2) bytes per sample (24 for two logits, LLRs and scores):

    - Metrics of ranks (EER, minDCF, minCllr, AUC), metrics that refit a calibrator or use quantile
      bins, and custom metrics without ``sums``.
    - Metrics that convert LLRs to posteriors, or posteriors and logits to LLRs (Cllr, actDCF), if
      `priors` are not given: the conversion needs the class frequencies of all samples. Pass
      `priors` for a state of constant size.

    States are float64, and sums are compensated: the number of batches, their order, and the number
    of processes change a value by less than 1e-12 of it. Samples of weight 0 are ignored. Tensors
    may be on any device: they are copied to the CPU. On devices without float64 (MPS), leave the
    metric itself on the CPU. In a ``MetricCollection``, metrics with the same sums share a state.

    Examples
    --------
    >>> import torch
    >>> import fastpsr as fp
    >>> from fastpsr.torchmetrics import TorchMetric
    >>> metric = TorchMetric(fp.CrossEntropy(), "logits")
    >>> metric.update(torch.tensor([-1.0, 0.3]), torch.tensor([0, 1]))
    >>> metric.update(torch.tensor([0.9, 0.2]), torch.tensor([1, 0]))
    >>> round(metric.compute().item(), 4), metric.keeps_samples
    (0.7238, False)
    """

    is_differentiable = False
    full_state_update = False

    def __init__(
        self,
        metric: Metric[Any] | str,
        input: Input,
        *,
        num_classes: int = 2,
        priors: ArrayLike | None = None,
        ignore_index: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        checks.check_choice("input", input, ("posteriors", "logits", "llrs", "scores"))
        checks.check_integer("num_classes", num_classes, 2)
        if isinstance(metric, str):
            kind = _KINDS.get(input, "posteriors")
            metric = cast("Metric[Any]", named_metric(metric, num_classes, kind, "metric")[1])
        checks.check_instance("metric", metric, Metric, "a metric, such as CrossEntropy()")
        if num_classes > 2 and input in ("llrs", "scores"):
            raise ArgumentError("num_classes", f"must be 2 for {input}, not {num_classes}")
        self.metric, self.input, self.num_classes = metric, input, num_classes
        if ignore_index is not None:
            checks.check_integer("ignore_index", ignore_index, -(2**63))
        self.ignore_index = ignore_index
        self._kind: ScoreKind = "raw scores" if input == "scores" else input
        self.priors = None if priors is None else checks.as_priors("priors", priors, num_classes)
        if self.priors is not None and input == "scores":
            raise ArgumentError("priors", "must not be given for scores, which only rank")
        self._sums = self._find_sums()
        priors_or_none = self.priors is None or self.priors.tolist()
        of_input = (input, num_classes, priors_or_none, ignore_index)
        if self._sums is None:
            # metrics of a MetricCollection share states of the same name that are alike
            self._state = _named("samples", of_input)
            self.add_state(self._state, [], dist_reduce_fx="cat")
        else:
            self._state = _named("sums", (*of_input, self._sums.identity))
            nothing = torch.zeros(2, self._sums.n_groups, 1 + self._sums.n_columns)
            self.add_state(self._state, nothing, dist_reduce_fx=_added)
        self.set_dtype(torch.float64)

    @property
    def higher_is_better(self) -> bool:
        """Whether larger values are better."""
        return self.metric.higher_is_better

    @property
    def plot_lower_bound(self) -> float | None:
        """The least value that the metric can have, where it is finite."""
        low, _ = self.metric.value_range
        return low if math.isfinite(low) else None

    @property
    def plot_upper_bound(self) -> float | None:
        """The greatest value that the metric can have, where it is finite."""
        _, high = self.metric.value_range
        return high if math.isfinite(high) else None

    @property
    def keeps_samples(self) -> bool:
        """Whether the state grows with the samples."""
        return self._sums is None

    def update(self, preds: Tensor, target: Tensor, sample_weight: Tensor | None = None) -> None:
        """Add a batch.

        Parameters
        ----------
        preds : Tensor, shape (N, K), or (N,) for class 1 of 2
        target : Tensor of int or bool, shape (N,)
        sample_weight : Tensor, shape (N,), optional
        """
        arrays = [from_tensor(values) for values in (preds, target, sample_weight)]
        if self.ignore_index is not None:
            arrays = _without(self.ignore_index, *arrays)
        batch = self._batch(*arrays)
        state = getattr(self, self._state)
        if self._sums is None:
            state.append(self._tensor(_kept(batch)))
        else:
            sums = self._tensor(_summed(self._sums, batch))
            setattr(self, self._state, _added(torch.stack([state, sums])))

    def compute(self) -> Tensor:
        """Return the value over all batches and processes, a tensor of float64.

        Raises
        ------
        ValueError
            Without samples of positive weight, and where the metric is not defined for them, as in
            memory. ``forward`` also computes the value of each batch; ``update`` does not.
        """
        state = getattr(self, self._state)
        if self._sums is None:
            batches = state if isinstance(state, list) else [state]  # a tensor once synchronized
            value = self.metric(self._predictions(batches))
        else:
            totals = state.sum(dim=0).cpu().numpy()
            _require_samples(totals.any())
            value = self.metric.finish(self._sums.assemble(totals[:, 0].copy(), totals[:, 1:]))
        return self._tensor(np.float64(value))

    def plot(self, val: Tensor | Sequence[Tensor] | None = None, ax: Axes | None = None) -> Any:
        """Plot a value, or values over steps, as the metrics of torchmetrics do.

        Parameters
        ----------
        val : Tensor, or sequence of Tensor, optional
            Results of ``compute`` or ``forward``; by default that of ``compute``.
        ax : matplotlib Axes, optional
            By default a new figure's.

        Returns
        -------
        Figure, or None if `ax` is given, and Axes
        """
        figure, axes = self._plot(val, ax)
        axes.set_ylabel(self.metric.label)
        return figure, axes

    def extra_repr(self) -> str:
        """Return the text in the parentheses of ``repr``."""
        return f"{self.metric!r}, {self.input!r}"

    def _tensor(self, values: Any) -> Tensor:
        return torch.as_tensor(values, dtype=torch.float64, device=self.device)

    def _batch(
        self, preds: Any, target: Any, weights: Any, make: type[_Batch] | None = None
    ) -> _Batch:
        """Return a batch as predictions, checked."""
        options = {"priors": self.priors, "sample_weight": weights}
        try:
            batch = (make or _Batch).of(self._kind, target, preds, **options)
        except ArgumentError as error:
            remedy = "" if error.argument == "y_true" else None
            if "normalize=" in error.remedy:
                remedy = "pass q / q.sum(1, keepdim=True) of q = preds.float(), or logits"
            elif "from_logits" in error.remedy:
                remedy = "pass input='logits' for logits"
            name = _NAMES.get(error.argument, error.argument)
            raise error.renamed(name, remedy=remedy) from None
        if batch.n_classes != self.num_classes:
            raise ArgumentError(
                "preds",
                f"must be of {self.num_classes} classes, not {batch.n_classes}",
                pass_={"num_classes": batch.n_classes},
            )
        return batch

    def _find_sums(self) -> Sums | None:
        """Return the sums of the metric, or None if it needs all samples at the end."""
        takes_class = hasattr(self.metric, "class_")
        class_ = getattr(self.metric, "class_", None)
        if self.metric.binary_only and class_ is None:
            checks.check_binary(self.metric.label, self.num_classes, takes_class=takes_class)
        scores = np.zeros(2 if self.num_classes == 2 else (2, self.num_classes))
        if self.input == "posteriors":
            scores += 1.0 / self.num_classes
        example = self._batch(scores, np.array([0, 1]), None, _Example)
        if class_ is not None and class_ not in getattr(self.metric, "means", ()):
            class_number(example, class_)  # raises if there is no such class
        own_data = f"must not hold other data sample by sample, as {self.metric.label} does"
        try:
            self.metric.on_rows(example, np.array([0, 1]))
        except ArgumentError:
            raise ArgumentError("metric", own_data) from None
        try:
            if self.num_classes == 2:  # the example has samples of both
                with suppress(_NeedsAllError):
                    self.metric.value_on(example)  # raises if it is not defined for this input
            sums: Sums | None = self.metric.sums(example)
        except _NeedsAllError:
            return None
        if sums is not None and not all(isinstance(each, _Example) for each in sums.companions):
            raise ArgumentError("metric", own_data)
        if sums is not None and sums.companions:  # computed from all samples, as by a calibrator
            return None
        try:
            if sums is not None:
                _summed(sums, example)
        except _NeedsAllError:
            return None
        return sums

    def _predictions(self, state: list[Tensor]) -> Predictions:
        """Return all samples that were kept."""
        n_columns = 1 if self._is_of_one_column else self.num_classes
        batches = [batch.cpu().numpy().reshape(-1, n_columns + 2) for batch in state]
        ends = np.cumsum([len(rows) for rows in batches], dtype=np.int64)
        _require_samples(ends.size > 0 and ends[-1] > 0)
        values = np.empty((ends[-1], n_columns))
        labels, weights = np.empty(ends[-1], np.int64), None
        if any((rows[:, -1] != 1.0).any() for rows in batches):
            weights = np.empty(ends[-1])
        for rows, end in zip(batches, ends, strict=True):
            here = slice(end - len(rows), end)
            values[here], labels[here] = rows[:, :-2], rows[:, -2]
            if weights is not None:
                weights[here] = rows[:, -1]
        return Predictions._make(  # without checks: rows of float32 may not sum to 1 in float64
            labels,
            self._kind,
            values[:, 0] if self._is_of_one_column else values,
            self.priors,
            weights,
            given=self.input == "posteriors",
        )

    @property
    def _is_of_one_column(self) -> bool:
        return self.num_classes == 2 and self.input != "posteriors"


class _NeedsAllError(Exception):
    """Raised if a value depends on all samples, while only some are known."""


class _Batch(Predictions):
    """Some of the samples; the class frequencies of all samples are unknown."""

    @property
    def priors(self) -> Floats:
        if self.given_priors is None:
            raise _NeedsAllError
        return self.given_priors


class _Example(_Batch):
    """Placeholder for samples before the first batch; reading its rows raises."""

    def require_rows(self) -> None:
        raise _NeedsAllError


def _without(ignore_index: int, preds: Any, target: Any, weights: Any) -> list[Any]:
    """Return the samples with other targets; leave unequal lengths for the checks to refuse."""
    keep = np.asarray(target) != ignore_index
    arrays = [array if array is None else np.asarray(array) for array in (preds, target, weights)]
    if any(array is not None and array.shape[:1] != keep.shape for array in arrays):
        return arrays
    return [array if array is None else array[keep] for array in arrays]


def _summed(sums: Sums, batch: Predictions) -> NDArray[Any]:
    """Return the sums of a batch, with zeros as rounding errors, shape (2, G, 1 + C)."""
    totals = np.column_stack(sums.totals(Part.whole(batch)))
    return np.stack([totals, np.zeros_like(totals)])


def _kept(batch: Predictions) -> Floats:
    """Return the scores, label and weight of each sample of positive weight, row after row."""
    values = batch._values if batch._logits is None else batch.scores
    if values.ndim == 1 and batch._has_posteriors:
        values = batch.posteriors
    weights = batch.weights
    values = values[:, None] if values.ndim == 1 else values
    rows = np.ones((len(values), values.shape[1] + 2))
    rows[:, :-2], rows[:, -2] = values, batch.labels
    if weights.size:
        rows[:, -1] = weights
        rows = rows[weights > 0.0]
    return rows.ravel()


def _added(stacked: Tensor) -> Tensor:
    """Add up states along the first axis; a state holds sums and their rounding errors."""
    total, rest = stacked[0]
    for term, its_rest in stacked[1:]:
        added = total + term
        of_term = added - total
        rounded_off = (total - (added - of_term)) + (term - of_term)
        rest = rest + its_rest + torch.where(added.isfinite(), rounded_off, 0.0)
        total = added
    return torch.stack([total, rest])


def _named(what: str, key: Any) -> str:
    """Return the name of a state: metrics of a collection share states only of equal names."""
    return f"{what}_{sha256(repr(key).encode()).hexdigest()[:8]}"


def _require_samples(has_some: bool) -> None:
    if not has_some:
        raise ArgumentError("update", "must have been called with a sample of positive weight")
