"""The documentation as a site: what it is made of, and that its checks find what is wrong.

The site itself is built and checked by ``.ci/docs``.
"""

import ast
import importlib
import re
import sys
from pathlib import Path

import pytest

import fastpsr as fp
from tests import site
from tests.interface import FILE as INTERFACE

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for path in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
}
SCRIPTS = sorted((DOCS / "gallery").glob("*.py"))


@pytest.fixture
def extension(monkeypatch):
    """Import an extension of the site; skip where Sphinx is not installed."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(DOCS / "_ext")

    def load(name):
        module = importlib.import_module(name)
        monkeypatch.delitem(sys.modules, name)
        return module

    return load


def test_everything_public_is_in_the_api(extension):
    shown = re.findall(r"^\.\. api:: (.*)$", "".join(PAGES.values()), re.M)
    modules = [module for line in shown for module in line.split()]
    public = extension("api").names()
    assert sorted(modules) == sorted(public)
    listed = [name for names in public.values() for name in names]
    assert len(listed) == len(set(listed))
    promised = re.findall(r"^(?:fp|fastpsr)(\.[\w.]+)\(", INTERFACE.read_text("utf-8"), re.M)
    assert promised
    assert {f"fastpsr{name}" for name in promised} <= {*listed}


def test_methods_of_a_class_are_those_for_users(extension):
    members = extension("api").members
    assert "operating_point" in members(fp.EER)
    assert not {"total", "plan", "finish", "label"} & {*members(fp.EER)}
    assert {"fit", "transform"} <= {*members(fp.calibration.Calibrator)}
    assert "fit" not in members(fp.PAV)
    assert "plan" not in members(fp.metrics.Metric)


def test_code_of_pages_has_names_that_there_are():
    unknown = []
    for page, text in PAGES.items():
        for name in re.findall(r"`fp\.([A-Za-z_][\w.]*\w)", text):
            thing = fp
            for part in name.split("."):
                thing = getattr(thing, part, None)
            if thing is None:
                unknown.append(f"{page}: fp.{name}")
    assert unknown == []


def test_every_plotting_function_has_a_figure():
    plotting = pytest.importorskip("fastpsr.plotting", exc_type=ImportError)
    assert [path.stem for path in SCRIPTS] == sorted(plotting.__all__)
    drawn = [path.stem for path in SCRIPTS if f"fp.plotting.{path.stem}(" in path.read_text()]
    assert drawn == [path.stem for path in SCRIPTS]


def test_scripts_have_a_title_a_text_and_code(extension):
    parts = extension("gallery").parts
    for path in SCRIPTS:
        title, text, code = parts(path.read_text("utf-8"))
        assert title
        assert text
        assert ast.parse(code)
        assert code.startswith("import ")


def test_terms_are_sorted_and_have_names_here_and_elsewhere():
    page = PAGES["docs/glossary.md"]
    terms = re.findall(r"^## (.*)\n\n.+(?:\n.+)*\n\n- Here: .+\n- Elsewhere: .+$", page, re.M)
    assert len(terms) == page.count("\n## ")
    assert terms == sorted(terms, key=str.lower)


def test_formulas_are_drawn_or_refused(extension):
    nodes = pytest.importorskip("docutils.nodes")
    mathml = extension("mathml")
    assert "<mfrac>" in mathml.made(nodes.math("", r"\frac{a}{b}"), as_block=True)
    with pytest.raises(mathml.ExtensionError, match="nonsense"):
        mathml.made(nodes.math("", r"\nonsense{a}"), as_block=True)


@pytest.fixture
def folder(tmp_path):
    """A site without faults: two pages, a style sheet, and an index of both pages."""
    head = (
        '<meta name="viewport" content="width=device-width">'
        '<link rel="stylesheet" href="site.css"><link rel="search" href="search.html">'
    )
    (tmp_path / "site.css").write_text("p { background: url('data:image/png;base64,') }")
    (tmp_path / "search.html").write_text("<p>no links</p>")
    (tmp_path / "searchindex.js").write_text('Search.setIndex({docnames:["a","b"]})')
    links = '<a href="b.html#there">b</a> <a href="#here">a</a> <a href="https://example.org">c</a>'
    (tmp_path / "a.html").write_text(f'{head}<p id="here">{links}</p>')
    (tmp_path / "b.html").write_text(f'{head}<p id="there"><a href="a.html?x=1">a</a></p>')
    return tmp_path


def faults(folder):
    pages = site.pages_of(folder)
    return [
        *site.broken(pages),
        *site.remote(folder, pages),
        *site.unfindable(folder, pages),
    ]


def test_a_site_without_faults_passes(folder):
    assert faults(folder) == []


@pytest.mark.parametrize(
    ("added", "fault"),
    [
        ('<a href="c.html">c</a>', "a.html: c.html"),
        ('<a href="b.html#where">b</a>', "a.html: b.html#where"),
        ('<a href="#where">a</a>', "a.html: #where"),
        ('<img src="picture.png">', "a.html: picture.png"),
        ('<script src="https://cdn.org/x.js"></script>', "a.html: https://cdn.org/x.js"),
        ('<link rel="preload" href="//fonts.org/x">', "a.html: //fonts.org/x"),
        ('<img src="HTTP://example.org/x.png">', "a.html: HTTP://example.org/x.png"),
        ("<style>@import 'https://x.org/y.css';</style>", "a.html: https://x.org/y.css"),
        ('<p style="background: url(http://x.org/y)">', "a.html: http://x.org/y"),
    ],
)
def test_faults_of_pages_are_found(folder, added, fault):
    page = folder / "a.html"
    page.write_text(page.read_text() + added)
    assert faults(folder) == [fault]


def test_faults_of_style_sheets_and_of_the_index_are_found(folder):
    (folder / "site.css").write_text("p { background: url(https://x.org/y.png) }")
    (folder / "searchindex.js").write_text('Search.setIndex({docnames:["a"]})')
    assert faults(folder) == ["site.css: https://x.org/y.png", "b"]


@pytest.mark.slow
def test_a_browser_finds_what_is_too_wide_or_cut_off_and_what_is_requested(folder):
    pytest.importorskip("selenium")
    (folder / "b.html").write_text(
        '<meta name="viewport" content="width=device-width"><p style="width: 900px">b</p>'
        '<img src="http://127.0.0.1:65500/x.png"><div style="overflow: auto; width: 300px">'
        '<article><p style="width: 400px">d</p>'
        '<pre style="width: 200px; overflow: auto"><b style="margin: 400px">c</b></pre></article>'
    )
    pages = [folder / "a.html", folder / "b.html"]
    with site.browser(390) as driver:
        if driver is None:
            pytest.skip("needs Debian's chromium and chromium-driver")
        found = site.seen(driver, pages, 390)
        assert len(site.not_found(driver, folder, seconds=0.1)) == len(site.QUESTIONS)
    assert any("b.html: 9" in each and "pixels wide" in each for each in found)
    assert [each for each in found if "cut off" in each and ">d<" in each]
    assert not [each for each in found if "cut off" in each and ">c<" in each]
    assert "requested: http://127.0.0.1:65500/x.png" in found
    assert not any("a.html" in each for each in found)


def test_the_command_prints_faults_and_fails(folder, monkeypatch, capsys):
    monkeypatch.setattr(site.shutil, "which", lambda name: None)
    assert site.main([str(folder)]) == 0
    assert capsys.readouterr() == ("", "no chromium: pages are not opened\n")
    (folder / "b.html").unlink()
    assert site.main([str(folder)]) == 1
    assert capsys.readouterr().out == "a.html: b.html#there\n"
