"""Saved calibrators: bit for bit the same, whole or not at all, and what is refused."""

import contextlib
import json
import os
import stat
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.files import whole_file

INF = np.inf
FITTED = {
    "dp": (fp.DirectionPreserving(), ("scale_", "bias_", "floor_")),
    "dp by Brier": (fp.DirectionPreserving(fp.rules.Brier()), ("scale_", "bias_", "floor_")),
    "temperature": (fp.TemperatureScaling(), ("scale_", "bias_", "floor_")),
    "dp with floor": (fp.DirectionPreserving(floor=1e-6), ("scale_", "bias_", "floor")),
    "temperature with floor": (fp.TemperatureScaling(1e-6), ("scale_", "bias_", "floor")),
    "vector": (fp.VectorScaling(2.0), (*fp.VectorScaling.fitted_names, "strength")),
    "matrix": (fp.MatrixScaling(), fp.MatrixScaling.fitted_names),
    "beta": (fp.BetaCalibration(), ("parameters_", "prior_log_odds_", "floor_")),
    "beta at a prior": (fp.BetaCalibration(prior=0.1), ("prior_log_odds_", "prior")),
    "pav": (fp.PAV(), ("threshold_", "posterior_", "log_odds_", "prior_log_odds_", "floor")),
    "pav with floor": (fp.PAV(floor=0.01), ("threshold_", "posterior_", "log_odds_", "floor")),
    "pav with more samples": (fp.PAV(laplace=True), ("threshold_", "log_odds_", "laplace")),
    "spline": (fp.Spline(), fp.Spline.fitted_names),
    "venn-abers": (fp.VennAbers(), fp.VennAbers.fitted_names),
    "histogram": (
        fp.HistogramBinning(bins=7, floor=1e-3),
        ("edges_", "posterior_", "prior_log_odds_", "bins", "floor"),
    ),
}
DOMAINS = ("posteriors", "log-odds", "llr", "raw", "3 posteriors", "3 likelihoods")


def sample(domain, seed=0, n=500, labeled=True):
    """Overlapping scores, some of them infinite."""
    rng = np.random.default_rng(seed)
    K = 3 if domain[0] == "3" else 2
    y = rng.integers(0, K, n)
    y[:4] = [1, 0, 1, 0]
    z = rng.normal(size=(n, K)) + np.eye(K)[y]
    x = z[:, 1] - z[:, 0]
    x[:4] = [INF, -INF, INF, -INF]
    z[:4, :2] = [[-INF, 0], [0, -INF], [-INF, 0], [0, -INF]]
    y = y if labeled else None
    make = fp.Predictions
    return {
        "posteriors": lambda: make.from_posteriors(y, 1 / (1 + np.exp(-x))),
        "log-odds": lambda: make.from_logits(y, x),
        "llr": lambda: make.from_llrs(y, x),
        "raw": lambda: make.from_raw_scores(y, x),
        "3 posteriors": lambda: make.from_logits(y, z),
        "3 likelihoods": lambda: make.from_log_likelihoods(y, z),
    }[domain]()


COMBINATIONS = [
    (name, domain)
    for name, (calibrator, _) in FITTED.items()
    for domain in DOMAINS
    if not (calibrator.binary_only and domain[0] == "3")
    and not (
        domain == "raw"
        and (calibrator.needs_posteriors or name in ("dp with floor", "temperature with floor"))
    )
]


@pytest.mark.parametrize(("name", "domain"), COMBINATIONS)
def test_what_is_loaded_is_what_was_saved(tmp_path, name, domain):
    calibrator, attributes = FITTED[name]
    fitted = calibrator.fit(sample(domain))
    fp.save_calibrator(fitted, tmp_path / "saved.json")
    loaded = fp.load_calibrator(tmp_path / "saved.json")
    assert type(loaded) is type(fitted)
    for attribute in attributes:
        one, other = getattr(fitted, attribute), getattr(loaded, attribute)
        np.testing.assert_array_equal(one, other)
        assert np.asarray(other).dtype == np.asarray(one).dtype
    for new in (sample(domain, seed=1), sample(domain, seed=2, labeled=False)):
        one, other = fitted.transform(new), loaded.transform(new)
        assert one.scores.tobytes() == other.scores.tobytes()
        assert one.kind == other.kind
    fp.save_calibrator(loaded, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "saved.json").read_bytes()


