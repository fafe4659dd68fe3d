"""Reports: what they hold, and that names stay text."""

import re
import subprocess
import sys
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

import fastpsr as fp
from fastpsr.evaluation import Intervals, Row
from fastpsr.report import Report, render, write_report
from tests import reports
from tests.reports import Page


def page_of(*args, **options):
    return Page(render(reports.report(*args, **options)))


@pytest.fixture(scope="module")
def two():
    systems = {"raw.txt": reports.llrs(scale=2.0), "cal.txt": reports.llrs(seed=1)}
    return page_of(
        systems, conditions=("pooled", "gender=f"), n_resamples=40, read=["key.txt: 300 trials"],
        text=["A first paragraph."], command="fastpsr evaluate 'a b'", made="today",
    )  # fmt: skip


# Content


def test_a_report_has_every_number_and_how_it_was_made(two):
    table = fp.evaluate(reports.llrs(scale=2.0), reports.METRICS, n_resamples=40, seed=0)
    cells = {text for line in two.cells for text in line}
    for row in table.rows:
        factor, digits, unit = {"fraction": (100.0, 3, " %"), "percent": (1.0, 3, " %")}.get(
            row.unit, (1.0, 4, "")
        )
        value, low, high = (f"{factor * v:.{digits}f}" for v in (row.value, row.low, row.high))
        assert f"{value}{unit} [{low}, {high}]" in cells
        assert row.note in two.text
    for words in ("A first paragraph.", "key.txt: 300 trials", "fastpsr evaluate 'a b'", "today",
                  "40 replicates, resampling IID, seed 0",
                  f"fastpsr {fp.__version__}", f"numpy {np.__version__}"):  # fmt: skip
        assert words in two.text
    assert len(two.html) < 500_000


def test_figures_fit_the_data(two):
    bars = ["Normalized metrics"]
    binary = ["Detection error trade-off", "Normalized Bayes error", "Empirical cross-entropy",
              "Reliability", "Score histogram", "Tippett plot", "PAV map"]  # fmt: skip
    assert two.figures == [*bars, *binary]
    raw = fp.Predictions.from_raw_scores(np.arange(60) % 2, np.random.default_rng(0).random(60))
    assert page_of({"raw": raw}).figures[1:] == [
        "Detection error trade-off", "Receiver operating characteristic", "Normalized Bayes error",
        "Score histogram", "PAV map",
    ]  # fmt: skip
    told = []
    content = reports.report({"k": reports.many_classes()})
    many = Page(render(content, lambda *step: told.append(step)))
    assert many.figures == [
        "Normalized metrics", "Reliability of the confidence",
        "Reliability of the confidence in bins",
    ]  # fmt: skip
    assert [title for title, *_ in told] == many.figures
    row = Row("NCE", 0.5, note="x", reference_value=1.0)
    without_predictions = Page(render(Report(reports.evaluation_of([row]))))
    assert without_predictions.figures == ["Normalized metrics"]
    assert not Page(render(Report(reports.evaluation_of([Row("EER", 0.5)])))).figures


@pytest.mark.slow
def test_conditions_and_operating_points():
    page = Page(render(reports.grid()))
    of_conditions = [title for title in page.figures if "trade-off, condition=" in title]
    assert len(of_conditions) == 5
    assert "Detection error trade-off, condition=far-field" in of_conditions
    det = next(svg["aria-label"] for svg in page.all("svg") if "trade-off" in svg["aria-label"])
    assert "operating points" in det
    drawn = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", page.html))
    for words in ("minDCF(0.1:1:2)", "actDCF(0.3)", "resnet293"):
        assert words in drawn
    assert {"Detection costs", "Metrics by system and condition"} <= {*page.captions}


@pytest.mark.parametrize("kind", ["infinite", "no_targets", "all_equal"])
def test_what_cannot_be_drawn_or_computed_is_said(kind):
    page = page_of({"good": reports.llrs(), "bad": getattr(reports, kind)()})
    labels = " ".join(svg["aria-label"] for svg in page.all("svg"))
    assert "bad" in labels
    assert len(page.all("svg")) == 8
    if kind != "all_equal":
        assert "Values that are not finite" in page.text


