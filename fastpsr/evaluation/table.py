"""Result of an evaluation: rows of values, and the groups of samples."""

import importlib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from fastpsr.bootstrap import BootstrapResult
from fastpsr.bootstrap.settings import Intervals
from fastpsr.data import By, Kind
from fastpsr.data.groupings import Bins
from fastpsr.errors import PackageWarning, counted
from fastpsr.evaluation.best_calibrator import BestCalibrator
from fastpsr.evaluation.layout import POOLED, as_html, as_text, write
from fastpsr.results import Result
from fastpsr.version import __version__

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fastpsr.data import Predictions
    from fastpsr.metrics import MinDCF

#: Reports are a room above this one: it is looked up by its name when a report is written.
_REPORTS = "fastpsr.report.page"
_ROUNDING = 1e-9  # of the values: what the order of sums and the end of a search may change


@dataclass(frozen=True, eq=False)
class Row:
    """One value of an evaluation.

    Attributes
    ----------
    metric : str
        Name of the metric.
    value : float
        nan if it could not be computed or is undefined.
    low, high : float or None
        Ends of the confidence interval; None if none was requested, or the value is nan.
    n_undefined : int
        Number of replicates in which the metric is undefined, which are left out; 0 where none are
        drawn, as for subsampling and the jackknife.
    method : str or None
        How the interval was computed, as ``BootstrapResult.method``; None if there is none.
    degrees_of_freedom : float or None
        Of an interval by subsampling or by the jackknife.
    corrected : float or None
        As ``BootstrapResult.corrected``: the value without the optimism of having been optimized on
        these samples; None where the interval is not by subsampling.
    caution : str
        As ``BootstrapResult.caution``: why the interval is not to be used; in files part of `note`.
    note : str
        Description of the metric; the reason if the value is nan or infinite.
    unit : str
        "fraction", "percent", "probability", "nats", "bits", or "" for ratios. Tables show
        fractions in percent.
    reference_value : float or None
        Value of an uninformative system, if there is such a value.
    system : str or None
        Name of the system; None for a single system without a name.
    group : str or None
        Group of samples, such as "gender=f"; None for all samples.
    state : str
        "not computed", "undefined" or "infinite"; "" for finite values.
    error : ValueError or None
        The reason, if `state` is not ""; `note` contains both as text.
    role : str
        Standard name of the metric, whatever `metric` is, which reports look for: "EER", "minDCF",
        "actDCF", "Cllr", "minCllr", "NCE", "RCL", "RCL bound"; "" for others. Not in files.
    """

    metric: str
    value: float
    low: float | None = None
    high: float | None = None
    n_undefined: int = 0
    method: str | None = None
    degrees_of_freedom: float | None = None
    corrected: float | None = None
    caution: str = ""
    note: str = ""
    unit: str = ""
    reference_value: float | None = None
    system: str | None = None
    group: str | None = None
    state: str = ""
    error: ValueError | None = None
    role: str = ""

    @property
    def is_outside(self) -> bool:
        """Whether the value is outside its interval, which is corrected for optimism."""
        if self.low is None or self.high is None:
            return False
        return self.value < self.low or self.value > self.high

    def to_dict(self) -> dict[str, Any]:
        """Return a dict of plain numbers and strings."""
        first = {"system": self.system, "group": self.group}
        hidden = {*first, "caution", "state", "error", "role"}
        names = [part.name for part in fields(self) if part.name not in hidden]
        note = "; ".join(filter(None, [self.note, self.caution]))
        return first | {name: getattr(self, name) for name in names} | {"note": note}


@dataclass(frozen=True, eq=False)
class Group:
    """Samples that were evaluated together.

    Attributes
    ----------
    system : str or None
    group : str or None
        None for all samples of the system.
    kind : {"posteriors", "likelihoods", "raw scores"}
    n_samples : int
        Number of samples, those of weight 0 included.
    class_sizes : tuple of int
        Number of samples of positive weight, by class.
    priors : tuple of float
        Class priors of the evaluation.
    n_infinite : int
        Number of samples with posterior 0 for the true class, which make cross-entropy infinite.
    best_calibrator : BestCalibrator or None
        The calibrator that would remove most: and how much, if the default metrics were computed of
        all samples.
    class_names : tuple of str or None
        Labels of the classes, if the predictions have any.
    """

    system: str | None
    group: str | None
    kind: Kind
    n_samples: int
    class_sizes: tuple[int, ...]
    priors: tuple[float, ...]
    n_infinite: int
    best_calibrator: BestCalibrator | None = None
    class_names: tuple[str, ...] | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_sizes)

    @property
    def class_words(self) -> tuple[str, ...]:
        """Words for the samples of each of two classes."""
        if self.class_names is not None:
            return self.class_names
        is_of_posteriors = self.kind == "posteriors"
        return ("negatives", "positives") if is_of_posteriors else ("non-targets", "targets")

    def __str__(self) -> str:
        names = self.class_names or ("",) * self.n_classes
        shown = [f"{p:.4g} {name}".rstrip() for p, name in zip(self.priors, names, strict=True)]
        priors = ", ".join(shown[:4])
        more = ", ..." if self.n_classes > 4 else ""
        line = f"{self.n_samples:,} samples, {self.n_classes} classes, priors {priors}{more}"
        if self.n_infinite:
            have = "has" if self.n_infinite == 1 else "have"
            line += f"; {counted(self.n_infinite, 'sample')} {have} posterior 0 for the true class"
        if self.kind == "raw scores":
            line += "; raw scores: only metrics of ranks have values"
        return line