@pytest.mark.parametrize("name", FITTED)
def test_files_are_strict_json_with_infinities_as_words(tmp_path, name):
    fp.save_calibrator(FITTED[name][0].fit(sample("log-odds")), tmp_path / "saved.json")

    def refuse(token):
        raise AssertionError(f"{token} is not JSON")

    content = json.loads((tmp_path / "saved.json").read_text("ascii"), parse_constant=refuse)
    assert set(content) == {"format", "calibrator", "domain", "options", "fitted"}
    if name == "pav":
        assert content["fitted"]["log_odds_"][0] == "-inf"
        assert content["fitted"]["log_odds_"][-1] == "inf"
        assert content["fitted"]["threshold_"][0] == "-inf"


def test_numbers_keep_every_bit(tmp_path):
    fitted = fp.PAV().fit(sample("llr"))
    nasty = np.array([-INF, -1e300, -0.1 - 0.2, -5e-324, 0.0, 5e-324, np.pi, 1e22, INF])
    object.__setattr__(fitted, "threshold_", nasty)
    object.__setattr__(fitted, "log_odds_", nasty)
    object.__setattr__(fitted, "posterior_", np.linspace(0, 1, nasty.size) ** 7)
    fp.save_calibrator(fitted, tmp_path / "saved.json")
    loaded = fp.load_calibrator(tmp_path / "saved.json")
    for attribute in ("threshold_", "log_odds_", "posterior_"):
        assert getattr(loaded, attribute).tobytes() == getattr(fitted, attribute).tobytes()


@pytest.mark.parametrize("as_path", [str, Path])
def test_paths_of_either_type(tmp_path, as_path):
    path = as_path(tmp_path / "a name with [brackets] é.json")
    fp.save_calibrator(fp.TemperatureScaling().fit(sample("llr")), path)
    assert fp.load_calibrator(path).domain_ == "likelihoods"
    assert os.listdir(tmp_path) == ["a name with [brackets] é.json"]


@pytest.mark.parametrize("name", FITTED)
def test_unfitted_calibrators_are_not_saved(tmp_path, name):
    with pytest.raises(ValueError, match="must be fitted before it is saved"):
        fp.save_calibrator(FITTED[name][0], tmp_path / "saved.json")
    assert os.listdir(tmp_path) == []


