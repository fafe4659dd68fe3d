"""Key and scores together: what does not fit, conditions, speakers, weights, predictions."""

import ast
import gzip
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
from fastpsr.trials.coded import Coded, encode

KEY = "a x target\na y nontarget\nb x nontarget\nb y target\n"
SCORES = "b y 4\na x 1\nb x 3\na y 2\n"


def save(path, content):
    path.write_text(content, encoding="utf-8")
    return path


def read(tmp_path, key=KEY, scores=SCORES, **policies):
    return trials.read(save(tmp_path / "key", key), save(tmp_path / "scores", scores), **policies)


def test_order_is_the_key_s(tmp_path):
    found = read(tmp_path)
    assert found.score.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert found.notes[0].endswith(
        "key: kaldi-trials; column 1: enroll; column 2: test; column 3: label (target/nontarget)"
    )
    assert len(found.notes) == 2
    same_order = read(tmp_path, scores="a x 1\na y 2\nb x 3\nb y 4\n")
    assert same_order.score.tolist() == found.score.tolist()
    readings = trials.read(
        trials.read_key(tmp_path / "key"), trials.read_scores(tmp_path / "scores")
    )
    assert readings.score.tolist() == found.score.tolist()


def test_missing(tmp_path):
    scores = "a x 1\nb y 4\n"
    with pytest.raises(
        ValueError,
        match=r"2 trials without a score \('a y' at \S+key:2, 'b x' at \S+key:3\): "
        "pass missing='drop'$",
    ):
        read(tmp_path, scores=scores)
    found = read(tmp_path, scores=scores, missing="drop")
    assert found.score.tolist() == [1.0, 4.0]
    assert found.y_true.tolist() == [1, 1]
    assert found.notes[-1].startswith("left out: 2 trials without a score ('a y', 'b x')")


def test_extra(tmp_path):
    scores = SCORES + "c x 1\na z 2\nc z 3\nd z 4\n"
    with pytest.raises(
        ValueError,
        match=r"4 scores of no trial in the key \('c x' at \S+scores:5, .*, "
        r"'c z' at \S+scores:7, \.\.\.\): pass extra='ignore'$",
    ):
        read(tmp_path, scores=scores)
    found = read(tmp_path, scores=scores, extra="ignore")
    assert found.score.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert found.notes[-1].startswith("left out: 4 scores")


def test_duplicates(tmp_path):
    scores = SCORES + "a x 1\na y 7\n"
    message = (
        r"1 duplicate score with another value \('a y' at \S+scores:6\).*"
        r"1 duplicate score with the same value \('a x' at \S+scores:5\): "
        "pass duplicates='first'$"
    )
    with pytest.raises(ValueError, match=message):
        read(tmp_path, scores=scores)
    found = read(tmp_path, scores=scores, duplicates="first")
    assert found.score.tolist() == [1.0, 2.0, 3.0, 4.0]
    key = KEY + "b x nontarget\n"
    with pytest.raises(ValueError, match=r"1 duplicate trial in the key \('b x' at \S+key:5\)"):
        read(tmp_path, key=key)
    assert len(read(tmp_path, key=key, duplicates="first")) == 4
    with pytest.raises(
        ValueError, match=r"1 duplicate trial in the key with another label \('b x' at \S+key:5\)$"
    ):
        read(tmp_path, key=KEY + "b x target\n", duplicates="first")


def test_duplicates_in_both_and_in_one_order(tmp_path):
    again = "a x target\na x target\nb y nontarget\n"
    found = read(tmp_path, key=again, scores="a x 1\na x 2\nb y 3\n", duplicates="first")
    assert found.score.tolist() == [1.0, 3.0]


