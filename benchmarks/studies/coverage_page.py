"""What the study of coverage found, as Markdown."""

from collections.abc import Mapping
from math import exp, sqrt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.studies.coverage import Study

_HEAD = (
    "| metric | population | value | method | 90 %: percentile | auto | 95 %: percentile | auto "
    "| above, below | width |"
)


_BEYOND = ("few errors", "trial list by IID")
_PROMISED = 0.93, 0.97  # of intervals of 95 %
_NORMAL = 1.96  # reach of a share's own interval, in standard errors

#: Why rows are outside of what is promised: studies, metrics (none for all), and the reason.
_REASONS: list[tuple[tuple[str, ...], tuple[str, ...], str]] = [
    (("trial list by IID",), (), "drawing samples is the wrong scheme for these trials"),
    (("few errors, 2,000",), (), "2.4 misses are expected"),
    (("",), ("devPAV",), "pairs that PAV maps to infinity are left out, so that values jump"),
    (("Gaussian, ", "skewed, ", "discrete, "), ("minDCF(0.05)",),
     "so few non-targets do not show false-alarm rates as low as those that determine it"),
    (("skewed, ",), ("AP",),
     "few non-targets with very high scores determine it, and most sets lack them"),
    (("discrete, 2,000",), ("RCL, PAV on the test",),
     "heavy tails: most sets lack the few very wrong posteriors that dominate the log loss"),
    (("skewed speakers",), (),
     "few of 60 speakers make most of the false alarms, and most lists lack such speakers"),
    (("bad speakers",), (),
     "15 % of 60 speakers make all of it; how many a list has decides the value"),
    (("unequal clusters",), (),
     "most sets of 40 clusters lack the rare large and hard ones, and so their skewness"),
    (("clusters", "nested"), (),
     "calibrators fit the effects of clusters, so that the value is several times that of the "
     "population; the interval is wider than it need be"),
    (("trial list",), (),
     "the noise of a trial is counted for both of its speakers; the interval is wider than it need "
     "be where single trials vary more than speakers"),
]  # fmt: skip
_POOLED = ("EER", "minDCF(0.05)", "minCllr", "AUC", "ECE", "RCL, PAV on the test")


def describe(
    figures: Mapping[str, Any], studies: Mapping[str, "Study"], command: str
) -> tuple[str, str]:
    """Return the summary, and the tables of all studies that were run."""
    found = figures.get("studies", {})
    groups: dict[str, list[str]] = {}
    for name, study in studies.items():
        if found.get(name, {}).get("truth") and found[name]["repetitions"]:
            groups.setdefault(study.group, []).append(name)
    summary = [
        f"Command: `{command}`",
        "## All populations of a size together",
        _pooled(found, groups),
        "## Outside 93 to 97 %",
        _outside(found, [name for names in groups.values() for name in names]),
    ]
    if "bias" in figures:
        summary += ["## Bias by number of samples", _bias(figures["bias"])]
    tables: list[str] = []
    for group, names in groups.items():
        notes = [
            f"{name}: {studies[name].about} ({found[name]['repetitions']} repetitions)."
            for name in names
        ]
        metrics = list(dict.fromkeys(m for name in names for m in studies[name].metrics))
        rows = [
            _row(metric, name, found[name])
            for metric in metrics
            for name in names
            if metric in found[name]["counts"]
        ]
        table = "\n".join([_HEAD, "|---|---|--:|---|--:|--:|--:|--:|--:|--:|", *rows])
        tables += [f"## {group[0].upper()}{group[1:]}", " ".join(notes), table]
    return "\n\n".join(summary), "\n\n".join(tables)