# Whole or not at all


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("moment", ["writing", "moving"])
@pytest.mark.parametrize("existing", [True, False], ids=["over a file", "new"])
def test_a_failing_write_leaves_what_there_was(tmp_path, monkeypatch, error, moment, existing):
    path = tmp_path / "saved.json"
    if existing:
        path.write_text("what was there", "utf-8")
    write = Path.write_text

    def write_half(self, text, *rest, **options):
        write(self, text[: len(text) // 2], *rest, **options)
        raise error

    def move(*_):
        raise error

    with monkeypatch.context() as patch:
        if moment == "writing":
            patch.setattr(Path, "write_text", write_half)
        else:
            patch.setattr("fastpsr.files.os.replace", move)
        with pytest.raises(type(error)):
            fp.save_calibrator(fp.PAV().fit(sample("llr")), path)
    assert os.listdir(tmp_path) == (["saved.json"] if existing else [])
    assert not existing or path.read_text("utf-8") == "what was there"


def test_two_writers_of_one_file_at_once(tmp_path):
    with whole_file(tmp_path / "saved.json") as first:
        first.write_text("first", "utf-8")
        with whole_file(tmp_path / "saved.json") as second:
            second.write_text("second", "utf-8")
        assert (tmp_path / "saved.json").read_text("utf-8") == "second"
    assert (tmp_path / "saved.json").read_text("utf-8") == "first"
    assert os.listdir(tmp_path) == ["saved.json"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_devices_stay_what_they_are(tmp_path):
    os.mkfifo(tmp_path / "saved.json")
    reader = os.open(tmp_path / "saved.json", os.O_RDONLY | os.O_NONBLOCK)
    with contextlib.suppress(OSError, ValueError):  # refusing is as good
        fp.save_calibrator(fp.TemperatureScaling().fit(sample("llr")), tmp_path / "saved.json")
    os.close(reader)
    assert stat.S_ISFIFO(os.stat(tmp_path / "saved.json").st_mode)


@pytest.mark.parametrize("place", ["nowhere/saved.json", "folder.json"])
def test_bad_places_are_named(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    Path("folder.json").mkdir()
    with pytest.raises(OSError) as caught:
        fp.save_calibrator(fp.PAV().fit(sample("llr")), place)
    assert place in (caught.value.filename, caught.value.filename2)
    assert ".part" not in str(caught.value)


# What is refused on loading


def content_of(calibrator):
    """The content of a saved calibrator of log-odds."""
    fitted = calibrator.fit(sample("log-odds"))
    path = Path("content.json")
    fp.save_calibrator(fitted, path)
    content = json.loads(path.read_text("utf-8"))
    path.unlink()
    return content


CALIBRATORS = {"dp": fp.DirectionPreserving(), "pav": fp.PAV(), "hist": fp.HistogramBinning(4)}
CHANGES = {  # which calibrator, where in the file, what is put there
    "another format": ("dp", ["format"], "fastpsr calibrator 2"),
    "another kind": ("dp", ["calibrator"], "Platt"),
    "kind of no name": ("dp", ["calibrator"], ["PAV"]),
    "option of another": ("dp", ["options"], {"bins": 3}),
    "options of no names": ("dp", ["options"], [1]),
    "nothing fitted": ("dp", ["fitted"], {}),
    "word for a scale": ("dp", ["fitted", "scale_"], "steep"),
    "no scale": ("dp", ["fitted", "scale_"], None),
    "nested bias": ("dp", ["fitted", "bias_"], [[1.0], [2.0]]),
    "bad floor": ("pav", ["options", "floor"], 7),
    "word for a floor": ("pav", ["options", "floor"], "none"),
    "bad bins": ("hist", ["options", "bins"], 0),
    "huge scale": ("dp", ["fitted", "scale_"], 10**400),
    "scale nan": ("dp", ["fitted", "scale_"], "nan"),
    "scale infinite": ("dp", ["fitted", "scale_"], "inf"),
    "two scales": ("dp", ["fitted", "scale_"], [1.0, 2.0]),
    "bias a number": ("dp", ["fitted", "bias_"], 1.0),
    "bias of one class": ("dp", ["fitted", "bias_"], [0.0]),
    "unknown domain": ("dp", ["domain"], "tea leaves"),
    "too few log-odds": ("pav", ["fitted", "log_odds_"], [0.0]),
    "too few thresholds": ("pav", ["fitted", "threshold_"], [0.0]),
    "no block": ("pav", ["fitted", "threshold_"], []),
    "thresholds out of order": ("pav", ["fitted", "threshold_"], "reversed"),
    "threshold nan": ("pav", ["fitted", "threshold_"], "nans"),
    "too few posteriors": ("hist", ["fitted", "posterior_"], [0.5]),
    "posterior over 1": ("hist", ["fitted", "posterior_"], [0.5, 0.5, 2.0, 0.5]),
    "too few edges": ("hist", ["fitted", "edges_"], [0.0, 1.0]),
}


@pytest.mark.parametrize(
    ("kind", "keys", "value"),
    [
        pytest.param(*change, id=name)
        for name, change in CHANGES.items()
    ],
)  # fmt: skip
def test_files_that_make_no_sense(tmp_path, monkeypatch, kind, keys, value):
    monkeypatch.chdir(tmp_path)
    content = content_of(CALIBRATORS[kind])
    place = content
    for key in keys[:-1]:
        place = place[key]
    now = place[keys[-1]]
    value = {"reversed": lambda: now[::-1], "nans": lambda: ["nan"] * len(now)}.get(
        value if isinstance(value, str) else "", lambda: value
    )()
    place[keys[-1]] = value
    Path("changed.json").write_text(json.dumps(content), "utf-8")
    with pytest.raises(ValueError, match=r"^changed.json must be a calibrator saved by fastpsr: "):
        fp.load_calibrator("changed.json")


NOT_CALIBRATORS = {
    "empty": b"",
    "binary": bytes(range(256)),
    "utf-16": '{"format": 1}'.encode("utf-16"),
    "text": b"scale 1.5",
    "null": b"null",
    "number": b"1",
    "word": b'"PAV"',
    "list": b"[1, 2]",
    "other object": b'{"a": 1}',
    "costs": b"[[0, 1], [1, 0]]",
    "nested too deeply": b"[" * 100_000,
}


@pytest.mark.parametrize(
    "name",
    list(NOT_CALIBRATORS),
)
def test_files_of_something_else(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("other.json").write_bytes(NOT_CALIBRATORS[name])
    with pytest.raises(ValueError, match=r"^other.json must be a calibrator saved by fastpsr: ."):
        fp.load_calibrator("other.json")


@pytest.mark.parametrize("kept", [0.01, 0.5, 0.99])
@pytest.mark.parametrize("kind", CALIBRATORS)
def test_truncated_files(tmp_path, monkeypatch, kind, kept):
    monkeypatch.chdir(tmp_path)
    text = json.dumps(content_of(CALIBRATORS[kind]))
    Path("cut.json").write_text(text[: int(kept * len(text))], "utf-8")
    with pytest.raises(ValueError, match=r"^cut.json must be a calibrator saved by fastpsr: "):
        fp.load_calibrator("cut.json")


def test_missing_file():
    with pytest.raises(FileNotFoundError, match=r"nowhere\.json"):
        fp.load_calibrator("nowhere.json")