def test_many_systems_are_told_apart():
    names = [*(f"system {k}" for k in range(18)), "x" * 90, f"{'x' * 89}x ", "x" * 80]
    table = fp.evaluate(dict.fromkeys(names, reports.llrs(30)), ["NCE"])
    page = Page(render(Report(table)))
    bars = "Normalized metrics, systems"
    assert page.figures == [f"{bars} 1 to 20", f"{bars} 21 to 21"]
    assert page.headings[0] == "Evaluation of 21 systems"
    assert len({*re.findall(r"x+\u2026x+(?: \(\d+\))?", " ".join(page.texts))}) == 3


def test_the_overview_marks_the_best_system_of_each_condition():
    systems = {"worse": reports.llrs(scale=3.0), "good": reports.llrs()}
    systems["same"] = systems["good"]
    half = {"half": np.arange(300) // 150}
    metrics = {"EER": fp.EER(), "minDCF": fp.MinDCF(0.3), "my Cllr": fp.Cllr(), "AUC": fp.AUC()}
    table = fp.evaluate(systems, metrics, by=half)
    page = Page(render(Report(table)))
    assert page.headings.index("Overview") < page.headings.index("Metrics")
    captions = [f"{name} by condition" for name in metrics if name != "AUC"]
    assert page.captions[:3] == captions
    for place, group in enumerate((None, "half=0", "half=1")):
        values = [table[name, group, "my Cllr"] for name in systems]
        for value, line in zip(values, page.best["my Cllr by condition"][1:], strict=True):
            assert line[1 + place] == (f"{value:.4f}", value == min(values))
    of_systems = Page(render(Report(fp.evaluate(systems, metrics)))).best["By system"][1:]
    assert [line[-1][1] for line in of_systems] == [False, True, True]
    of_one = Page(render(Report(fp.evaluate(systems["good"], metrics, by=half))))
    assert not any(is_best for line in of_one.best["By condition"] for _, is_best in line)
    assert "Overview" not in Page(render(Report(fp.evaluate(systems["good"], metrics)))).headings
    unknown = fp.evaluate({"a": reports.no_targets(), "b": reports.llrs()}, ["EER"])
    lines = Page(render(Report(unknown))).best["By system"][1:]
    assert [line[1][1] for line in lines] == [False, True]


def test_warnings_are_folded_and_counted(two):
    table = reports.evaluation_of([Row("EER", 0.5)])
    page = Page(render(Report(table, read=["x", "warning: one", "warning: <two>"])))
    assert "2 warnings one <two>" in page.text
    assert len(page.all("details")) == 1
    assert not two.all("details")


# The assessment of calibration


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((20.0, 15.0, 25.0), "not calibrated"), ((5.0,), "not calibrated"),
        ((4.99,), "slightly off"), ((3.0, 1.0, 4.5), "slightly off"), ((1.0,), "slightly off"),
        ((0.99,), "calibrated"), ((0.5, 0.1, 0.9), "calibrated"), ((0.5, 0.0, 0.9), "calibrated"),
        ((2.0, -1.0, 4.0), "calibrated"), ((9.0, -3.0, 20.0), "inconclusive"),
        ((-0.5, -1.0, -0.1), "calibrated"), ((0.0, 0.0, 0.0), "calibrated"),
        ((-np.inf,), "inconclusive"), ((-9.0, -20.0, 1.0), "inconclusive"),
        ((np.nan,), "unknown"), ((100.0, None, None, np.inf), "not calibrated"),
        ((45.8, 44.8, 63.7, 0.4, 335), "inconclusive"),
        ((45.8, 44.8, 63.7, 0.4, 50), "not calibrated"),
    ],
)  # fmt: skip
def test_assessment_of_calibration(numbers, words):
    """Rows are known by their roles."""
    rcl, low, high, nce, n_undefined = (*numbers, *(None, None, 0.4, 0)[len(numbers) - 1 :])
    loss = Row("saved", rcl, low, high, role="RCL", n_undefined=n_undefined)
    evaluation = reports.evaluation_of([loss, Row("mine", nce, role="NCE")])
    intervals = Intervals.of(1000, 0.95, "auto", None, 0)
    page = Page(render(Report(replace(evaluation, intervals=intervals))))
    assert page.best["Relative calibration loss"][1][2] == (words, False)