def test_nan(tmp_path):
    scores = SCORES.replace("3", "nan")
    with pytest.raises(ValueError, match=r"1 nan score \('b x' at \S+scores:3\): pass nan='drop'$"):
        read(tmp_path, scores=scores)
    assert read(tmp_path, scores=scores, nan="drop").score.tolist() == [1.0, 2.0, 4.0]
    with pytest.raises(ValueError, match="all scores of trials in the key are nan"):
        read(tmp_path, scores="a x nan\n", nan="drop", missing="drop")
    twice = "a x nan\na x nan\na y 2\nb x 3\nb y 4\n"
    with pytest.raises(ValueError, match="1 duplicate score with the same value"):
        read(tmp_path, scores=twice, nan="drop")


def test_all_that_is_wrong_is_said_at_once(tmp_path):
    with pytest.raises(ValueError, match="do not fit") as raised:
        read(tmp_path, key=KEY + "a x target\n", scores="a x 1\na x 2\na y nan\nq q 1\n")
    said = str(raised.value)
    for part in ["duplicate trial", "another value", "without a score", "no trial in", "nan score"]:
        assert part in said
    assert said.count(";") == 4
    assert "\n" not in said


def test_nothing_in_common(tmp_path):
    with pytest.raises(ValueError, match=r"no trial in common: .* order of enroll and test"):
        read(tmp_path, scores="x a 1\n", missing="drop", extra="ignore")
    with pytest.raises(
        ValueError, match=r"no trial in common: .* endings of files, as 'a x' in the key"
    ):
        read(tmp_path, scores="a.wav x.wav 1\n", missing="drop", extra="ignore")
    with pytest.raises(
        ValueError, match="no trial in common: the key has 'a' 'x', the scores have 'c' 'z'"
    ):
        read(tmp_path, scores="c z 1\n", missing="drop", extra="ignore")


def test_labels_at_odds(tmp_path):
    scores = "a x 1 target\na y 2 target\nb x 3 nontarget\nb y 4 target\n"
    with pytest.raises(
        ValueError, match=r"1 label of the scores unlike the key's \('a y' at \S+scores:2\)"
    ):
        read(tmp_path, scores=scores)


def test_scores_without_ids_cannot_be_joined(tmp_path):
    with pytest.raises(ValueError, match="kaldi-eer has no ids"):
        read(tmp_path, scores="0.5 target\n0.25 nontarget\n")


def test_scores_alone_are_checked(tmp_path):
    path = save(tmp_path / "scores", "a x 1 target\na x 2 target\na y nan nontarget\n")
    with pytest.raises(
        ValueError, match=r"1 nan score.*1 duplicate trial with another score \('a x'"
    ):
        trials.read(path)
    path.write_text("a x 1 target\na x 1 nontarget\na x 1 target\n")
    message = r"1 duplicate trial with another label \('a x' at \S+:2\); 1 .* with the same score"
    with pytest.raises(ValueError, match=message):
        trials.read(path)
    path.write_text("a x 1 target\na x 2 target\na y 3 nontarget\n")
    assert trials.read(path, duplicates="first").score.tolist() == [1.0, 3.0]


def test_places_skip_blank_lines_and_are_those_of_the_file(tmp_path):
    with pytest.raises(ValueError, match=r"1 nan score \('b x' at \S+scores:6\)"):
        read(tmp_path, scores="\na x 1\n\na y 2\n \nb x nan\nb y 4\n")
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(b"a x 1\na y 2\nb x nan\nb y 4\n"))
    with pytest.raises(ValueError, match=r"1 nan score \('b x' at \S+packed:3\)"):
        trials.read(tmp_path / "key", packed)
    rows = {"enroll": list("aabb"), "test": list("xyxy"), "score": [1.0, 2.0, float("nan"), 4.0]}
    pl.DataFrame(rows).write_parquet(tmp_path / "table")
    with pytest.raises(ValueError, match=r"1 nan score \('b x' at \S+table: row 2\)"):
        trials.read(tmp_path / "key", tmp_path / "table")
    pl.DataFrame(rows).write_csv(tmp_path / "csv")
    with pytest.raises(ValueError, match=r"1 nan score \('b x' at \S+csv:4\)"):
        trials.read(tmp_path / "key", tmp_path / "csv")
    path = save(tmp_path / "eer", "1 target\nnan nontarget\n2 nontarget\n")
    with pytest.raises(ValueError, match=r"eer: 1 nan score \(row 1 at \S+eer:2\)"):
        trials.read(path)


