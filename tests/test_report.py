"""Reports: what they hold, that names stay text, and that a file is written whole or not at all."""

import errno
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
from fastpsr import plotting
from fastpsr.evaluation import BestCalibrator, Intervals, Row
from fastpsr.evaluation.layout import number, with_interval
from fastpsr.metrics.defaults import default_metrics
from fastpsr.plotting.notes import take_notes
from fastpsr.report import Report, render, write_report
from fastpsr.report.svg import legend_above, new_axes
from fastpsr.report.tables import metric_tables
from fastpsr.report.verdict import verdicts
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


def test_a_report_says_what_was_read_and_how_it_was_made(two):
    for words in ("A first paragraph.", "key.txt: 300 trials", "fastpsr evaluate 'a b'", "today",
                  "40 replicates, resampling IID, seed 0",
                  f"fastpsr {fp.__version__}", f"numpy {np.__version__}"):  # fmt: skip
        assert words in two.text


def test_a_report_has_every_number(two):
    samples = reports.llrs(scale=2.0)
    table = fp.evaluate(samples, reports.METRICS, n_resamples=40, seed=0)
    for row in table.rows:
        for text in with_interval(row.value, row.low, row.high, row.unit):
            assert text in two.text
        assert row.note in two.text


def test_figures_fit_the_data(two):
    def titles(page):
        return re.findall(r"<h3>(.*?)</h3>", page.html)

    binary = ["Detection error trade-off", "Normalized Bayes error", "Empirical cross-entropy",
              "Reliability", "Score histogram", "Tippett plot", "PAV map"]  # fmt: skip
    bars = ["Normalized metrics", "EER by condition", "Cllr by condition"]
    assert titles(two) == [*bars, *binary]
    raw = fp.Predictions.from_raw_scores(np.arange(60) % 2, np.random.default_rng(0).random(60))
    assert titles(page_of({"raw": raw}))[1:] == [
        "Detection error trade-off", "Receiver operating characteristic", "Normalized Bayes error",
        "Score histogram", "PAV map",
    ]  # fmt: skip
    many = titles(page_of({"k": reports.many_classes()}))
    assert many == [
        "Normalized metrics",
        "Reliability of the confidence",
        "Reliability of the confidence in bins",
        "Reliability of k, classes 0, 1, 2, 3",
    ]


@pytest.mark.slow
def test_det_curves_by_condition_and_operating_points():
    page = Page(render(reports.grid()))
    titles = re.findall(r"<h3>(.*?)</h3>", page.html)
    of_conditions = [title for title in titles if "trade-off, condition" in title]
    assert len(of_conditions) == 5
    assert "Detection error trade-off, condition far-field" in of_conditions
    det = next(svg["aria-label"] for svg in page.all("svg") if "trade-off" in svg["aria-label"])
    assert "operating points" in det
    for words in ("Hollow marks", "Detection costs", "cost of a false alarm", "divided by the",
                  "minDCF(0.3), actDCF(0.3)"):  # fmt: skip
        assert words in page.text
    drawn = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", page.html))
    for words in ("minDCF(0.1:1:2)", "actDCF(0.3)", "microphone", "EER (percent)"):
        assert words in drawn
    assert "condition=microphone" not in drawn


def test_tables_have_few_columns():
    tables = metric_tables(reports.grid())[:3]
    assert all(len(table.header) <= 2 + 6 for table in tables)
    named = [name for table in tables for name in table.header[2:]]
    assert len(named) == len(set(named)) == 2 + 11
    assert [table.caption[-11:] for table in tables] == [f"part {k} of 3" for k in (1, 2, 3)]


def test_the_most_frequent_of_many_classes_are_drawn():
    sizes = np.repeat(np.arange(20), np.where(np.arange(20) % 2, 9, 3))
    data = fp.Predictions.from_logits(sizes, 2.0 * np.eye(20)[sizes])
    page = page_of({"k": data}, metrics={"NCE": fp.CrossEntropy()})
    titles = re.findall(r"<h3>(.*?)</h3>", page.html)[-2:]
    assert titles == [
        "Reliability of k, classes 0, 1, 2, 3, 5, 7",
        "Reliability of k, classes 9, 11, 13, 15, 17, 19",
    ]
    assert "the 12 most frequent of 20 classes" in page.text


def test_legends_lie_above_the_axes():
    with new_axes() as ax:
        names = [f"system number {k}, with a long name" for k in range(6)]
        plotting.det({name: reports.llrs(seed=k) for k, name in enumerate(names)}, ax=ax)
        notes = take_notes(ax)
        legend_above(ax)
        ax.figure.draw_without_rendering()
        legend, axes = ax.get_legend().get_window_extent(), ax.get_window_extent()
        assert legend.y0 >= axes.y1
        whole = ax.figure.bbox
        assert 0 <= legend.x0 < legend.x1 <= whole.x1
        assert legend.y1 <= whole.y1
        assert "lie beyond the axes" in notes
        assert not ax.texts