# A page on its own


def test_nothing_is_loaded_from_elsewhere(two):
    for name in ("http:", "https:", "//", "@import", "src="):
        assert name not in re.sub(r"(?m)^\s*//.*$", "", two.html)
    for _, attributes in two.elements:
        for name in ("href", "src", "xlink:href", "data"):
            target = attributes.get(name) or "#"
            assert target.startswith("#") or target == "data:,"
    assert not any(name.startswith("on") for _, attributes in two.elements for name in attributes)


def test_ids_are_unique_and_references_lead_somewhere(two):
    ids = [attributes["id"] for _, attributes in two.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    wanted = set(re.findall(r"url\(#(.*?)\)", two.html))
    wanted |= {a["xlink:href"][1:] for a in two.all("use")}
    wanted |= {a["aria-labelledby"] for _, a in two.elements if "aria-labelledby" in a}
    assert wanted
    assert wanted <= set(ids)


def test_tables_and_figures_can_be_read_out(two):
    assert all(svg["role"] == "img" and len(svg["aria-label"]) > 30 for svg in two.all("svg"))
    assert len(two.all("caption")) == len(two.all("table")) == 5
    assert all(head["scope"] in ("col", "row") for head in two.all("th"))
    assert two.all("html") == [{"lang": "en"}]
    assert next(tag for tag, _ in two.elements if tag in ("h1", "h2", "h3")) == "h1"


def named(name):
    samples = reports.llrs(60)
    return reports.report(
        {name: samples, "b": samples}, conditions=(name, "other"), read=[name], text=[name],
        title=name, command=name or "x", made=name or "x",
    )  # fmt: skip


@pytest.fixture(scope="module")
def plain():
    return Page(render(named("a")))


#: An element, and characters that no page may hold.
QUICK = reports.NAMES[:7:6]


@pytest.mark.parametrize(
    "name",
    [*QUICK, *(pytest.param(name, marks=pytest.mark.slow)
               for name in reports.NAMES if name not in QUICK)],
)  # fmt: skip
def test_names_are_text(name, plain):
    kinds = {"path", "g", "tspan", "text", "defs", "clippath", "rect", "use"}  # of figures
    html = render(named(name))
    html.encode()
    page = Page(html)
    tags, others = ([tag for tag, _ in each.elements if tag not in kinds] for each in (page, plain))
    assert tags == others
    assert not any(key.startswith("on") for _, attributes in page.elements for key in attributes)
    if name in reports.MARKUP:
        assert " ".join(name.split()) in page.text


def test_the_same_report_is_the_same_page(plain):
    assert render(named("a")) == plain.html


@pytest.mark.slow
def test_reports_do_not_load_pyplot():
    code = (
        "import sys, fastpsr.report as r; from tests import reports as t\n"
        "r.render(t.report({'a': t.llrs(60)})); print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


# What is refused


def test_reports_check_what_they_are_given():
    table = reports.report({"a": reports.llrs(60), "b": reports.llrs(60)}).evaluation
    raw = fp.Predictions.from_raw_scores([0, 1], [0.1, 0.4])
    unlabeled = fp.Predictions.from_llrs(None, [1.0], prior=0.5)
    for predictions, words in (
        ({"c": raw}, "predictions must be of a, b, not of 'c'"),
        ({"a": [1.0]}, r"predictions\['a'\] must be Predictions, not list"),
        ({"a": unlabeled}, r"predictions\['a'\] must be labeled"),
        ({"a": raw, "b": reports.many_classes()}, "all be binary or none"),
    ):
        with pytest.raises(ValueError, match=words):
            Report(table, predictions)


def test_a_wrong_place_is_refused_before_any_work(tmp_path):
    for path, error in ((tmp_path / "none" / "r.html", FileNotFoundError),
                        (tmp_path, IsADirectoryError)):  # fmt: skip
        with pytest.raises(error):
            write_report(path, mock.Mock())  # of which nothing is asked
