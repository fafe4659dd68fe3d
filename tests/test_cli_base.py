"""--base 10: what commands write and show is the natural logarithm divided by that of 10."""

import re
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from tests.commands import fastpsr, succeed
from tests.golden.files import write_files

LN10 = np.log(10.0)
TEN = ("--base", "10")


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files()


def scores(path):
    return np.array([float(line.split()[-1]) for line in Path(path).read_text().splitlines()])


def numbers(text):
    return np.array([float(word) for word in re.findall(r"-?\d\S*", text.replace("- ", "-"))])


def test_calibrated_trials():
    run = ("calibrate", "--key", "key", "--scores", "a.txt", "--save", "s", "--output")
    natural, decimal = succeed(*run, "o"), succeed(*run[:-2], "t", "--output", "p", *TEN)
    np.testing.assert_allclose(scores("p") * LN10, scores("o"), rtol=1e-12)
    assert Path("s").read_bytes() == Path("t").read_bytes()
    assert "LLRs (natural logarithms)" in natural
    assert "LLRs (base-10 logarithms)" in decimal
    maps = [re.search(r"LLR = (.*) \((.*) logarithm\)", out) for out in (natural, decimal)]
    assert [found[2] for found in maps] == ["natural", "base-10"]
    first, second = (numbers(found[1].replace("+ ", "")) for found in maps)
    np.testing.assert_allclose(second * LN10, first, rtol=1e-5)
    # what is written is read again as log10-llr
    rows = [succeed("evaluate", "--key", "key", "--scores", *of, "--metrics", "Cllr,actDCF")
            for of in (["o"], ["p", "--scores-are", "log10-llr"])]  # fmt: skip
    natural, decimal = (re.findall(r"Cllr .*|actDCF.*", out) for out in rows)
    assert natural == decimal


@pytest.mark.parametrize(
    ("columns", "name", "decimal"),
    [("z --scores-are llr", "llr", "log10_llr"), ("q", "log_odds", "log10_odds")],
)
def test_calibrated_tables(columns, name, decimal):
    run = ("calibrate", "t.csv", "--columns", *columns.split(), "--output")
    succeed(*run, "o.npz")
    assert f"{decimal}, weight (base-10 logarithms)" in succeed(*run, "p.npz", *TEN)
    natural, tens = np.load("o.npz")[name], np.load("p.npz")
    np.testing.assert_allclose(tens[decimal] * LN10, natural, rtol=1e-12)
    assert name not in tens.files


def test_fused_trials():
    run = ("fuse", "--key", "key", "--scores", "a.txt", "b.txt", "--metrics", "EER",
           "--resamples", "40", "--output")  # fmt: skip
    succeed(*run, "o")
    assert "fused LLRs (base-10 logarithms), cross-fitted" in succeed(*run, "p", *TEN)
    np.testing.assert_allclose(scores("p") * LN10, scores("o"), rtol=1e-12)


def test_thresholds():
    expected = fp.MinDCF(0.01).costs[0].threshold / LN10
    line = f"calibrated LLRs: {expected:.6g} (base-10 logarithm)\n"
    assert succeed("threshold", "--at", "dcf=0.01", *TEN) == line
    run = ("threshold", "t.csv", "--columns", "q", "--at", "eer")
    natural = re.search(r"\(log-odds (\S+)\)", succeed(*run))
    decimal = re.search(r"\(log-odds (\S+), base-10 logarithm\)", succeed(*run, *TEN))
    assert float(decimal[1]) * LN10 == pytest.approx(float(natural[1]), rel=1e-5)


def test_reports():
    run = ("evaluate", "--key", "key", "--scores", "a.txt", "--output")
    succeed(*run, "o.html")
    succeed(*run, "p.html", *TEN)
    natural, decimal = (" ".join(Path(f"{name}.html").read_text("utf-8").split()) for name in "op")
    threshold = fp.MinDCF(0.01).costs[0].threshold
    for words in ("natural logarithm", "Bayes threshold (LLR)", f">{threshold:.4f}<"):
        assert words in natural
        assert words not in decimal
    for words in ("base-10 logarithm", "Bayes threshold (log10 LLR)", f">{threshold / LN10:.4f}<"):
        assert words in decimal
        assert words not in natural
    error = fastpsr(*run[:-1], *TEN).err
    assert "--base is for a report" in error


def test_other_bases_are_refused():
    assert "--base" in fastpsr("threshold", "--at", "dcf=0.01", "--base", "2").err