def test_what_was_read_before_takes_no_options(tmp_path):
    read(tmp_path)
    key, scores = trials.read_key(tmp_path / "key"), trials.read_scores(tmp_path / "scores")
    with pytest.raises(ValueError, match=r"key_format, .* a file, and .*key was read before"):
        trials.read(key, scores, key_format="sitw")
    with pytest.raises(ValueError, match=r"score_format, .* a file, and .*scores was read before"):
        trials.read(key, scores, score_columns={"score": "llr"})
    with pytest.raises(ValueError, match=r"transpose .* was read before"):
        trials.read(key, scores, transpose=True)
    with pytest.raises(ValueError, match="key or scores must be given"):
        trials.read(None)
    with pytest.raises(ValueError, match="key: there are no scores"):
        trials.read(key)
    with pytest.raises(ValueError, match="scores: there are no labels"):
        trials.read(scores, scores)


def test_scores_may_be_changed_and_those_of_a_reading_stay(tmp_path):
    key, scores = save(tmp_path / "key", KEY), save(tmp_path / "scores", SCORES)
    reading = trials.read_scores(scores)
    before = reading.score.tolist()
    for file in (scores, reading):
        for with_key in (key, None):
            found = trials.read(with_key, file)
            found.score[:] = 0.0
    assert reading.score.tolist() == before


