"""Saved calibrators: every bit of them, whole or not at all, and what is refused."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp

INF = np.inf


def sample(kind="logits"):
    """Overlapping scores, some of them infinite."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    y[:4] = [1, 0, 1, 0]
    x = rng.normal(size=500) + 1.5 * y
    x[:4] = [INF, -INF, INF, -INF]
    return getattr(fp.Predictions, f"from_{kind}")(y, x)


def test_numbers_keep_every_bit(tmp_path):
    scores = np.array([-INF, -1e300, -0.1 - 0.2, -5e-324, 0.0, 5e-324, np.pi, 1e22, INF])
    y = np.arange(8) < np.arange(9)[:, None]  # at each score one target more: no pooling
    fitted = fp.PAV().fit(fp.Predictions.from_raw_scores(y.ravel() * 1, scores.repeat(8)))
    fp.save_calibrator(fitted, tmp_path / "saved.json")
    loaded = fp.load_calibrator(tmp_path / "saved.json")
    assert fitted.threshold_.tolist() == scores.tolist()
    for attribute in ("threshold_", "log_odds_", "posterior_"):
        assert getattr(loaded, attribute).tobytes() == getattr(fitted, attribute).tobytes()
    text = (tmp_path / "saved.json").read_text("ascii")
    log_odds = json.loads(text, parse_constant=pytest.fail)["fitted"]["log_odds_"]
    assert (log_odds[0], log_odds[-1]) == ("-inf", "inf")
    fp.save_calibrator(loaded, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text("ascii") == text
    with pytest.raises(ValueError, match="must be fitted before it is saved"):
        fp.save_calibrator(fp.PAV(), tmp_path / "unfitted.json")


# Whole or not at all


@pytest.mark.parametrize("existing", [True, False])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failing_write_leaves_what_there_was(tmp_path, monkeypatch, error, existing):
    path, write = tmp_path / "saved.json", Path.write_text
    if existing:
        path.write_text("what was there", "utf-8")

    def write_half(self, text, *arguments, **options):
        write(self, text[: len(text) // 2], *arguments, **options)
        raise error

    monkeypatch.setattr(Path, "write_text", write_half)
    with pytest.raises(type(error)):
        fp.save_calibrator(fp.PAV().fit(sample()), path)
    assert os.listdir(tmp_path) == (["saved.json"] if existing else [])
    assert not existing or path.read_text("utf-8") == "what was there"


@pytest.mark.parametrize("place", ["nowhere/saved.json", "folder.json"])
def test_bad_places_are_named(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    Path("folder.json").mkdir()
    with pytest.raises(OSError) as caught:
        fp.save_calibrator(fp.PAV().fit(sample()), place)
    assert place in (caught.value.filename, caught.value.filename2)
    assert ".part" not in str(caught.value)


# What is refused on loading

SAVED = {"dp": fp.DirectionPreserving(), "pav": fp.PAV(), "hist": fp.HistogramBinning(4)}
CHANGES = [  # which calibrator, where in the file, what is put there
    ("dp", ["format"], "fastpsr calibrator 2"),
    ("dp", ["calibrator"], "Platt"),
    ("dp", ["domain"], "tea leaves"),
    ("dp", ["options"], {"bins": 3}),
    ("dp", ["fitted"], {}),
    ("dp", ["fitted", "scale_"], "steep"),
    ("dp", ["fitted", "scale_"], 10**400),
    ("dp", ["fitted", "scale_"], "nan"),
    ("dp", ["fitted", "scale_"], [1.0, 2.0]),
    ("dp", ["fitted", "bias_"], [0.0]),
    ("pav", ["options", "floor"], 7),
    ("pav", ["fitted", "log_odds_"], [0.0]),
    ("pav", ["fitted", "threshold_"], []),
    ("pav", ["fitted", "threshold_"], lambda thresholds: thresholds[::-1]),
    ("hist", ["options", "bins"], 0),
    ("hist", ["fitted", "posterior_"], [0.5]),
    ("hist", ["fitted", "posterior_"], [0.5, 0.5, 2.0, 0.5]),
    ("hist", ["fitted", "edges_"], [0.0, 1.0]),
]
OF_SOMETHING_ELSE = [b"", bytes(range(256)), b"scale 1.5", b"null", b"[1, 2]", b'{"a": 1}']
OF_SOMETHING_ELSE += ['{"format": 1}'.encode("utf-16"), b"[" * 100_000]


def assert_refused(path):
    with pytest.raises(ValueError, match=rf"^{path} must be a calibrator saved by fastpsr: "):
        fp.load_calibrator(path)


@pytest.mark.parametrize("kind", SAVED)
def test_files_that_make_no_sense(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    fp.save_calibrator(SAVED[kind].fit(sample()), "saved.json")
    text = Path("saved.json").read_text("utf-8")
    for _, keys, value in (change for change in CHANGES if change[0] == kind):
        content = json.loads(text)
        place = content
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value(place[keys[-1]]) if callable(value) else value
        Path("changed.json").write_text(json.dumps(content), "utf-8")
        assert_refused("changed.json")
    for share in (0.01, 0.5, 0.99):
        Path("truncated.json").write_text(text[: int(share * len(text))], "utf-8")
        assert_refused("truncated.json")


def test_files_of_something_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for content in OF_SOMETHING_ELSE:
        Path("other.json").write_bytes(content)
        assert_refused("other.json")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.json"):
        fp.load_calibrator("nowhere.json")


def test_calibrators_of_calibrators_keep_what_they_fit(tmp_path):
    rng = np.random.default_rng(3)
    y, groups = rng.integers(0, 3, 600), rng.integers(0, 2, 600)
    data = fp.Predictions.from_logits(y, rng.normal(size=(600, 3)) + 2 * np.eye(3)[y])
    several = fp.OneVersusRest(fp.BetaCalibration(floor=0.01)).fit(data)
    by_group = fp.ByCondition(fp.TemperatureScaling(floor=0.02)).fit(data, {"g": groups})
    for fitted in (several, by_group):
        fp.save_calibrator(fitted, tmp_path / "saved.json")
        loaded = fp.load_calibrator(tmp_path / "saved.json")
        assert type(loaded.calibrator) is type(fitted.calibrator)
        assert loaded.calibrator.floor == fitted.calibrator.floor