def _pooled(found: Mapping[str, Any], groups: Mapping[str, list[str]]) -> str:
    """Return the coverage over the studies of a group, without those beyond the limits."""
    lines = [
        'Without "few errors" and "trial list by IID".',
        "",
        "| metric | study | repetitions | 90 %: percentile | auto | 95 %: percentile | auto |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for group, names in groups.items():
        own = [found[n]["counts"] for n in names if not n.startswith(_BEYOND)]
        metrics = [name for name in _POOLED if sum(name in counts for counts in own) > 1]
        for metric in metrics:
            counts = [each[metric] for each in own if metric in each]
            cells = []
            for level in ("0.9", "0.95"):
                for method in ("percentile", "auto"):
                    sides = [sum(k) for k in zip(*(c[level][method] for c in counts), strict=True)]
                    is_bold = level == "0.95" and method == "auto"
                    cells.append(_percent(sides, sum(sides), is_bold=is_bold))
            lines.append(f"| {metric} | {group} | {sum(sides)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _outside(found: Mapping[str, Any], names: list[str]) -> str:
    """Return the rows that are outside of what is promised, by more than chance, with reasons."""
    n_rows, lines = 0, []
    for name in names:
        for metric, counts in found[name]["counts"].items():
            sides = counts["0.95"]["auto"]
            n, likely, error = _likely(sides)
            n_rows += 1
            low, high = likely - _NORMAL * error, likely + _NORMAL * error
            if high >= _PROMISED[0] and low <= _PROMISED[1]:
                continue
            reason = next((
                text for studies, metrics, text in _REASONS
                if name.startswith(studies) and (not metrics or metric in metrics)
            ), "not explained")  # fmt: skip
            missed = f"{100.0 * sides[2] / n:.1f}, {100.0 * sides[0] / n:.1f}"
            percentile = _percent(counts["0.95"]["percentile"], sum(sides))
            auto = _percent(sides, sum(sides), is_bold=True)
            lines.append(f"| {metric} | {name} | {percentile} | {auto} | {missed} | {reason} |")
    head = [
        f"Of {n_rows} rows, those whose coverage at 95 % is outside of 93 to 97 % by more than "
        f"{_NORMAL} of its standard errors, which may also happen by chance.",
        "",
        "| metric | population | percentile | auto | above, below | reason |",
        "|---|---|--:|--:|--:|---|",
    ]
    return "\n".join([*head, *lines])


def _bias(points: Mapping[str, Any]) -> str:
    lines = [
        "Gaussian population, means over sets of samples: the bias with its standard error, and as "
        "estimated by the bootstrap and from halves and quarters.",
        "",
        "| metric | samples | bias | by the bootstrap | from subsets |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, own in points.items():
        for at in own:
            estimates = " | ".join(f"{at[key]:.4f}" for key in ("bootstrap", "subsets"))
            bias = f"{at['bias']:.4f} ± {at['error']:.4f}"
            lines.append(f"| {name} | {at['n']:,} | {bias} | {estimates} |")
    return "\n".join(lines)


def _row(metric: str, name: str, own: Mapping[str, Any]) -> str:
    counts = own["counts"][metric]
    n = sum(counts["0.95"]["auto"])
    cells = []
    for level in ("0.9", "0.95"):
        at = counts[level]
        cells += [_percent(at["percentile"], n), _percent(at["auto"], n, is_bold=level == "0.95")]
    at = counts["0.95"]
    below, _, above, none = at["auto"]
    missed = f"{100.0 * above / n:.1f}, {100.0 * below / n:.1f}"
    width = f"{exp(at['log_ratio'] / at['ratios']):.2f}" if at["ratios"] else ""
    method = counts["method"] + (f" ({none} without)" if none else "")
    value = f"{own['truth'][metric]:.4g}"
    return f"| {' | '.join([metric, name, value, method, *cells, missed, width])} |"


def _percent(sides: list[int], n: int, *, is_bold: bool = False) -> str:
    share = sides[1] / max(n - sides[3], 1)
    if not is_bold:
        return f"{100.0 * share:.1f}"
    _, _, error = _likely(sides)
    return f"**{100.0 * share:.1f}** ± {100.0 * error:.1f}"


def _likely(sides: list[int]) -> tuple[int, float, float]:
    """Return the number of intervals, and a share with its error that is not 0 (Agresti, Coull)."""
    n = sum(sides) - sides[3]
    share = (sides[1] + 2.0) / (n + 4.0)
    return n, share, sqrt(share * (1.0 - share) / (n + 4.0))