@pytest.mark.parametrize("policy", ["missing", "extra", "duplicates", "nan"])
def test_unknown_policies(tmp_path, policy):
    with pytest.raises(ValueError, match=f"{policy} must be one of 'error', "):
        read(tmp_path, **{policy: "whatever"})


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_join_is_what_a_dictionary_does(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("join")
    pair = st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"))
    key = data.draw(st.dictionaries(pair, st.booleans(), min_size=2))
    if len(set(key.values())) < 2:
        return
    scores = data.draw(st.lists(st.tuples(pair, st.integers(-3, 3)), min_size=1))
    known: dict = {}
    for ids, score in scores:
        known.setdefault(ids, float(score))
    expected = [known[ids] for ids in key if ids in known]
    if not expected:
        return
    key_text = "".join(f"{a} {b} {'tar' if y else 'non'}\n" for (a, b), y in key.items())
    score_text = "".join(f"{a} {b} {s}\n" for (a, b), s in scores)
    files = save(folder / "key", key_text), save(folder / "scores", score_text)
    options = {"missing": "drop", "extra": "ignore", "duplicates": "first"}
    found = trials.read(*files, score_format="kaldi-scores", **options)
    assert found.score.tolist() == expected
    assert found.y_true.tolist() == [key[ids] for ids in key if ids in known]
    if len(key) % 3 == 0:  # DuckDB takes longer
        joined = trials.join(*files, folder / "out", score_format="kaldi-scores", **options)
        assert pl.read_parquet(joined.path)["llr"].to_list() == expected
        assert joined.n_targets == found.y_true.sum()
        assert joined.notes == found.notes


NIST = (
    "modelid\tsegmentid\ttargettype\tgender\tphone\tspk\tsegspk\n"
    "a\tx\ttarget\tf\tY\t1\t1\na\ty\tnontarget\tf\tN\t1\t2\n"
    "b\tx\tnontarget\tm\tY\t2\t1\nb\ty\ttarget\tm\tY\t2\t2\n"
)


def test_split_and_select(tmp_path):
    found = read(tmp_path, key=NIST)
    parts = found.split("gender")
    assert {name: part.score.tolist() for name, part in parts.items()} == {
        "f": [1.0, 2.0],
        "m": [3.0, 4.0],
    }
    assert parts["m"].test.tolist() == ["x", "y"]
    assert found.column("phone").tolist() == ["Y", "N", "Y", "Y"]
    assert list(parts["m"].split("phone")) == ["Y"]
    picked = found.select(found.y_true == 1)
    assert picked.score.tolist() == [1.0, 4.0]
    with pytest.raises(ValueError, match=r"\(gender, phone, spk, segspk\), not 'snr'"):
        found.split("snr")
    with pytest.raises(ValueError, match="at least one trial"):
        found.select(found.score > 10)


def test_equalized_weights(tmp_path):
    rng = np.random.default_rng(1)
    n = 600
    sex, phone = rng.integers(0, 2, n), rng.integers(0, 3, n)
    y = (rng.random(n) < 0.3).astype(np.uint8)
    columns = {"sex": encode(pl.Series(["mf"[k] for k in sex])), "phone": phone}
    source = trials.Source("npz", {}, None)
    found = trials.TrialSet(None, None, y, rng.normal(size=n), columns, (), source)
    weights = found.equalized_weights(["sex", "phone"])
    for label in (0, 1):
        assert weights[y == label].mean() == pytest.approx(1.0, abs=1e-12)
        totals = [
            weights[(y == label) & (sex == s) & (phone == p)].sum()
            for s in (0, 1)
            for p in range(3)
        ]
        assert np.ptp(totals) < 1e-9
    # a miss rate under these weights is the mean of the partitions' miss rates
    rates = [fp.ActDCF(0.5)(part.predictions()) for part in found.split("phone").values()]
    weighed = found.predictions(weights=found.equalized_weights("phone"))
    assert fp.ActDCF(0.5)(weighed) == pytest.approx(np.mean(rates), abs=1e-12)
    lacking = found.select((sex == 0) | (phone != 1) | (y == 0))
    with pytest.raises(ValueError, match="both classes, but sex=f, phone=1 has no targets"):
        lacking.equalized_weights(["sex", "phone"])
    with pytest.raises(ValueError, match="at least one column"):
        found.equalized_weights([])


def test_speakers_of_columns_patterns_and_maps(tmp_path):
    found = read(tmp_path, key=NIST)
    with pytest.raises(ValueError, match="speakers are not known"):
        found.speakers  # noqa: B018
    ways = [
        found.with_speakers(column=("spk", "segspk")),
        found.with_speakers({"a": "1", "b": "2", "x": "1", "y": "2"}),
        found.with_speakers(save(tmp_path / "map", "a 1\nb  2\nx\t1\ny 2\nx 1\nz 3\n")),
    ]
    for made in ways:
        enroll, test = made.speakers
        assert enroll.dtype == np.int64
        assert enroll.tolist() == [0, 0, 1, 1]
        assert test.tolist() == [0, 1, 0, 1]
        assert made.speaker_names == ["1", "2"]
        assert made.notes[-1] == (
            "speakers: 2; target trials of two speakers: 0; non-target trials of one speaker: 0"
        )
        assert made.select([1, 2]).speakers[1].tolist() == [1, 0]
    with pytest.warns(
        RuntimeWarning, match=r"^2 of 2 target trials are of two speakers, as 'a x' of 'a' and 'x'"
    ):
        by_letter = found.with_speakers(pattern=("^[ab]", "([xy])$"))
    assert by_letter.speaker_names == ["a", "b", "x", "y"]


@pytest.mark.parametrize("share", [0.01, 0.02, 0.5])
def test_target_trials_of_two_speakers_are_warned_of_from_two_per_cent_on(tmp_path, share):
    n_wrong = round(200 * share)
    pairs = [(f"s{k % 9}/{k}", f"{'t' if k < n_wrong else 's'}{k % 9}/x") for k in range(200)]
    key = "".join(f"{a} {b} target\n" for a, b in pairs) + "s1/a s2/b nontarget\n"
    scores = key.replace("nontarget", "-1").replace("target", "1.5")
    for call in (
        lambda: read(tmp_path, key, scores, speaker_pattern="^[^/]+"),
        lambda: trials.join(
            tmp_path / "key", tmp_path / "scores", tmp_path / "o", speaker_pattern="^[^/]+"
        ),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        said = [str(warning.message) for warning in caught]
        assert len(said) == (share >= 0.02)
        for message in said:
            assert message.startswith(f"{n_wrong} of 200 target trials are of two speakers")
            assert "'s0/0 t0/x' of 's0' and 't0'" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"mapping": {"a": "1", "x": "1", "y": "1"}},
            r"mapping must .* but it gives none to 1 enroll id \('b'\)$",
        ),
        (
            {"mapping": {"a": "1", "b": None, "x": ""}},
            r"none to 1 enroll id \('b'\) and 2 test ids \('x', 'y'\)$",
        ),
        ({"pattern": "q"}, r"none to 2 enroll ids \('a', 'b'\) and 2 test ids \('x', 'y'\)$"),
        ({"pattern": "^(a)|."}, r"gives none to 1 enroll id \('b'\) and 2"),
        (
            {"pattern": ""},
            "every id a speaker, but '' gives none to 2 enroll ids",
        ),
        ({"pattern": 5}, "must be a string or a pair of them, not 5"),
        ({"column": ("spk", "nope")}, r"\(gender, phone, spk, segspk\), not 'nope'"),
        ({"pattern": "[ab]"}, r"gives none to 2 test ids \('x', 'y'\)"),
        ({"pattern": "("}, "must be a regular expression"),
        ({"pattern": ("a", "b", "c")}, "must be a string or a pair"),
        ({"column": "gender"}, "column must be a pair of names"),
        ({}, "exactly one of"),
        ({"pattern": ".", "column": ("spk", "spk")}, "exactly one of"),
    ],
)
def test_wrong_speakers(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, key=NIST).with_speakers(**options)


