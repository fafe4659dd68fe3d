"""Text as people have it, in pieces of any size: what is not in the corpus (``tests/golden``)."""

import gzip
import os
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from fastpsr import trials
from fastpsr.tables import text

KEY = "ann a target\nann b nontarget\nbob a target\n"


@pytest.fixture
def read_in_pieces(monkeypatch):
    """Files are read so many bytes at a time."""
    return lambda n_bytes: monkeypatch.setattr(text, "PIECE_BYTES", n_bytes)


def save(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(reading):
    return list(zip(reading.enroll.strings(), reading.test.strings(), strict=True))


# Valid files


def test_names_of_files_are_taken_literally(tmp_path):
    assert len(trials.read_key(save(tmp_path / "a[1]*.txt", KEY))) == 3
    with pytest.raises(FileNotFoundError):
        trials.read_key(tmp_path / "none")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("packed", [False, True])
def test_pipes(tmp_path, packed):
    path = tmp_path / "key"
    os.mkfifo(path)
    content = gzip.compress(KEY.encode()) if packed else KEY.encode()
    with ThreadPoolExecutor() as threads:
        threads.submit(path.write_bytes, content)
        key = trials.read_key(path)
        assert key.y_true.tolist() == [1, 0, 1]
        assert rows(key) == [("ann", "a"), ("ann", "b"), ("bob", "a")]
        assert key.where([1]) == [f"{path}:2"]
        threads.submit(path.write_bytes, b"PAR1abc")
        with pytest.raises(ValueError, match="regular file: Parquet is not read from a pipe"):
            trials.read_scores(path)


WORD = st.text(
    st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters=" \ufeff"),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(WORD, WORD), min_size=1, max_size=12),
    st.lists(st.sampled_from([" ", "\t", "  ", " \t"]), min_size=1, max_size=3),
    st.sampled_from(["\n", "\r\n", " \n", "\n\n"]),
)
def test_any_ids_are_read_as_split_would(tmp_path_factory, pairs, gaps, end):
    lines = [f"{a}{gaps[k % len(gaps)]}{b}{gaps[0]}target" for k, (a, b) in enumerate(pairs)]
    path = tmp_path_factory.mktemp("ids") / "key"
    key = trials.read_key(save(path, end.join(lines) + end), format="kaldi-trials")
    assert rows(key) == pairs


# Hostile text, against a naive reader

WORDS = ["a", "é/b.wav", "target", "1.5", "-2", "nan", "inf", "-Infinity", "1e400", "1_0",
         "#", '"', "a,b", "1e", "\ufeffa", "\x0b1", "\xa0"]  # fmt: skip
GAPS = [" ", " ", " ", "\t", "  ", " \t"]
ENDS = ["\n", "\n", "\n", "\r\n", "\n\n", " \n", "\n ", "\r"]
BOM = b"\xef\xbb\xbf"
NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)


def hostile(rng, n_columns):
    """Return a text that is regular, or nearly so."""
    strange = rng.random() * 0.3
    gap, content = rng.choice([" ", "\t"]), b""
    for _ in range(rng.integers(0, 6)):
        n = n_columns if rng.random() > strange / 3 else rng.integers(0, 5)
        row = [str(w) for w in rng.choice(WORDS if rng.random() < strange else WORDS[:5], n)]
        if n and rng.random() > strange:
            row[-1] = rng.choice(["0.25", "-3", "1e-5"])
        gaps = [rng.choice(GAPS) if rng.random() < strange / 3 else gap for _ in row]
        line = "".join(word + space for word, space in zip(row, gaps, strict=True))
        if rng.random() > strange / 3:
            line = line.rstrip(" \t")
        end = str(rng.choice(ENDS)) if rng.random() < strange else "\n"
        content += (line + end).encode()
    if rng.random() < strange / 3:
        place = rng.integers(0, len(content) + 1)
        content = content[:place] + bytes([rng.choice([0xFF, 0x85])]) + content[place:]
    return content


