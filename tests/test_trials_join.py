"""Key and scores together: what does not fit, conditions, speakers, weights, predictions."""

import ast
import re
import unicodedata
import warnings
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

import fastpsr as fp
from fastpsr import trials

KEY = "a x target\na y nontarget\nb x nontarget\nb y target\n"
SCORES = "b y 4\na x 1\nb x 3\na y 2\n"


def save(path, content):
    path.write_text(content, encoding="utf-8")
    return path


def read(tmp_path, key=KEY, scores=SCORES, **policies):
    return trials.read(save(tmp_path / "key", key), save(tmp_path / "scores", scores), **policies)


def test_order_is_the_keys(tmp_path):
    joined = read(tmp_path)
    assert joined.score.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert joined.notes[0].endswith(
        "key: kaldi-trials; column 1: enroll; column 2: test; column 3: label (target/nontarget)"
    )
    assert len(joined.notes) == 2
    readings = trials.read_key(tmp_path / "key"), trials.read_scores(tmp_path / "scores")
    before = readings[1].score.tolist()
    again = trials.read(*readings)
    assert again.score.tolist() == joined.score.tolist()
    again.score[:] = 0.0  # which may be changed
    assert readings[1].score.tolist() == before


# What does not fit: (key, scores, what the message says, what solves it, scores then)