@pytest.mark.filterwarnings("ignore:.* target trials are of two speakers")
def test_a_speaker_in_all_trials_is_named(tmp_path):
    found = read(tmp_path, key=NIST)
    of_one, in_all = dict.fromkeys("abxy", "s"), {"a": "s", "b": "t", "x": "s", "y": "s"}
    everywhere = {**dict.fromkeys("xy", "s"), "a": "t", "b": "u"}
    for speakers, message in [
        (of_one, "^all 4 trials are of one speaker, 's': "),
        (in_all, "^speaker 's' is in all 4 trials: "),
        (everywhere, "^speaker 's' is in all 4 trials: "),
    ]:
        with pytest.warns(RuntimeWarning, match=message):
            found.with_speakers(speakers)
        with pytest.warns(RuntimeWarning, match=message):
            trials.join(
                tmp_path / "key", tmp_path / "scores", tmp_path / "both.parquet", speakers=speakers
            )


def test_columns_of_speakers_that_are_conditions_are_named(tmp_path):
    key = save(
        tmp_path / "key",
        "enroll\ttest\tlabel\tenroll_spk\tTestSpeaker\na\tx\ttarget\t1\t1\nb\ty\tnontarget\t2\t3\n",
    )
    scores = save(tmp_path / "scores", "a x 2\nb y -1\n")
    found = trials.read(key, scores)
    said = "columns enroll_spk and TestSpeaker are taken as conditions; if they name the speakers: "
    assert found.notes[-1] == said + "with_speakers(column=('enroll_spk', 'TestSpeaker'))"
    known = found.with_speakers(column=("enroll_spk", "TestSpeaker"))
    assert not any("taken as conditions" in line for line in known.notes)
    joined = trials.join(key, scores, tmp_path / "both.parquet")
    assert joined.notes[-1] == said + "speaker_columns=('enroll_spk', 'TestSpeaker')"


