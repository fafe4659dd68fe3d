"""The scripts in docs/paper: short, on public names only, and printing what their page shows."""

import ast
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from unittest import mock

import numpy as np
import pytest

import fastpsr as fp
from tools import pages

DOCS = Path(__file__).parents[1] / "docs"
PAPER = DOCS / "paper"
FILES = sorted(PAPER.glob("*.py"))
SMALL = {
    "figure1": ["--seeds", "1"],
    "figure2": ["--seeds", "1"],
    "figure3": ["--seeds", "1"],
    "figure4": ["--samples", "500"],
    "appendix_e": ["--replicates", "40"],
    "table1": ["--seeds", "1"],
    "table2": ["--data", "data"],
    "table3": ["--data", "data"],
}
CONSOLES = [
    body for kind, body, _ in pages.BLOCK.findall((PAPER / "README.md").read_text("utf-8"))
    if kind == "console"
]  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, from where the scripts can be run."""
    monkeypatch.chdir(tmp_path)
    Path("docs").symlink_to(DOCS)
    return tmp_path


@pytest.fixture
def scores(folder):
    """A folder of the layout of the published scores, with few samples and some scores missing."""
    rng = np.random.default_rng(0)
    names = "sst2_gpt2_4shot sst2_gpt2 sitw_plda fvcaus_plda cifar100_resnet-20 cifar100_vgg19_bn "
    names += "cifar100_repvgg_a2 iemocap_wav2vec_pt agnews_gpt2 cifar10_resnet-20 cifar10_vgg19_bn "
    for name in (names + "cifar10_repvgg_a2").split():
        n_classes = 4 if "10" in name or "iemocap" in name or "agnews" in name else 2
        y = np.arange(400) % n_classes
        place = folder / "data" / name
        place.mkdir(parents=True)
        np.save(place / "targets.npy", y)
        if name != "sitw_plda":
            np.save(place / "scores.npy", np.eye(n_classes)[y] + rng.normal(size=(400, n_classes)))
    return folder / "data"


def run(name, *arguments):
    """Run a script in this process, with its folder first on the path, as Python has it."""
    kept = {module: sys.modules.get(module) for module in ("common", "datasets", "synthetic")}
    path = [str(PAPER), *sys.path]
    try:
        with (
            mock.patch.object(sys, "path", path),
            mock.patch.object(sys, "argv", [name, *arguments]),
        ):
            runpy.run_path(str(PAPER / f"{name}.py"), run_name="__main__")
    finally:
        for module, before in kept.items():
            sys.modules.pop(module, None)
            if before is not None:
                sys.modules[module] = before


def public_parts(tree):
    """Yield the dotted names below fp that a script uses."""
    for node in ast.walk(tree):
        parts, inner = [], node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if parts and isinstance(inner, ast.Name) and inner.id == "fp":
            yield parts[::-1]


def test_each_figure_and_table_has_a_script():
    scripts = {path.stem for path in FILES if path.stem[-1].isdigit()} | {"appendix_e"}
    assert scripts == set(SMALL)
    assert all((PAPER / f"{name}.py").exists() for name in scripts)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_scripts_are_short_and_use_public_names(path):
    text = path.read_text("utf-8")
    assert len(text.splitlines()) < 80
    tree = ast.parse(text)
    for node in ast.walk(tree):
        imported = [alias.name for alias in getattr(node, "names", [])]
        if isinstance(node, ast.ImportFrom):
            imported = [node.module]
        if isinstance(node, ast.Import | ast.ImportFrom):
            of_fastpsr = [name for name in imported if name.split(".")[0] == "fastpsr"]
            assert of_fastpsr in ([], ["fastpsr"]), of_fastpsr
            assert not (of_fastpsr and isinstance(node, ast.ImportFrom)), (
                "only: import fastpsr as fp"
            )
    for parts in public_parts(tree):
        place = fp
        for part in parts:
            if not isinstance(place, ModuleType):
                break  # attributes of results: mypy and the runs see to them
            assert part in (*place.__all__, "plotting"), ".".join(parts)
            place = getattr(place, part)


@pytest.mark.parametrize("name", SMALL)
def test_scripts_write_a_figure_and_numbers(name, scores, capsys):
    run(name, *SMALL[name], "--out", "made/here", "--json", "numbers.json")
    drawing = Path(f"made/here/{name}.svg").read_text("utf-8")
    assert "<svg" in drawing
    assert "<path" in drawing
    assert json.loads(Path("numbers.json").read_text())
    assert re.search(r"\d\.\d", capsys.readouterr().out)


def test_table2_names_what_is_missing_and_marks_what_differs(scores, capsys):
    run("table2", "--data", "data")
    printed = capsys.readouterr().out
    assert "SITW XvPLDA skipped: no scores.npy in sitw_plda\n" in printed
    assert re.search(r"^SST2 GPT2-4sh raw +\d\.\d{3}\*", printed, re.M)
    assert re.search(r"^\d+ of 201 printed values come out$", printed, re.M)


def test_deviations_are_those_of_the_files(folder, capsys):
    rows = {"A|raw": {"C01": 0.5, "NCE": 0.25}, "A|cal": {"C01": 0.25, "NCE": 0.125}}
    Path("here.json").write_text(json.dumps(rows))
    Path("there.json").write_text(json.dumps({"A|raw": {"C01": 0.5, "NCE": 0.5}, "B|raw": {}}))
    run("deviations", "here.json", "there.json")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["C01", "+0.00000", "0.50000", "0.50000", "1", "A|raw"]
    assert lines[2].split() == ["NCE", "-0.25000", "0.25000", "0.50000", "1", "A|raw"]
    assert lines[3:] == [f"not compared, in one only: {name}" for name in ("A|cal", "B|raw")]


def run_all(*arguments):
    return subprocess.run(
        [sys.executable, "docs/paper/run_all.py", *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_run_all_collects_what_the_scripts_make(scores):
    done = run_all("--data", "data", "--out", "all", "--only", "table3", "appendix_e")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in Path("all").iterdir()) == [
        f"{name}.{kind}" for name in ("appendix_e", "table3") for kind in ("json", "svg", "txt")
    ]
    assert re.search(r"^table3 +done in \d+\.\d s$", done.stdout, re.M)
    assert "SST2" in Path("all/table3.txt").read_text()
    assert "appendix_e" in done.stderr


@pytest.mark.slow
def test_run_all_says_what_failed_and_what_was_skipped(folder):
    done = run_all("--data", "nowhere", "--out", "all", "--only", "table3")
    assert done.returncode == 1
    assert re.search(r"^table3 +failed, exit code 1: FileNotFoundError", done.stdout, re.M)
    assert "Traceback" in Path("all/table3.txt").read_text()
    done = run_all("--out", "all", "--only", "table3")
    assert done.returncode == 0
    assert "table3     skipped: needs --data\n" in done.stdout


def test_run_all_does_without_rich(folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with pytest.raises(SystemExit) as raised:
        run("run_all", "--out", "all", "--only", "table3")
    assert raised.value.code == 0
    assert capsys.readouterr().err == "1/1 table3\n"


def test_the_page_has_all_commands():
    named = set(re.findall(r"^\$ python docs/paper/(\w+)\.py", "".join(CONSOLES), re.M))
    assert named == {*SMALL, "deviations"}


@pytest.mark.parametrize(
    "body",
    [pytest.param(body, marks=[] if "table3" in body else pytest.mark.slow) for body in CONSOLES],
    ids=lambda body: body.split("\n", 1)[0][2:],
)
def test_the_page_shows_what_the_scripts_print(body, folder):
    if "FASTPSR_DATA" in body and not os.environ.get("FASTPSR_DATA"):
        pytest.skip("FASTPSR_DATA is not set")
    with mock.patch.dict(os.environ, pages.SURROUNDINGS):
        printed = pages.console(body)
    assert printed == body, "if this is right: python -m tools.pages docs/paper/README.md"