PROBLEMS = {
    "extra": (
        KEY, SCORES + "c x 1\na z 2\nc z 3\nd z 4\n",
        r"4 scores of no trial in the key \('c x' at \S+scores:5, .*'c z' at \S+scores:7, \.\.\.\)",
        {"extra": "ignore"}, [1.0, 2.0, 3.0, 4.0],
    ),
    "duplicate scores": (
        KEY, SCORES + "a x 1\na y 7\n",
        r"1 duplicate score with another value \('a y' at \S+scores:6\).*"
        r"1 duplicate score with the same value \('a x' at \S+scores:5\)",
        {"duplicates": "first"}, [1.0, 2.0, 3.0, 4.0],
    ),
    "duplicate trials": (
        KEY + "b x nontarget\n", SCORES, r"1 duplicate trial in the key \('b x' at \S+key:5\)",
        {"duplicates": "first"}, [1.0, 2.0, 3.0, 4.0],
    ),
    "all at once": (
        KEY + "a x target\n", "a x 1\na x 2\na y nan\nq q 1\n",
        r"1 duplicate trial.*another value.*without a score.*no trial in.*1 nan score",
        {"missing": "drop", "extra": "ignore", "duplicates": "first", "nan": "drop"}, [1.0],
    ),
    "of another label": (
        KEY + "b x target\n", SCORES, r"1 duplicate trial in the key with another label \('b x' at",
        None, None,
    ),
    "labels at odds": (
        KEY, "a x 1 target\na y 2 target\nb x 3 nontarget\nb y 4 target\n",
        r"1 label of the scores unlike the key's \('a y' at \S+scores:2\)", None, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems_are_named_with_places_and_solved_by_the_policies(tmp_path, name):
    key, scores, message, policies, expected = PROBLEMS[name]
    with pytest.raises(ValueError, match=message) as caught:
        read(tmp_path, key, scores)
    assert "\n" not in str(caught.value)
    if policies is None:
        assert not getattr(caught.value, "pass_", {})
        return
    assert caught.value.pass_ == policies
    joined = read(tmp_path, key, scores, **policies)
    assert joined.score.tolist() == expected
    if {"missing", "extra"} & {*policies}:
        assert any(note.startswith("left out: ") for note in joined.notes)


def test_problems_that_no_policy_solves(tmp_path):
    with pytest.raises(ValueError, match="all scores of trials in the key are nan"):
        read(tmp_path, scores="a x nan\n", nan="drop", missing="drop")
    with pytest.raises(ValueError, match="1 duplicate score with the same value"):
        read(tmp_path, scores="a x nan\na x nan\na y 2\nb x 3\nb y 4\n", nan="drop")
    with pytest.raises(ValueError, match="kaldi-eer has no ids"):
        read(tmp_path, scores="0.5 target\n0.25 nontarget\n")
    twice = "a x target\na x target\nb y nontarget\n"  # in both, and in the same order
    joined = read(tmp_path, twice, "a x 1\na x 2\nb y 3\n", duplicates="first")
    assert joined.score.tolist() == [1.0, 3.0]


def test_scores_alone_are_checked(tmp_path):
    path = tmp_path / "scores"
    for content, message in (
        (
            "a x 1 target\na x 2 target\na y nan nontarget\n",
            r"1 nan score.*1 duplicate trial with another score \('a x'",
        ),
        (
            "a x 1 target\na x 1 nontarget\na x 1 target\n",
            r"1 duplicate trial with another label \('a x' at \S+:2\); 2 .* with the same score",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            trials.read(save(path, content))
    save(path, "a x 1 target\na x 2 target\na y 3 nontarget\n")
    assert trials.read(path, duplicates="first").score.tolist() == [1.0, 3.0]
    with pytest.raises(ValueError, match=r"1 nan score \(row 1 at \S+scores:2\)"):
        trials.read(save(path, "1 target\nnan nontarget\n2 nontarget\n"))


def test_trials_are_counted_as_often_as_they_are_listed(tmp_path):
    key = KEY + "b x nontarget\na x target\nb x nontarget\n"
    expected = [1.0, 2.0, 3.0, 4.0, 3.0, 1.0, 3.0]
    for scores in (SCORES, SCORES + "b x 3\n", SCORES + "b x 3\na x 1\nb x 3\na y 2\n"):
        joined = read(tmp_path, key, scores, duplicates="count")
        assert joined.score.tolist() == expected
        assert joined.y_true.tolist()[4:] == [0, 1, 0]
        assert any(
            note.startswith("3 duplicate trials in the key ('b x', 'a x', 'b x'): counted as often")
            for note in joined.notes
        )
        frame = tmp_path / "joined.parquet"
        trials.join(tmp_path / "key", tmp_path / "scores", frame, duplicates="count")
        assert pl.read_parquet(frame)["llr"].to_list() == expected
    same = "".join(f"{line} {k}\n" for line, k in zip(key.splitlines(), "1234313", strict=True))
    alone = trials.read(save(tmp_path / "alone", swapped(same)), duplicates="count")
    assert alone.score.tolist() == expected
    joined = read(tmp_path, key, SCORES[:-6], duplicates="count", missing="drop")
    assert joined.score.tolist() == [each for each in expected if each != 2.0]


def swapped(lines):
    """Return lines with scores before labels."""
    words = (line.split() for line in lines.splitlines())
    return "".join(f"{enroll} {test} {score} {label}\n" for enroll, test, label, score in words)


@pytest.mark.parametrize("policies", [{"duplicates": "count"}, {"duplicates": "all"}])
def test_scores_that_do_not_agree_are_not_counted(tmp_path, policies):
    with pytest.raises(fp.ArgumentError, match=r"duplicate(s must be| score with another value)"):
        read(tmp_path, scores=SCORES + "a x 7\n", **policies)


@pytest.mark.parametrize(("name", "place"), [("parquet", ": row 2"), ("csv", ":4")])
def test_places_in_tables(tmp_path, name, place):
    frame = pl.DataFrame({"enroll": [*"aabb"], "test": [*"xyxy"], "score": [1.0, 2.0, np.nan, 4.0]})
    path = tmp_path / "table"
    frame.write_csv(path) if name == "csv" else frame.write_parquet(path)
    with pytest.raises(ValueError, match=rf"1 nan score \('b x' at \S+table{place}\)"):
        trials.read(save(tmp_path / "key", KEY), path)


def test_what_was_read_before_takes_no_options(tmp_path):
    read(tmp_path)
    key, scores = trials.read_key(tmp_path / "key"), trials.read_scores(tmp_path / "scores")
    for files, options, message in (
        ((key, scores), {"key_format": "sitw"}, r"key_format says .* and .*key was read before"),
        ((key, scores), {"format": "score=x"}, r"^format says .* and .*scores was read before"),
        ((None,), {}, "key or scores must be given"),
        ((key,), {}, "key: there are no scores"),
        ((scores, scores), {}, "scores: there are no labels"),
    ):
        with pytest.raises(ValueError, match=message):
            trials.read(*files, **options)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_join_is_what_a_dictionary_does(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("join")
    pair = st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"))
    key = data.draw(st.dictionaries(pair, st.booleans(), min_size=2))
    scores = data.draw(st.lists(st.tuples(pair, st.integers(-3, 3)), min_size=1))
    by_pair = {ids: float(score) for ids, score in reversed(scores)}  # the first of several
    expected = [by_pair[ids] for ids in key if ids in by_pair]
    if len(set(key.values())) < 2 or not expected:
        return
    key_text = "".join(f"{a} {b} {'tar' if y else 'non'}\n" for (a, b), y in key.items())
    score_text = "".join(f"{a} {b} {s}\n" for (a, b), s in scores)
    files = save(folder / "key", key_text), save(folder / "scores", score_text)
    options = {"missing": "drop", "extra": "ignore", "duplicates": "first"}
    joined = trials.read(*files, format="kaldi-scores", **options)
    assert joined.score.tolist() == expected
    assert joined.y_true.tolist() == [key[ids] for ids in key if ids in by_pair]
    if len(key) == 3:  # it takes longer
        file = trials.join(*files, folder / "out", format="kaldi-scores", **options)
        assert pl.read_parquet(file.path)["llr"].to_list() == expected
        assert file.n_targets == joined.y_true.sum()
        assert file.notes == joined.notes


# Conditions, weights and predictions

NIST = (
    "modelid\tsegmentid\ttargettype\tgender\tphone\tspk\tsegspk\n"
    "a\tx\ttarget\tf\tY\t1\t1\na\ty\tnontarget\tf\tN\t1\t2\n"
    "b\tx\tnontarget\tm\tY\t2\t1\nb\ty\ttarget\tm\tY\t2\t2\n"
)


def test_split_and_select(tmp_path):
    joined = read(tmp_path, key=NIST)
    parts = joined.split("gender")
    scores = {name: part.score.tolist() for name, part in parts.items()}
    assert scores == {"f": [1.0, 2.0], "m": [3.0, 4.0]}
    assert parts["m"].test.tolist() == ["x", "y"]
    assert joined.column("phone").tolist() == ["Y", "N", "Y", "Y"]
    assert list(parts["m"].split("phone")) == ["Y"]
    assert joined.select(joined.y_true == 1).score.tolist() == [1.0, 4.0]
    with pytest.raises(ValueError, match=r"\(gender, phone, spk, segspk\), not 'snr'"):
        joined.split("snr")
    with pytest.raises(ValueError, match="at least one trial"):
        joined.select(joined.score > 10)


def test_equalized_weights(tmp_path):
    rng = np.random.default_rng(1)
    n = 600
    sex, phone = rng.integers(0, 2, n), rng.integers(0, 3, n)
    y = (rng.random(n) < 0.3).astype(int)
    columns = zip(range(n), y, sex, phone, rng.normal(size=n), strict=True)
    lines = [f"a,t{k},{label},{'mf'[s]},{p},{x}\n" for k, label, s, p, x in columns]
    header = "enroll,test,label,sex,phone,score\n"
    joined = trials.read(save(tmp_path / "scores.csv", header + "".join(lines)))
    weights = joined.equalized_weights(["sex", "phone"])
    for label in (0, 1):
        assert weights[y == label].mean() == pytest.approx(1.0, abs=1e-12)
        cells = [(y == label) & (sex == s) & (phone == p) for s in (0, 1) for p in range(3)]
        assert np.ptp([weights[cell].sum() for cell in cells]) < 1e-9
    # a miss rate under these weights is the mean of the partitions' miss rates
    rates = [fp.ActDCF(0.5)(part.predictions()) for part in joined.split("phone").values()]
    weighted = joined.predictions(weights=joined.equalized_weights("phone"))
    assert fp.ActDCF(0.5)(weighted) == pytest.approx(np.mean(rates), abs=1e-12)
    lacking = joined.select((sex == 0) | (phone != 1) | (y == 0))
    with pytest.raises(ValueError, match="both classes, but sex=f, phone=1 has no targets"):
        lacking.equalized_weights(["sex", "phone"])
    with pytest.raises(ValueError, match="at least one column"):
        joined.equalized_weights([])


def test_predictions(tmp_path):
    joined = read(tmp_path, scores="b y 0.75\na x 0.125\nb x 0.5\na y 0.25\n")
    score = joined.score
    assert joined.predictions(prior=0.25).llrs.tolist() == score.tolist()
    assert joined.predictions("log10-llr").llrs == pytest.approx(score * np.log(10))
    assert joined.predictions("posteriors").posteriors[:, 1] == pytest.approx(score)
    assert joined.predictions("posteriors", prior=0.25).priors.tolist() == [0.75, 0.25]
    assert joined.predictions("raw").kind == joined.predictions("cosine").kind == "raw scores"
    assert joined.predictions(weights=[1, 2, 1, 2]).sample_weight.tolist() == [1, 2, 1, 2]
    for scale in ("raw", "cosine"):
        with pytest.raises(fp.ArgumentError, match="prior means nothing to raw scores"):
            joined.predictions(scale, prior=0.5)
    with pytest.raises(fp.ArgumentError, match="scores_are must be one of"):
        joined.predictions("logits")
    assert trials.read(None, tmp_path / "scores").predictions("raw").y_true is None


def test_trials_are_no_predictions(tmp_path):
    joined = read(tmp_path)
    for call in (
        lambda data: fp.evaluate(data, metrics=[fp.EER()]),
        lambda data: fp.evaluate({"a": data}, metrics=[fp.EER()]),
        lambda data: fp.PAV().fit(data),
    ):
        with pytest.raises(fp.ArgumentError, match=r"not TrialSet: .* predictions\(\.\.\.\)"):
            call(joined)
        call(joined.predictions("raw"))  # the remedy


# Speakers


def test_speakers_of_columns_patterns_and_maps(tmp_path):
    joined = read(tmp_path, key=NIST)
    with pytest.raises(ValueError, match="speakers are not known"):
        joined.speakers  # noqa: B018
    for with_speakers in (
        joined.with_speakers(("spk", "segspk")),
        joined.with_speakers({"a": "1", "b": "2", "x": "1", "y": "2"}),
        joined.with_speakers(save(tmp_path / "map", "a 1\nb  2\nx\t1\ny 2\nx 1\nz 3\n")),
    ):
        enroll, test = with_speakers.speakers
        assert (enroll.tolist(), test.tolist()) == ([0, 0, 1, 1], [0, 1, 0, 1])
        assert with_speakers.speaker_names == ["1", "2"]
        assert with_speakers.notes[-1] == (
            "speakers: 2; target trials of two speakers: 0; non-target trials of one speaker: 0"
        )
        assert with_speakers.select([1, 2]).speakers[1].tolist() == [1, 0]
    with pytest.warns(RuntimeWarning, match=r"^2 of 2 target trials are of two speakers, as 'a x'"):
        by_letter = joined.with_speakers("pattern:.$")
    assert by_letter.speaker_names == ["a", "b", "x", "y"]


@pytest.mark.parametrize("n_wrong", [2, 4, 100])
def test_target_trials_of_two_speakers_are_warned_of_from_two_per_cent_on(tmp_path, n_wrong):
    pairs = [(f"s{k % 9}/{k}", f"{'t' if k < n_wrong else 's'}{k % 9}/x") for k in range(200)]
    key = "".join(f"{a} {b} target\n" for a, b in pairs) + "s1/a s2/b nontarget\n"
    scores = key.replace("nontarget", "-1").replace("target", "1.5")
    files, pattern = (tmp_path / "key", tmp_path / "scores"), {"speakers": "pattern:^[^/]+"}
    for call in (
        lambda: read(tmp_path, key, scores, **pattern),
        lambda: trials.join(*files, tmp_path / "o", **pattern),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        messages = [str(warning.message) for warning in caught]
        assert len(messages) == (n_wrong >= 4)
        for message in messages:
            assert message.startswith(f"{n_wrong} of 200 target trials are of two speakers")
            assert "'s0/0 t0/x' of 's0' and 't0'" in message


@pytest.mark.parametrize(
    ("speakers", "message"),
    [
        ({"a": "1", "x": "1", "y": "1"}, r"1 enroll id \('b'\)$"),
        (
            {"a": "1", "b": None, "x": ""},
            r"none to 1 enroll id \('b'\) and 2 test ids \('x', 'y'\)$",
        ),
        ("pattern:q", r"2 enroll ids \('a', 'b'\) and 2 test ids \('x', 'y'\)$"),
        ("pattern:^(a)|.", r"gives none to 1 enroll id \('b'\) and 2"),
        ("pattern:", "'' gives none to 2 enroll ids"),
        ("pattern:[ab]", r"gives none to 2 test ids \('x', 'y'\)"),
        (5, "not 5"),
        ("pattern:(", "regular expression"),
        (("a", "b", "c"), "columns:ENROLL,TEST, not"),
        (("spk", "nope"), r"\(gender, phone, spk, segspk\), not 'nope'"),
        ("columns:gender", "columns:ENROLL,TEST, not"),
        (None, "must be given"),
    ],
)
def test_invalid_speakers(tmp_path, speakers, message):
    joined = read(tmp_path, key=NIST)
    with pytest.raises(fp.ArgumentError, match=message) as caught:
        joined.with_speakers(speakers)
    assert caught.value.argument == "speakers"


@pytest.mark.filterwarnings("ignore:.* target trials are of two speakers")
@pytest.mark.parametrize(
    ("speakers", "message"),
    [
        (dict.fromkeys("abxy", "s"), "^speaker 's' is in all 4 trials: "),
        ({"a": "s", "b": "t", "x": "s", "y": "s"}, "^speaker 's' is in all 4 trials: "),
        ({"x": "s", "y": "s", "a": "t", "b": "u"}, "^speaker 's' is in all 4 trials: "),
    ],
)
def test_a_speaker_in_all_trials_is_named(tmp_path, speakers, message):
    joined = read(tmp_path, key=NIST)
    with pytest.warns(RuntimeWarning, match=message):
        joined.with_speakers(speakers)
    with pytest.warns(RuntimeWarning, match=message):
        trials.join(tmp_path / "key", tmp_path / "scores", tmp_path / "o", speakers=speakers)


def test_columns_of_speakers_that_are_conditions_are_named(tmp_path):
    header = "enroll\ttest\tlabel\tenroll_spk\tTestSpeaker\n"
    key = save(tmp_path / "key", header + "a\tx\ttarget\t1\t1\nb\ty\tnontarget\t2\t3\n")
    scores = save(tmp_path / "scores", "a x 2\nb y -1\n")
    joined = trials.read(key, scores)
    note = "columns enroll_spk and TestSpeaker are taken as conditions; if they name the speakers: "
    assert joined.notes[-1] == note + "speakers='columns:enroll_spk,TestSpeaker'"
    with_speakers = joined.with_speakers("columns:enroll_spk,TestSpeaker")  # the remedy
    assert not any("taken as conditions" in line for line in with_speakers.notes)
    file = trials.join(key, scores, tmp_path / "both.parquet")
    assert file.notes[-1] == joined.notes[-1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a 1\nx 1\n", r"\S+map gives none to 1 enroll id \('b'\) and 1 test id \('y'"),
        ("a 1\nb\n", r"map:2: there must be 2 columns \(id speaker\), not 1: 'b'"),
        ("a 1 2\n", "map:1: there must be 2 columns .*, not 3: 'a 1 2'"),
        ("", "map: the file is empty"),
        ("a 1\nb 2\na 1\na 3\n", "map:4: id 'a' has two speakers: '3' after '1'"),
    ],
)
def test_invalid_files_of_speakers(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path).with_speakers(save(tmp_path / "map", content))


def test_speakers_need_ids(tmp_path):
    without_ids = trials.read(save(tmp_path / "eer", "1 target\n2 nontarget\n"))
    with pytest.raises(ValueError, match="these trials have no ids: kaldi-eer holds none"):
        without_ids.with_speakers("pattern:.")
    with pytest.raises(FileNotFoundError):
        read(tmp_path).with_speakers(tmp_path / "none")


# Why ids differ


def with_changed_ids(change, n_changed):
    """Write a key and scores of 300 trials, of which the last alone have the ids of the key."""
    key = [(f"m{k % 10}/é0{k // 10}", f"s{k % 7}/v/{k:05}.wav") for k in range(300)]
    scores = [*(change(*ids) for ids in key[:n_changed]), *key[n_changed:]]
    order = np.random.default_rng(0).permutation(300)
    Path("key").write_text("".join(f"{m} {s} {k % 2}\n" for k, (m, s) in enumerate(key)))
    Path("scores").write_text("".join(f"{' '.join(scores[k])} {k / 7}\n" for k in order))
    return key, scores


SWAPPED = "the order of enroll and test"
CHANGES = {  # what is done to ids of the scores, of how many trials, by what they then differ
    "case": (lambda m, s: (m.upper(), s), 300, ["letter case"]),
    "swapped": (lambda m, s: (s, m), 298, [SWAPPED]),
    "zeros": (
        lambda m, s: (m.replace("é0", "é"), re.sub("/0+(?=[0-9])", "/", s)), 30, ["leading zeros"],
    ),
    "NFD": (
        lambda m, s: (unicodedata.normalize("NFD", m), s), 150, ["Unicode form (NFC or NFD)"],
    ),
    "endings": (lambda m, s: (m, s.removesuffix(".wav")), 30, ["endings of files"]),
    "separators": (
        lambda m, s: (m, s[:-4].replace("/", "-")), 300, ["endings of files", "separators"],
    ),
    "folders": (lambda m, s: (m.rpartition("/")[2], s), 150, ["folders"]),
    "another folder": (lambda m, s: (m, f"/data/{s}"), 298, ["folders"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_after_the_change_that_is_proposed_the_trials_match(tmp_path, monkeypatch, name):
    """Dropping them is not proposed."""
    monkeypatch.chdir(tmp_path)
    change, n_changed, reasons = CHANGES[name]
    with_changed_ids(change, n_changed)
    with pytest.raises(ValueError) as caught:
        trials.read("key", "scores")
    message = str(caught.value)
    with pytest.raises(ValueError) as of_join:
        trials.join("key", {"a": "scores"}, "joined.parquet")
    assert str(of_join.value) == message
    assert f"trials differ by {' and '.join(reasons)}, as " in message
    assert ("only 2 of 300 trials have a score" in message) == (n_changed == 298)
    (n_more,) = re.findall(r"ids alike for ([0-9]+) more trials", message)
    assert int(n_more) == n_changed
    remedy = caught.value.pass_
    assert bool(remedy) == ({*reasons} <= {"letter case", "endings of files", "folders"})
    if remedy:
        assert len(trials.read("key", "scores", **remedy)) == 300
        assert trials.join("key", "scores", "joined.parquet", **remedy).n_trials == 300
    quoted = r"""as ('[^']*') in the key and ('[^']*') in the scores"""
    example = [ast.literal_eval(ids) for ids in re.search(quoted, message).groups()]
    assert change(*example[0].split()) == tuple(example[1].split())


@pytest.mark.filterwarnings("ignore:speaker .* is in all")
def test_columns_of_recordings(tmp_path):
    sex = save(tmp_path / "utt2sex.txt", "a f\nb m\nx f\ny m\nz m\n")
    metadata = {
        "sex": sex,
        "s": {"a": 3, "b": 4, "x": "30", "y": 7},
        "spk": dict.fromkeys("abxy", "p"),
    }
    joined = read(tmp_path, metadata=metadata, speakers="columns:enroll_spk,test_spk")
    assert joined.column("enroll_sex").tolist() == ["f", "f", "m", "m"]
    assert joined.column("test_s").tolist() == [30, 7, 30, 7]
    assert joined.speaker_names == ["p"]
    quality = joined.quality(("enroll_s", "test_s"))
    assert quality.enroll.tolist() == joined.quality(metadata["s"]).enroll.tolist()
    assert [*joined.with_metadata(sex).columns][-1] == "test_utt2sex"
    key, scores = tmp_path / "key", tmp_path / "scores"
    for by in (["enroll_sex"], [("enroll_sex", "test_sex")]):
        table = fp.trials.evaluate(joined, ["AUC"], by=by)
        assert len(table.rows) == 1 + (2 if by == ["enroll_sex"] else 4)
    file = trials.join(key, scores, tmp_path / "o", metadata=metadata,
                       speakers=("enroll_spk", "test_spk"))  # fmt: skip
    frame = pl.read_parquet(file.path)
    for name in joined.columns:
        assert frame[name].to_list() == joined.column(name).tolist()
    for files, message in (
        ({"t": {"a": 1, "x": 1, "y": 1}}, r"must give every id a value, .* 1 enroll id \('b'\)$"),
        ([sex, sex], "must have names that differ"),
        ({"spk": dict.fromkeys("abxy", "p")}, "a name of its own for enroll_spk"),
    ):
        with pytest.raises(fp.ArgumentError, match=f"^metadata .*{message}"):
            joined.with_metadata(files)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_columns_of_recordings_are_what_a_dictionary_does(tmp_path_factory, data):
    """In memory, and joined into a file in parts of a few rows."""
    folder = tmp_path_factory.mktemp("recordings")
    ids = data.draw(st.lists(st.text("aé'\"=,/7", min_size=1), min_size=2, max_size=6, unique=True))
    pairs = [(a, b) for a in ids for b in ids]
    words = st.sampled_from(["3", "007", "-1.5", "x y", "", "é", "nan"])
    values = {"q": {id: data.draw(words) for id in ids}, "n": {id: k for k, id in enumerate(ids)}}
    frame = pl.DataFrame(pairs, ["enroll", "test"], orient="row").with_columns(
        label=pl.int_range(len(pairs)) % 2, score=pl.int_range(len(pairs)) / 3
    )
    frame.write_parquet(folder / "key.parquet")
    files = [folder / "key.parquet"] * 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FASTPSR_MEMORY", "20KB")
        file = pl.read_parquet(trials.join(*files, folder / "o", metadata=values).path)
    joined = trials.read(*files, metadata=values)
    for name, by_id in values.items():
        for side, column in (("enroll", 0), ("test", 1)):
            expected = [by_id[pair[column]] for pair in pairs]
            for values_of_side in (joined.column(f"{side}_{name}"), file[f"{side}_{name}"]):
                if name == "n" or values_of_side.dtype not in (object, pl.String):
                    expected = [float(value) for value in expected]
                np.testing.assert_array_equal(list(values_of_side), expected)


@pytest.mark.parametrize("n_changed", [30, 298])
def test_trials_that_are_missing_for_no_reason(tmp_path, monkeypatch, n_changed):
    monkeypatch.chdir(tmp_path)
    with_changed_ids(lambda m, s: (m, s[::-1]), n_changed)
    with pytest.raises(fp.ArgumentError) as caught:
        trials.read("key", "scores")
    assert "differ" not in str(caught.value)
    if n_changed == 30:  # these may be dropped
        assert caught.value.pass_ == {"missing": "drop", "extra": "ignore"}
        assert len(trials.read("key", "scores", **caught.value.pass_)) == 270
    else:
        assert "only 2 of 300 trials have a score" in str(caught.value)
        assert not caught.value.pass_


def test_a_reason_that_few_trials_bear_out_is_not_named(tmp_path, monkeypatch):
    """All files of VoxCeleb are called like each other: their folders are not what differs."""
    monkeypatch.chdir(tmp_path)
    n = np.arange(400)
    key = [f"id1{k % 40:04}/a{k}/0000{k % 9}.wav id1{k % 30:04}/a{k}/0000{k % 7}.wav" for k in n]
    Path("key").write_text("".join(f"{ids} {k % 2}\n" for k, ids in enumerate(key)))
    Path("scores").write_text("".join(f"{ids.replace('id1', 'id2')} 1.5\n" for ids in key))
    with pytest.raises(ValueError, match=r"no trial in common: .*0 of 772 ids") as caught:
        trials.read("key", "scores")
    assert "differ" not in str(caught.value)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ("x a 1\n", "order of enroll and test"),
        ("a.wav x.wav 1\n", "endings of files, as 'a x' in the key"),
        ("c z 1\n", "the key has 'a' 'x', the scores have 'c' 'z'"),
    ],
)
def test_nothing_in_common(tmp_path, scores, message):
    with pytest.raises(ValueError, match=f"no trial in common: .*{message}"):
        read(tmp_path, scores=scores, missing="drop", extra="ignore")