def test_files_of_speakers(tmp_path):
    found = read(tmp_path)
    for content, message in [
        (
            "a 1\nx 1\n",
            r"^mapping must .* but \S+map gives none to 1 enroll id \('b'\) and 1 test id \('y'",
        ),
        ("a 1\nb\n", r"map:2: there must be 2 columns \(id speaker\), not 1: 'b'"),
        ("a 1 2\n", "map:1: there must be 2 columns .*, not 3: 'a 1 2'"),
        ("", "map: the file is empty"),
    ]:
        with pytest.raises(ValueError, match=message):
            found.with_speakers(save(tmp_path / "map", content))
    with pytest.raises(FileNotFoundError):
        found.with_speakers(tmp_path / "none")


def test_speakers_need_ids(tmp_path):
    found = trials.read(save(tmp_path / "eer", "1 target\n2 nontarget\n"))
    with pytest.raises(ValueError, match="these trials have no ids: kaldi-eer holds none"):
        found.with_speakers(pattern=".")


def test_two_speakers_of_one_id(tmp_path):
    path = save(tmp_path / "map", "a 1\nb 2\na 1\na 3\n")
    with pytest.raises(ValueError, match="map:4: id 'a' has two speakers: '3' after '1'"):
        read(tmp_path).with_speakers(path)


def test_cosines_are_raw_scores_and_trials_are_no_predictions(tmp_path):
    found = read(tmp_path)
    assert found.predictions("cosine").kind == "raw scores"
    with pytest.raises(fp.ArgumentError, match="prior means nothing to raw scores"):
        found.predictions("cosine", prior=0.1)
    for call in (
        lambda of: fp.evaluate(of, metrics=[fp.EER()]),
        lambda of: fp.evaluate({"a": of}, metrics=[fp.EER()]),
        lambda of: fp.PAV().fit(of),
    ):
        with pytest.raises(
            fp.ArgumentError, match=r"not TrialSet: .* predictions\(\.\.\.\) returns$"
        ):
            call(found)
        call(found.predictions("raw"))


def test_predictions(tmp_path):
    found = read(
        tmp_path,
        scores=SCORES.replace("4", "0.75")
        .replace("3", "0.5")
        .replace("2", "0.25")
        .replace(" 1", " 0.125"),
    )
    score = found.score
    assert found.predictions(prior=0.25).llrs.tolist() == score.tolist()
    assert found.predictions("log10-llr").llrs == pytest.approx(score * np.log(10))
    assert found.predictions("posteriors").posteriors[:, 1] == pytest.approx(score)
    assert found.predictions("posteriors", prior=0.25).priors.tolist() == [0.75, 0.25]
    assert found.predictions("raw").kind == "raw scores"
    assert found.predictions(weights=[1, 2, 1, 2]).sample_weight.tolist() == [1, 2, 1, 2]
    with pytest.raises(ValueError, match="prior means nothing"):
        found.predictions("raw", prior=0.5)
    with pytest.raises(ValueError, match="scores_are must be one of"):
        found.predictions("logits")
    unlabeled = trials.read(None, tmp_path / "scores")
    assert unlabeled.predictions("raw").y_true is None


def test_codes_pick_and_show():
    coded = Coded(np.array([1, 0, 1], np.int32), pl.Series(["a", "b"]))
    assert coded[0] == "b"
    assert len(coded) == 3
    assert coded.pick([0, 1]).strings().tolist() == ["b", "a"]
    assert coded.series().to_list() == ["b", "a", "b"]


def changed_ids(change, n_changed=298):
    """A key and scores of 300 trials, of which the last alone have the ids of the key."""
    key = [(f"m{k % 10}/é0{k // 10}", f"s{k % 7}/v/{k:05}.wav") for k in range(300)]
    scores = [*(change(*ids) for ids in key[:n_changed]), *key[n_changed:]]
    scored = list(enumerate(scores))
    np.random.default_rng(0).shuffle(scored)
    Path("key").write_text("".join(f"{m} {s} {k % 2}\n" for k, (m, s) in enumerate(key)))
    Path("scores").write_text("".join(f"{m} {s} {k / 7}\n" for k, (m, s) in scored))


