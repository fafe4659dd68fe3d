"""Reports for tests: of data that are hard to draw, and of names that are no text for a page."""

from html.parser import HTMLParser

import numpy as np

import fastpsr as fp

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


def one():
    return fp.Predictions.from_llrs([1], [1.0], prior=0.5)


def many_classes(n=200):
    rng = np.random.default_rng(0)
    return fp.Predictions.from_logits(
        np.arange(n) % 4, rng.normal(size=(n, 4)) + 2.0 * np.eye(4)[np.arange(n) % 4]
    )


def report(systems, *, conditions=("",), metrics=None, n_resamples=0, **parts):
    """A report of predictions by name: in each condition the same."""
    from fastpsr.report import Report, Result

    results, intervals = [], None
    for name, samples in systems.items():
        usual = METRICS if samples.n_classes == 2 and samples.kind != "raw scores" else None
        seed = 0 if n_resamples else None
        evaluation = fp.evaluate(samples, metrics or usual, n_resamples=n_resamples, seed=seed)
        intervals = evaluation.intervals
        counts = {"samples": len(samples)}
        results += [Result(name, evaluation.rows, each, counts) for each in conditions]
    return Report(parts.pop("title", "Title"), results, systems, intervals=intervals, **parts)


class Page(HTMLParser):
    """Elements, their attributes and the text of a page."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.texts, self.html = [], [], html
        self._inside = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag in ("script", "style"):
            self._inside.append(tag)

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self._inside.pop()

    def handle_data(self, data):
        if not self._inside:
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]
