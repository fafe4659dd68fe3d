"""What JSON says of the files that were read."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.cli.tables import described
from tests.commands import strict_json, succeed, write, write_trials


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def entry(name):
    content = Path(name).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return {"path": name, "n_bytes": len(content), "sha256": digest}


def test_trials():
    write_trials()
    Path("map").write_text("x y\n", "utf-8")
    run = ["evaluate", "--key", "key", "--scores", "a", "b", "--scores-are", "raw"]
    succeed(*run, "--json", "t.json")
    content = strict_json("t.json")
    assert content["inputs"] == [entry("a"), entry("b"), entry("key")]
    assert (content["scores_are"], content["version"]) == ("raw", fp.__version__)
    succeed("compare", "--key", "key", "a", "b", "--resamples", 40, "--json", "t.json")
    content = strict_json("t.json")
    assert content["inputs"] == [entry("a"), entry("b"), entry("key")]
    assert (content["scores_are"], content["version"]) == ("llr", fp.__version__)


def test_tables():
    y = np.arange(80) % 2
    write("s.npy", label=y, s=np.random.default_rng(0).normal(size=80) + y)
    Path("costs.json").write_text("[[0, 1], [1, 0]]")
    run = ["evaluate", "s.npy", "--labels", "label.npy", "--scores-are", "llr"]
    succeed(*run, "--costs", "costs.json", "--json", "t.json")
    content = strict_json("t.json")
    assert content["inputs"] == [entry("s.npy"), entry("costs.json"), entry("label.npy")]
    assert content["scores_are"] == "llr"


def test_files_of_folders_and_patterns():
    y = np.arange(80) % 2
    Path("parts").mkdir()
    for k in range(2):
        write(f"parts/{k}.parquet", label=y, llr=np.random.default_rng(k).normal(size=80) + y)
    found = [entry(f"parts/{k}.parquet") | {"sha256": None} for k in range(2)]
    for path in ("parts", "parts/*.parquet"):
        succeed("evaluate", path, "--scores-are", "llr", "--json", "t.json")
        assert strict_json("t.json")["inputs"] == found
    assert described([Path("parts/0.parquet")]) == [entry("parts/0.parquet")]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_not_read_again():
    os.mkfifo("pipe")
    assert described([Path("pipe"), None]) == [{"path": "pipe", "n_bytes": None, "sha256": None}]