CHANGES = {  # what is done to ids of the scores, and what is said
    "letter case": lambda m, s: (m.upper(), s),
    "the order of enroll and test": lambda m, s: (s, m),
    "leading zeros": lambda m, s: (m.replace("é0", "é"), re.sub("/0+(?=[0-9])", "/", s)),
    "Unicode form (NFC or NFD)": lambda m, s: (unicodedata.normalize("NFD", m), s),
    "endings of files": lambda m, s: (m, s.removesuffix(".wav")),
    "endings of files and separators": lambda m, s: (m, s[:-4].replace("/", "-")),
    "folders": lambda m, s: (m.rpartition("/")[2], s),
    "what all of them begin or end with": lambda m, s: (m, f"{s}#1"),
    "what all of them begin or end with and letter case": lambda m, s: (m, f"{s.upper()}#1"),
}


@pytest.mark.parametrize("n_changed", [30, 150, 300])
@pytest.mark.parametrize("what", CHANGES)
def test_what_ids_differ_by_is_said_and_dropping_trials_is_not_offered(
    tmp_path, monkeypatch, what, n_changed
):
    monkeypatch.chdir(tmp_path)
    changed_ids(CHANGES[what], n_changed)
    messages = []
    for call in (
        lambda: trials.read("key", "scores"),
        lambda: trials.join("key", {"a": "scores"}, "joined.parquet"),
    ):
        with pytest.raises(ValueError, match=f"{n_changed} more trials have a score$") as caught:
            call()
        messages.append(str(caught.value))
        assert f"trials differ by {what}, as " in messages[-1]
        assert not getattr(caught.value, "pass_", {})
    assert messages[0] == messages[1]
    quoted = r"""as ('[^']*') in the key and ('[^']*') in the scores"""
    ours, theirs = (ast.literal_eval(ids) for ids in re.search(quoted, messages[0]).groups())
    assert f"{ours} " in Path("key").read_text()
    assert CHANGES[what](*ours.split()) == tuple(theirs.split())


def test_a_reason_that_few_trials_bear_out_is_not_named(tmp_path, monkeypatch):
    """All files of VoxCeleb are called like each other: their folders are not what differs."""
    monkeypatch.chdir(tmp_path)
    n = np.arange(400)
    key = [f"id1{k % 40:04}/a{k}/0000{k % 9}.wav id1{k % 30:04}/a{k}/0000{k % 7}.wav" for k in n]
    Path("key").write_text("".join(f"{ids} {k % 2}\n" for k, ids in enumerate(key)))
    Path("scores").write_text("".join(f"{ids.replace('id1', 'id2')} 1.5\n" for ids in key))
    with pytest.raises(
        ValueError, match=r"no trial in common: .*0 of 772 ids of the key"
    ) as caught:
        trials.read("key", "scores")
    assert "differ" not in str(caught.value)


def test_trials_that_are_missing_for_no_reason_may_be_dropped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    changed_ids(lambda m, s: (m, s[::-1]), 30)
    with pytest.raises(fp.ArgumentError) as caught:
        trials.read("key", "scores")
    assert caught.value.pass_ == {"missing": "drop", "extra": "ignore"}
    assert len(trials.read("key", "scores", **caught.value.pass_)) == 270


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda m, s: (s, m), "differ by the order of enroll and test"),
        (lambda m, s: (m, f"/data/{s}"), "differ by folders"),
        (lambda m, s: (m.upper(), s.upper()), "differ by letter case"),
        (lambda m, s: (m, s[::-1]), ""),
    ],
)
def test_why_few_trials_have_a_score_is_said_and_dropping_them_is_not_offered(
    tmp_path, monkeypatch, change, why
):
    monkeypatch.chdir(tmp_path)
    changed_ids(change)
    for call in (
        lambda: trials.read("key", "scores"),
        lambda: trials.join("key", {"a": "scores"}, "joined.parquet"),
    ):
        with pytest.raises(fp.ArgumentError, match="only 2 of 300 trials have a score") as caught:
            call()
        assert "missing" not in caught.value.pass_
        assert "extra" not in caught.value.pass_
        assert why in str(caught.value)