def test_a_report_without_predictions_has_tables_and_bars():
    page = Page(
        render(Report(reports.evaluation_of([Row("NCE", 0.5, note="x", reference_value=1.0)])))
    )
    assert len(page.all("svg")) == 1
    assert len(page.all("table")) == 1
    assert not Page(render(Report(reports.evaluation_of([Row("EER", 0.5)])))).all("svg")


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    "make", [reports.infinite, reports.no_targets, reports.all_equal, reports.one]
)
def test_what_cannot_be_drawn_or_computed_is_said(make):
    page = page_of({"good": reports.llrs(), "bad": make()})
    labels = " ".join(svg["aria-label"] for svg in page.all("svg"))
    assert "bad" in labels
    assert len(page.all("svg")) == 8
    if make is not reports.all_equal:
        assert "why there is no finite value" in page.text


def plain_report():
    samples = reports.llrs(60)
    return reports.report({"a": samples, "b": samples}, conditions=("c", "other"), read=["x"],
                          text=["x"], command="x", made="x")  # fmt: skip


@pytest.fixture(scope="module")
def plain():
    return Page(render(plain_report()))


def test_the_same_report_is_the_same_page(plain):
    assert render(plain_report()) == plain.html


# Many systems


def cells_of(page):
    """Cells of the tables of the overview, by caption: whether they are bold, and their text."""
    overview = page.html.split('id="overview"')[1].split("</section>")[0]
    tables = {}
    for table in overview.split("<table")[1:]:
        caption = re.search(r"<caption[^>]*>(.*?)</caption>", table)[1]
        rows = re.findall(r"<tr>(.*?)</tr>", table.split("<tbody>")[1], re.S)
        tables[caption] = [
            re.findall(r'<t[hd][^>]*?(best)?" data-[^>]*>([^<]*)<', row) for row in rows
        ]
    return tables


def overview_of(table):
    page = Page(render(Report(table)))
    assert page.text.index("Overview") < page.text.index("Metrics")
    return cells_of(page)