@dataclass(frozen=True, eq=False)
class Difference:
    """A metric of two systems on the same samples, or of two groups, and the difference.

    Attributes
    ----------
    a, b : Row
        The metric of each system, for the same group of samples; or of each group, for the same
        system.
    result : BootstrapResult or None
        For the value of `a` minus the value of `b`; None if no interval was requested, one of the
        values is undefined, or both are infinite. Its `confidence_level` holds for this interval
        alone. If the interval does not use replicates, it has none: its `standard_error` comes
        from the interval, and its `bias` is nan.
    n_simultaneous : int
        Number of differences of groups whose intervals are simultaneous: they hold jointly at the
        level of the evaluation. 1 if the interval holds alone.
    """

    a: Row
    b: Row
    result: BootstrapResult | None = None
    n_simultaneous: int = 1

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.a.metric

    @property
    def name(self) -> str:
        """Names of both systems, or of both groups, "a - b"."""
        return " - ".join(self._sides)

    @property
    def group(self) -> str | None:
        """Group of samples of two systems; None for all samples, and for two groups."""
        return None if self.is_of_groups else self.a.group

    @property
    def is_of_groups(self) -> bool:
        """Whether these are two groups of a system, not two systems."""
        return self.a.group != self.b.group

    @property
    def place(self) -> str:
        """The shared part: the group of two systems, or the system of two groups."""
        return self.a.system or "" if self.is_of_groups else self.a.group or POOLED

    @property
    def _sides(self) -> list[str]:
        rows = (self.a, self.b)
        return [(r.group or POOLED if self.is_of_groups else r.system or "") for r in rows]

    @property
    def value(self) -> float:
        """The value of `a` minus the value of `b`, in the unit of the metric."""
        return self.a.value - self.b.value

    @property
    def low(self) -> float | None:
        """Lower end of the interval; None without an interval."""
        return None if self.result is None else self.result.interval.low

    @property
    def high(self) -> float | None:
        """Upper end of the interval; None without an interval."""
        return None if self.result is None else self.result.interval.high

    @property
    def is_equal(self) -> bool:
        """Whether difference and interval are 0, except for rounding: 1e-9 of the values."""
        most = _ROUNDING * max(abs(self.a.value), abs(self.b.value))
        ends = [end for end in (self.low, self.high) if end is not None and not math.isnan(end)]
        return math.isfinite(most) and all(abs(number) <= most for number in (self.value, *ends))

    @property
    def excludes_zero(self) -> bool | None:
        """Whether the interval excludes 0 by more than rounding; None without an interval."""
        if self.low is None or self.high is None or math.isnan(self.low):
            return None
        return not self.is_equal and (self.low > 0.0 or self.high < 0.0)

    @property
    def p_value(self) -> float | None:
        """As ``BootstrapResult.p_value``, unadjusted; None if there is no interval."""
        if self.result is None or math.isnan(self.result.p_value):
            return None
        return 1.0 if self.is_equal else self.result.p_value

    @property
    def note(self) -> str:
        """Description of the metric, or the reason why a value is not finite."""
        reasons: dict[str, str] = {}
        for row, side in zip((self.a, self.b), self._sides, strict=True):
            if not math.isfinite(row.value):
                sides_before = f"{reasons[row.note]} and " if row.note in reasons else ""
                reasons[row.note] = f"{sides_before}{side}"
        return "; ".join(f"{who}: {why}" for why, who in reasons.items()) or self.a.note

    def to_dict(self) -> dict[str, Any]:
        """Return a dict of plain numbers and strings; `a` and `b` are the values."""
        result = self.result
        return {
            "system_a": self.a.system,
            "system_b": self.b.system,
            "group_a": self.a.group,
            "group_b": self.b.group,
            "metric": self.metric,
            "a": self.a.value,
            "b": self.b.value,
            "difference": self.value,
            "low": self.low,
            "high": self.high,
            "n_undefined": 0 if result is None else result.n_undefined,
            "n_simultaneous": self.n_simultaneous,
            "method": None if result is None else result.method,
            "equal": self.is_equal,
            "excludes_zero": self.excludes_zero,
            "p_value": self.p_value,
            "note": self.note,
            "unit": self.a.unit,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Result):
    """Result of ``evaluate``; prints as a table.

    The data frame has a row per value, with the sizes of its group. Differences follow, with
    "difference" in the column `row`; `difference` is the difference of `a` and `b`. Cells that do
    not apply are null.

    Attributes
    ----------
    rows : tuple of Row
        All values: system by system, all samples before groups, metric by metric.
    groups : tuple of Group
        Systems and groups, in the order of the rows.
    intervals : Intervals or None
        Settings of the intervals, if requested.
    differences : tuple of Difference
        Differences, if requested: of systems, group by group, pair by pair, metric by metric; then
        of groups, system by system, pair by pair, metric by metric.
    warnings : tuple of Warning
        Warnings of this package while it was computed, whose `str` is the message: also those that
        Python's filters hide. Each message once; not in files.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> round(fp.evaluate(data, [fp.CrossEntropy()])["NCE"], 4)
    0.737

    For several systems, or with groups:

    >>> table = fp.evaluate({"a": data}, [fp.AUC()], by={"room": ["x", "y", "x", "y"]})
    >>> table["a", None, "AUC"], table["a", "room=x", "AUC"]
    (0.75, 1.0)
    """

    rows: tuple[Row, ...]
    groups: tuple[Group, ...]
    intervals: Intervals | None = None
    differences: tuple[Difference, ...] = ()
    warnings: tuple[PackageWarning, ...] = ()

    def __getitem__(self, name: str | tuple[str | None, str | None, str]) -> float:
        """Return the value of a metric, or of (system, group, metric)."""
        return self.row(name).value

    def row(self, name: str | tuple[str | None, str | None, str]) -> Row:
        """Return the row of a metric, or of (system, group, metric).

        Raises
        ------
        KeyError
            If there is no such row, or the name of a metric is ambiguous without system and group.
        """
        if isinstance(name, str):
            if len(self.groups) > 1:
                raise KeyError(f"which {name!r}? Say evaluation[system, group, metric]")
            name = (self.all_samples.system, self.all_samples.group, name)
        for row in self.rows:
            if (row.system, row.group, row.metric) == name:
                return row
        among = ", ".join(dict.fromkeys(row.metric for row in self.rows))
        if len(self.groups) > 1:
            among += ", of " + ", ".join(f"{(g.system, g.group)}" for g in self.groups)
        raise KeyError(f"{name[-1]!r} is not among {among}")

    def of(self, group: Group) -> tuple[Row, ...]:
        """Return the rows of a group."""
        place = (group.system, group.group)
        return tuple(row for row in self.rows if (row.system, row.group) == place)

    @property
    def all_samples(self) -> Group:
        """All samples of the first system."""
        return self.groups[0]

    @property
    def settings(self) -> str:
        """How the intervals were computed, with the metrics by method; "" without intervals."""
        if self.intervals is None:
            return ""
        used = [(row.metric, row.method) for row in self.rows]
        used += [(pair.metric, pair.result.method) for pair in self.differences if pair.result]
        methods: dict[str, list[str]] = {}
        for metric, method in used:
            if method is not None and metric not in methods.setdefault(method, []):
                methods[method].append(metric)
        return self.intervals.described(methods)

    def _content(self) -> dict[str, Any]:
        content = {
            "version": __version__,
            "groups": [asdict(group) for group in self.groups],
            "intervals": self.intervals,
            "rows": self.rows,
        }
        return content | ({"differences": self.differences} if self.differences else {})

    def records(self) -> list[dict[str, Any]]:
        """Return a flat dict for each row, with the sizes of its group.

        With differences, which follow, `row` says what each is: "value" or "difference".
        """
        records = []
        for group in self.groups:
            sizes: dict[str, int] = {"n_samples": group.n_samples}
            if group.n_classes == 2:
                sizes |= dict(zip(("n_nontarget", "n_target"), group.class_sizes, strict=True))
            records += [row.to_dict() | sizes for row in self.of(group)]
        if not self.differences:
            return records
        differences = [{"row": "difference"} | pair.to_dict() for pair in self.differences]
        records = [{"row": "value"} | record for record in records] + differences
        nothing = dict.fromkeys(name for record in records for name in record)
        return [nothing | record for record in records]

    def _columns(self) -> dict[str, Any]:
        records = self.records()
        return {name: [record.get(name) for record in records] for name in records[0]}

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the evaluation as a file, whole or not at all.

        Parameters
        ----------
        path : path
            The ending names the format:

            - ``.json``: what `to_dict` returns.
            - ``.csv``: a line per value, then per difference, as `to_frame`.
            - ``.md``, ``.tex``: the table, then that of the differences, as Markdown, or as LaTeX
              for the package booktabs. Two systems and their differences are in one table.

        Raises
        ------
        ValueError
            For other endings, and for CSV if polars is not installed.
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import fastpsr as fp
        >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
        >>> table = fp.evaluate(data, ["NCE", "NBS"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "table.md")
        ...     table.write(path)
        ...     print(path.read_text(), end="")
        | metric | value |
        | --- | --: |
        | NCE | 0.7370 |
        | NBS | 0.7400 |
        """
        write(self, path)

    def to_report(
        self,
        path: str | os.PathLike[str],
        predictions: "Predictions | Mapping[str, Predictions] | None" = None,
        *,
        by: By | None = None,
        bins: Bins | None = None,
        spoof: "ArrayLike | Mapping[str, ArrayLike] | None" = None,
        operating_points: "Sequence[MinDCF]" = (),
        title: str = "",
        read: Sequence[str] = (),
        text: Sequence[str] = (),
        base: Literal[10] | None = None,
    ) -> None:
        """Write the evaluation as an HTML report: one file, whole or not at all.

        Parameters
        ----------
        path : path
        predictions : Predictions, or dict of name to Predictions, optional
            Evaluated predictions, in memory, for the figures: by default there are tables and bars
            alone. With intervals, curves have bands by the same resampling. All or none are binary.
        by, bins : optional
            As it was evaluated, for DET curves of the groups.
        spoof : array-like of bool, shape (N,), or dict of name to these, optional
            Which samples of the predictions are spoofed trials: shown apart from the non-targets.
        operating_points : sequence of MinDCF
            Stated in a table, and marked on the DET curves.
        title : str
            By default which systems are evaluated or compared.
        read : sequence of str
            Files and their interpretation, a line each; the `warnings` follow.
        text : sequence of str
            Paragraphs before the tables.
        base : 10, optional
            Base of the logarithms of LLRs and log-odds in figures; by default they are natural.

        Raises
        ------
        ImportError
            Without the libraries of ``fastpsr[report]``.
        ValueError
            For predictions of other systems, unlabeled ones, and predictions of unlike kinds.
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import fastpsr as fp
        >>> data = fp.Predictions.from_llrs([0, 0, 1, 1], [-2.0, 0.5, -0.5, 3.0])
        >>> table = fp.evaluate({"A": data}, ["EER", "Cllr"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = Path(folder, "report.html")
        ...     table.to_report(page, {"A": data}, read=["four trials"])
        ...     print(page.read_text("utf-8")[:15])
        <!doctype html>
        """
        reports = importlib.import_module(_REPORTS)
        lines = [*read, *(f"warning: {message}" for message in self.warnings)]
        reports.write_evaluation(
            path, self, predictions, by=by, bins=bins, spoof=spoof,
            operating_points=operating_points, title=title, read=lines, text=text,
            base=base,
        )  # fmt: skip

    def _repr_html_(self) -> str:
        return as_html(self)

    def __repr__(self) -> str:
        return self.to_text()

    def to_text(self, width: int = 100) -> str:
        """Return the table as text: a line per metric, or a column per system and group.

        Differences of two systems are in the table; differences of more systems, or between or
        within groups, in another table.
        """
        return as_text(self, width)

    @classmethod
    def joined(cls, evaluations: "Sequence[Evaluation]") -> "Evaluation":
        """Return one evaluation with the rows of several."""
        rows, groups, differences, warnings = (
            tuple(chain.from_iterable(getattr(evaluation, name) for evaluation in evaluations))
            for name in ("rows", "groups", "differences", "warnings")
        )
        once = {str(warning): warning for warning in warnings}
        return cls(rows, groups, evaluations[0].intervals, differences, tuple(once.values()))

    def renamed(self, names: Mapping[str, str]) -> "Evaluation":
        """Return the evaluation with renamed systems."""
        groups = tuple(replace(group, system=names[group.system or ""]) for group in self.groups)
        renamed = replace(self, groups=groups)
        return renamed.with_rows(lambda row: replace(row, system=names[row.system or ""]))

    def with_rows(self, change: Callable[[Row], Row]) -> "Evaluation":
        """Return the evaluation with rows that a function returns for these."""
        rows = tuple(change(row) for row in self.rows)
        pairs = tuple(replace(d, a=change(d.a), b=change(d.b)) for d in self.differences)
        return replace(self, rows=rows, differences=pairs)