def naive_lines(content, n_columns):
    """Return (line, words) of each row, and the lines that are wrong."""
    table, wrong = [], []
    for number, raw in enumerate(content.removeprefix(BOM).split(b"\n"), 1):
        try:
            line = raw.decode().strip(" \t\r")
        except UnicodeDecodeError:
            wrong.append(number)
            continue
        words = re.split("[ \t]+", line)
        if words == [""]:
            continue
        score = words[-1]
        is_number = NUMBER.fullmatch(score) and ("n" in score.lower() or float(score) < np.inf)
        if len(words) != n_columns or not is_number:
            wrong.append(number)
        table.append((number, words))
    return table, wrong


@pytest.mark.parametrize(("format", "n_columns"), [("kaldi-scores", 3), ("numbers", 1)])
def test_hostile_text_is_read_as_by_a_naive_reader(tmp_path, read_in_pieces, format, n_columns):
    rng = np.random.default_rng(n_columns)
    last = "x y 1\n"[4 if n_columns == 1 else 0 :].encode()
    n_valid = n_invalid = 0
    for k in range(160):
        content = BOM * (k % 3) + hostile(rng, n_columns) + last
        path = save(tmp_path / "scores", content)
        table, wrong = naive_lines(content, n_columns)
        read_in_pieces([1 << 23, 1, 5, 40][k % 4])
        if wrong:
            n_invalid += 1
            with pytest.raises(ValueError) as caught:
                trials.read_scores(path, format=format)
            place = re.search(r"scores:(\d+): |CR alone", str(caught.value))
            assert b"\r" in content if place[1] is None else int(place[1]) in wrong
            continue
        n_valid += 1
        scores = trials.read_scores(path, format=format)
        numbers = [float(words[-1]) for _, words in table]
        np.testing.assert_array_equal(scores.score, numbers)
        if n_columns == 3:
            assert rows(scores) == [tuple(words[:2]) for _, words in table]
        expected = [f"{path}:{line}" for line, _ in table]
        assert scores.where([*range(len(scores))]) == expected
    assert min(n_valid, n_invalid) > 25


@pytest.mark.parametrize(
    ("name", "above"), [("k.csv", "\n\n"), ("k.tsv", "\ufeff"), ("k.csv.gz", ""), ("k.csv", "")]
)
def test_pieces_of_separated_text_give_the_whole(tmp_path, read_in_pieces, name, above):
    lines = ["enroll,test,label,room", "ann,a,target,x", "", 'bob,"b, 2",nontarget,"y\nz"',
             "ann,c,nontarget,x", "cem,d,target,"]  # fmt: skip
    if "tsv" in name:
        lines = [line.replace(", ", "").replace(",", "\t").replace("\n", "") for line in lines]
    content = (above + "\n".join(lines)).encode()
    path = save(tmp_path / name, gzip.compress(content) if name.endswith("gz") else content)
    n_above = above.count("\n")
    for n_bytes in (1 << 23, 1, 20, 100):
        read_in_pieces(n_bytes)
        key = trials.read_key(path)
        quotes, room = ('"', '"yz"') if "tsv" in name else ("", "y\nz")
        second = f"{quotes}b2{quotes}" if quotes else "b, 2"
        assert rows(key) == [("ann", "a"), ("bob", second), ("ann", "c"), ("cem", "d")]
        assert key.columns["room"].strings().tolist() == ["x", room, "x", ""]
        assert key.y_true.tolist() == [1, 0, 0, 1]
        last = n_above + (6 if quotes else 7)
        assert key.where([3, 0]) == [f"{path}:{last}", f"{path}:{n_above + 2}"]


def test_long_files_are_read_to_the_end(tmp_path, read_in_pieces):
    read_in_pieces(100_000)
    lines = "".join(f"m{k % 7} s{k} {'target' if k % 3 else 'nontarget'}\n" for k in range(30_000))
    assert len(trials.read_key(save(tmp_path / "key", lines))) == 30_000
    with pytest.raises(ValueError, match="key:30001: a label must be"):
        trials.read_key(save(tmp_path / "key", lines + "a b maybe\n"))
    with pytest.raises(ValueError, match="key:30002: there must be 3 columns"):
        trials.read_key(save(tmp_path / "key", lines + "\na b\n"))