def test_the_overview_marks_the_best_system_of_each_condition():
    names = {"worse": reports.llrs(scale=3.0), "good": reports.llrs()}
    names["same"] = names["good"]
    half = {"half": np.arange(300) // 150}
    metrics = {"my EER": fp.EER(), "minDCF": fp.MinDCF(0.3), "actDCF": fp.ActDCF(0.3),
               "my Cllr": fp.Cllr(), "AUC": fp.AUC()}  # fmt: skip
    table = fp.evaluate(names, metrics, by=half)
    found = overview_of(table)
    assert list(found) == [f"{name} by half" for name in metrics if name != "AUC"]
    for place, group in enumerate((None, "half=0", "half=1")):
        values = {name: table[name, group, "my Cllr"] for name in names}
        for (name, value), line in zip(values.items(), found["my Cllr by half"], strict=True):
            is_best, shown = line[1 + place]
            assert shown == number(value)
            assert bool(is_best) == (value == min(values.values())), name
    (of_systems,) = overview_of(fp.evaluate(names, metrics)).values()
    assert [len(line) for line in of_systems] == [5] * 3
    assert [bool(line[-1][0]) for line in of_systems] == [False, True, True]
    (of_one,) = overview_of(fp.evaluate(names["good"], metrics, by=half)).values()
    assert not any(is_best for line in of_one for is_best, _ in line)
    assert "Overview" not in Page(render(Report(fp.evaluate(names["good"], metrics)))).text


def test_values_that_are_not_known_are_not_best():
    found = overview_of(fp.evaluate({"a": reports.no_targets(), "b": reports.llrs()}, ["EER"]))
    ((a, b),) = found.values()
    assert [bool(line[1][0]) for line in (a, b)] == [False, True]


def test_each_figure_is_told_before_it_is_drawn():
    told = []
    page = Page(
        render(reports.report({"a": reports.many_classes()}), lambda *step: told.append(step))
    )
    assert [title for title, *_ in told] == re.findall(r"<h3>(.*?)</h3>", page.html)


def test_warnings_are_folded_and_counted(plain):
    table = reports.evaluation_of([Row("EER", 0.5)])
    page = Page(render(Report(table, read=["x", "warning: one", "warning: <two>"])))
    folded = page.html.split("<details>")[1].split("</details>")[0]
    assert "<summary>2 warnings</summary>" in folded
    assert "<li>one</li>" in folded
    assert "<li>&lt;two&gt;</li>" in folded
    assert page.html.count("<details>") == 1
    assert "<details>" not in plain.html


@pytest.mark.slow
def test_all_systems_are_in_one_figure_of_each_kind():
    systems = {f"system {k}": reports.llrs(90, seed=k) for k in range(8)}
    page = page_of(systems, conditions=("pooled", "gender=f"))
    titles = re.findall(r"<h3>(.*?)</h3>", page.html)
    assert len(titles) == len(set(titles)) == 10
    assert not any("systems" in title for title in titles)
    for label in (svg["aria-label"] for svg in page.all("svg")):
        assert all(name in label for name in systems)
    assert "<summary>8 systems in words</summary>" in page.html


def test_spoofed_trials_are_apart():
    samples = reports.llrs()
    spoof = (samples.labels == 0) & (np.arange(300) % 2 == 0)
    content = reports.report({"a": samples}, spoof={"a": spoof})
    page = Page(render(content))
    drawn = re.findall(r"<text[^>]*>([^<]*)</text>", page.html)
    assert drawn.count("spoofed trials") == 2  # of the histogram, and of the Tippett plot
    assert page.text.count("Spoofed trials are apart") == 2


# The verdict


def judge(rcl, low=None, high=None, nce=0.4, **parts):
    loss = Row("saved", rcl, low, high, note="not computed: why", role="RCL")
    rows = [loss, Row("mine", nce, role="NCE")]  # found by their roles, whatever their names
    (found,) = verdicts(Report(reports.evaluation_of(rows, **parts)))
    return found.short, " ".join(found.words)


@pytest.mark.parametrize(
    ("numbers", "short", "words"),
    [
        ((20.0, 15.0, 25.0), "not calibrated", "would save 20.0 % of the cross-entropy (15.0 to"),
        ((20.0,), "not calibrated", "from 0.400 to 0.320"),
        ((3.0, 1.0, 4.5), "slightly off", "slightly miscalibrated"),
        ((3.0,), "slightly off", "without an interval"),
        ((0.5, 0.1, 0.9), "nearly calibrated", "little but more than chance"),
        ((2.0, -1.0, 4.0), "calibrated", "may be chance"),
        ((9.0, -3.0, 20.0), "cannot tell", "may be chance"),
        ((-0.5, -1.0, -0.1), "calibrated", "0.5 % worse"),
        ((-0.01,), "calibrated", "would change nothing"),
        ((-np.inf,), "cannot tell", "cross-entropy infinite"),
        ((-9.0, -20.0, 1.0), "cannot tell", "too few to tell"),
        ((np.nan,), "not known", "why"),
        ((0.0, 0.0, 0.0), "calibrated", "would change nothing"),
    ],
)
def test_verdicts(numbers, short, words):
    found = judge(*numbers)
    assert found[0] == short
    assert words in found[1]


def test_no_verdict_on_an_interval_that_leaves_out_many_replicates():
    row = Row("saved", 45.8, 44.8, 63.7, n_undefined=335, role="RCL", unit="percent")
    evaluation = replace(
        reports.evaluation_of([row]), intervals=Intervals.of(1000, 0.95, "auto", None, 0)
    )
    best = BestCalibrator("beta", 45.8, ("dp", "beta"), "CE")
    group = replace(evaluation.groups[0], best_calibrator=best)
    evaluation = replace(evaluation, groups=(group,))
    (found,) = verdicts(Report(evaluation))
    assert found.short == "cannot tell"
    assert "undefined in 335 of 1,000 replicates" in " ".join(found.words)
    assert "saved is undefined in 335 of 1,000 replicates" in str(evaluation)
    assert str(evaluation).endswith("too few data to tell")
    few = evaluation.with_rows(lambda each: replace(each, n_undefined=50))
    assert verdicts(Report(few))[0].short == "not calibrated"
    assert "undefined" not in str(few)
    assert "too few" not in str(few)


def test_infinite_cross_entropy_is_not_calibrated():
    short, words = judge(100.0, nce=np.inf)
    assert short == "not calibrated"
    assert "infinite" in words


def test_the_bound_is_that_of_pav():
    samples = reports.llrs(scale=3.0)
    bound = fp.CalibrationLoss(fp.rules.Log(), fp.PAV(), fp.TrainOnTest())(samples)
    given = verdicts(reports.report({"a": samples}))[0].words[-1]
    assert f"save more than {bound:.1f} %" in given
    usual = reports.report({"a": samples}, metrics=default_metrics(2))
    assert verdicts(usual)[0].words[-1] == given


def test_raw_scores_cannot_be_judged():
    raw = fp.Predictions.from_raw_scores([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])
    (found,) = verdicts(reports.report({"a": raw}))
    assert "only rank" in found.words[0]
    assert "(minCllr)" in found.words[0]


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
    wanted |= {a["href"][1:] for a in two.all("use")}
    wanted |= {a["aria-labelledby"] for _, a in two.elements if "aria-labelledby" in a}
    assert wanted
    assert wanted <= set(ids)


def test_tables_and_figures_can_be_read_out(two):
    assert all(svg["role"] == "img" and len(svg["aria-label"]) > 30 for svg in two.all("svg"))
    assert len(two.all("caption")) == len(two.all("table")) == 6
    assert all(head["scope"] in ("col", "row") for head in two.all("th"))
    assert two.all("html") == [{"lang": "en"}]
    assert next(tag for tag, _ in two.elements if tag in ("h1", "h2", "h3")) == "h1"


#: An element, and characters that no page may hold.
QUICK = reports.NAMES[:7:6]


@pytest.mark.parametrize(
    "name",
    [*QUICK, *(pytest.param(name, marks=pytest.mark.slow)
               for name in reports.NAMES if name not in QUICK)],
)  # fmt: skip
def test_names_are_text(name, plain):
    samples = reports.llrs(60)
    content = reports.report(
        {name: samples, "b": samples}, conditions=(name, "other"), read=[name], text=[name],
        title=name, command=name or "x", made=name or "x",
    )  # fmt: skip
    html = render(content)
    html.encode()
    page = Page(html)
    kinds = {"path", "g", "tspan", "text", "defs", "clippath", "rect", "use"}  # of figures

    def skeleton(page):
        return [tag for tag, _ in page.elements if tag not in kinds]

    assert skeleton(page) == skeleton(plain)
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    if name in reports.MARKUP:
        assert " ".join(name.split()) in page.text
    assert "49" not in page.text or "7 * 7" not in name or "{{ 7 * 7 }}" in page.text


def test_names_that_are_shortened_stay_apart():
    samples = reports.many_classes()
    page = page_of({"x" * 90: samples, f"{'x' * 89}x" + " ": samples, "x" * 80: samples})
    legend = set(re.findall(r"x+\u2026x+(?: \(\d\))?", " ".join(page.texts)))
    assert len(legend) == 3


@pytest.mark.slow
def test_reports_do_not_load_pyplot():
    code = (
        "import sys, fastpsr.report as r; from tests import reports as t\n"
        "r.render(t.report({'a': t.llrs(60)})); print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.stdout == "False\n", done.stderr


@pytest.mark.slow
def test_ten_million_trials_fit_in_two_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.random(10_000_000) < 0.1
    noise = rng.normal(size=y.size)
    systems = {
        name: fp.Predictions.from_llrs(y, scale * (2.0 * noise + 4.0 * y - 2.0))
        for name, scale in (("a", 1.0), ("b", 0.7))
    }
    write_report(tmp_path / "r.html", reports.report(systems, metrics={"EER": fp.EER()}))
    assert (tmp_path / "r.html").stat().st_size < 2_000_000


def test_a_report_is_small(two):
    assert len(two.html) < 500_000


# What is refused


def test_reports_check_what_they_are_given():
    table = reports.report({"a": reports.llrs(60), "b": reports.llrs(60)}).evaluation
    raw = fp.Predictions.from_raw_scores([0, 1], [0.1, 0.4])
    with pytest.raises(ValueError, match="predictions must be of a, b, not of 'c'"):
        Report(table, {"c": raw})
    with pytest.raises(ValueError, match=r"predictions\['a'\] must be Predictions, not list"):
        Report(table, {"a": [1.0]})
    with pytest.raises(ValueError, match=r"predictions\['a'\] must be labeled"):
        Report(table, {"a": fp.Predictions.from_llrs(None, [1.0], prior=0.5)})
    assert Report(table, {"a": raw, "b": reports.llrs()}).is_raw
    with pytest.raises(ValueError, match="all be binary or none"):
        Report(table, {"a": raw, "b": reports.many_classes()})


def test_a_missing_folder_is_said_before_any_work(tmp_path):
    with mock.patch("fastpsr.report.page.render") as work:
        with pytest.raises(FileNotFoundError, match="No such folder"):
            write_report(tmp_path / "none" / "r.html", mock.Mock())
        with pytest.raises(IsADirectoryError):
            write_report(tmp_path, mock.Mock())
    work.assert_not_called()


def test_a_full_disk_leaves_no_half_file(tmp_path):
    content = Report(reports.evaluation_of([Row("EER", 0.5)]))
    target = tmp_path / "r.html"
    target.write_text("as before", "utf-8")
    full = OSError(errno.ENOSPC, "No space left on device")
    with (
        mock.patch("pathlib.Path.write_text", side_effect=full),
        pytest.raises(OSError, match=r"No space left on device: .*r\.html"),
    ):
        write_report(target, content)
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
    assert target.read_text("utf-8") == "as before"
