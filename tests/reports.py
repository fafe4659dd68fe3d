"""Reports for tests: of data that are hard to draw, and of names that are no text for a page."""

import warnings
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np

import fastpsr as fp
from fastpsr.evaluation import Group

MARKUP = (
    "<script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    '"><svg onload="window.hacked = 1">',
    "</style><style>body { display: none }",
    "]]><!-- &lt;b&gt; {{ 7 * 7 }} $x^$",
    "javascript:window.hacked=1",
)
NAMES = (
    *MARKUP,
    "a\x00b\x1b[31m\n\udcff",
    "_hidden",
    "",
    "url(#clip)",
    "\u202emirrored \u8a9e\u8005",
    "long " * 60,
    "long " * 61,
)
METRICS = {
    "EER": fp.EER(),
    "Cllr": fp.Cllr(),
    "minCllr": fp.MinCllr(),
    "NCE": fp.CrossEntropy(),
    "RCL": fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving()),
}


def llrs(n=300, scale=1.0, seed=0, **options):
    """LLRs of normal scores, calibrated for scale 1."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3 == 0
    return fp.Predictions.from_llrs(
        y, scale * (rng.normal(size=n) * 2.0 + 4.0 * y - 2.0), **options
    )


def infinite():
    return fp.Predictions.from_llrs([0, 1, 1, 0, 1], [-np.inf, -np.inf, 2.0, 1.0, np.inf])


def no_targets():
    return fp.Predictions.from_llrs([0, 0, 0], [1.0, 2.0, 3.0], prior=0.5)


def all_equal():
    return fp.Predictions.from_llrs([0, 1, 0, 1], [0.5] * 4)


def many_classes(n=200):
    rng = np.random.default_rng(0)
    return fp.Predictions.from_logits(
        np.arange(n) % 4, rng.normal(size=(n, 4)) + 2.0 * np.eye(4)[np.arange(n) % 4]
    )


def evaluation_of(rows, name="a", **parts):
    """An evaluation of one system with these rows."""
    group = Group(name, None, "posteriors", 4, (2, 2), (0.5, 0.5), 0, **parts)
    return fp.Evaluation(tuple(replace(row, system=name) for row in rows), (group,))


def report(systems, *, conditions=("",), metrics=None, n_resamples=0, **parts):
    """A report of predictions by name: in each condition the same."""
    from fastpsr.report import Report

    tables = []
    for name, samples in systems.items():
        usual = METRICS if samples.n_classes == 2 and samples.kind != "raw scores" else None
        seed = 0 if n_resamples else None
        table = fp.evaluate(samples, metrics or usual, n_resamples=n_resamples, seed=seed)
        for condition in conditions:
            group = condition if condition not in ("", "pooled") else None
            of_group = replace(table.all_samples, system=name, group=group)
            rows = tuple(replace(row, system=name, group=group) for row in table.rows)
            tables.append(replace(table, rows=rows, groups=(of_group,)))
    return Report(fp.Evaluation.joined(tables), systems, **{"title": "Title", **parts})


@cache
def grid(n=400):
    """A report of 5 systems in 5 conditions, with detection costs and intervals."""
    from fastpsr.report import Report

    points = [fp.MinDCF(0.3), fp.MinDCF(0.1, 1.0, 2.0)]
    metrics = METRICS | {"AUC": fp.AUC(), "NBS": fp.BrierScore()}
    for point in points:
        for each in (point, fp.ActDCF(point.p_target, point.c_miss, point.c_fa)):
            metrics[each.label] = each
    names = ["ecapa-tdnn-1024.txt", "resnet293-large-margin.txt", "wavlm-large-mhfa.txt",
             "xvector-plda-baseline.txt", "fusion of the four.txt"]  # fmt: skip
    conditions = ["microphone", "telephone", "cross-lingual", "far-field", "video"]
    tables, pooled, by_condition = [], {}, {}
    for k, name in enumerate(names):
        samples = pooled[name] = llrs(n, 1.0 + 0.2 * k, seed=k)
        column = np.array(conditions)[np.random.default_rng(k).integers(0, 5, n)]
        with warnings.catch_warnings():  # replicates without a class, which the table says
            warnings.simplefilter("ignore", RuntimeWarning)
            tables.append(fp.evaluate(
                {name: samples}, metrics, by={"condition": column}, n_resamples=8, seed=0,
                confidence_level=0.5, method="percentile",
            ))  # fmt: skip
        by_condition[name] = {
            f"condition={value}": samples[np.flatnonzero(column == value)] for value in conditions
        }
    table = fp.Evaluation.joined(tables)
    return Report(table, pooled, by_condition, points, title="Five systems")


class Page(HTMLParser):
    """Elements, their attributes, and the texts of a page by where they stand.

    ``cells`` are the texts of the lines of all tables, and ``best`` those of the tables by caption,
    without small print, each with whether it is marked as the best.
    """

    def __init__(self, html):
        super().__init__()
        self.elements, self.texts, self.html = [], [], html
        self.headings, self.figures, self.captions = [], [], []
        self.cells, self.best = [], {}
        self._open = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        if tag in ("script", "style", "h1", "h2", "h3", "caption", "th", "td", "small"):
            self._open.append(tag)
        if tag == "tr":
            self.cells.append([])
            self.best.setdefault(self.captions[-1], []).append([])
        if tag in ("th", "td"):
            self.cells[-1].append("")
            is_best = "best" in (attributes.get("class") or "").split()
            self.best[self.captions[-1]][-1].append(("", is_best))

    def handle_endtag(self, tag):
        if self._open and tag == self._open[-1]:
            self._open.pop()

    def handle_data(self, data):
        place = self._open[-1] if self._open else ""
        if place in ("script", "style"):
            return
        self.texts.append(data)
        if place in ("h1", "h2", "h3"):
            self.headings.append(data)
        if place == "h3":
            self.figures.append(data)
        if place == "caption":
            self.captions.append(data)
        if place in ("th", "td", "small"):
            self.cells[-1][-1] = f"{self.cells[-1][-1]} {data}".strip()
        if place in ("th", "td"):
            line = self.best[self.captions[-1]][-1]
            line[-1] = (line[-1][0] + data, line[-1][1])

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]