@pytest.mark.parametrize("separator", [" ", ",", "\t"])
def test_progress_names_the_rows_of_a_file(tmp_path, read_in_pieces, separator):
    # more than the 128 kB, packed, that gzip reads ahead from Python 3.12 on
    read_in_pieces(1 << 20)
    words = [(f"speaker{k % 700}", f"test{k}", f"{'non' * (k % 9 > 0)}target")
             for k in range(100_000)]  # fmt: skip
    if separator != " ":
        words = [("enroll", "test", "label"), *words]
    content = "".join(separator.join(row) + "\n" for row in words).encode()
    for data in (content, gzip.compress(content, 1)):
        path, calls = save(tmp_path / "key", data), []
        key = trials.read_key(path, progress=lambda *call, calls=calls: calls.append(call))
        assert len(key) == 100_000
        names, done, totals = zip(*calls, strict=True)
        assert {*names} == {f"reading {path}"}
        assert len(done) > 2
        assert all(0 < a < b for a, b in pairwise(done))
        assert all(50_000 < total < 200_000 for total in totals)
        assert calls[-1][1:] == (100_000, 100_000)


# Key and scores in pieces


@pytest.mark.parametrize("n_bytes", [2_000, 1 << 20])
def test_lists_in_any_order_are_joined(tmp_path, read_in_pieces, n_bytes):
    read_in_pieces(n_bytes)
    rng = np.random.default_rng(0)
    n = 2000
    ids = [f"{'x' * (k % 20)}é{k}" for k in rng.integers(0, 300, n)]
    scores = rng.normal(size=n)
    key, path = tmp_path / "key", tmp_path / "scores"
    save(key, "".join(f"{a} t{k} {k % 2}\n" for k, a in enumerate(ids)))
    lines = [f"{a} t{k} {s!r}\n" for k, (a, s) in enumerate(zip(ids, scores.tolist(), strict=True))]
    nearly_sorted = np.r_[np.arange(n - 2), n - 1, n - 2]
    for order in (np.arange(n), np.arange(n)[::-1], rng.permutation(n), nearly_sorted):
        joined = trials.read(key, save(path, "".join(lines[k] for k in order)))
        assert (joined.score == scores).all()
        assert joined.enroll.tolist() == ids
    for some in (slice(n - 1), slice(1, None), slice(3, None, 2)):  # of which the rest is missing
        joined = trials.read(key, save(path, "".join(lines[some])), missing="drop")
        assert (joined.score == scores[some]).all()
        assert joined.enroll.tolist() == ids[some]


# Errors that are not in the corpus


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("0.5 a b\n1.5 a c\n", "kaldi-scores", "scores:1: a score must be a number, not 'b'"),
        ("a b 0.5\n", "kaldi-trials", r"kaldi-trials \(enroll test label\) has no score"),
        ("a 0.5 b\na 1.5 c\n", "kaldi-scores", "scores:1: a score must be a number, not 'b', in"),
        ("a b 1 1 2 3 4 x\n", "wespeaker", "scores:1: a norm_4 must be a number, not 'x', in"),
        ("a b 0.5\n", "parquet", "content is text, not parquet"),
    ],
)
def test_content_that_is_not_of_the_format_that_was_named(tmp_path, content, name, message):
    with pytest.raises(ValueError, match=message):
        trials.read_scores(save(tmp_path / "scores", content), format=name)


def test_keys_of_one_class(tmp_path):
    key, scores = save(tmp_path / "key", "a b nontarget\n"), save(tmp_path / "scores", "a b 0.5\n")
    with pytest.raises(ValueError, match=r"there are no targets among 1 trial$"):
        trials.read(key, scores)
