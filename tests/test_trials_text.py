"""Text as people have it: odd blanks, wrong lines, damaged files."""

import gzip
import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

from fastpsr import trials
from fastpsr.trials import pieces, text
from fastpsr.trials.joining import repeats
from fastpsr.trials.reading import read_file
from fastpsr.trials.request import Request
from fastpsr.trials.sample import Sample

KEY = "ann a target\nann b nontarget\nbob a target\n"


def save(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(reading):
    return list(zip(reading.enroll.strings(), reading.test.strings(), strict=True))


@pytest.mark.parametrize(
    "content",
    [
        KEY,
        KEY.rstrip("\n"),
        KEY.replace("\n", "\r\n"),
        "\ufeff" + KEY,
        "\ufeff" + KEY.replace("\n", "\r\n"),
        KEY.replace(" ", "\t"),
        KEY.replace(" ", "  "),
        KEY.replace(" ", " \t "),
        KEY.replace("\n", " \n"),
        KEY.replace("\n", " \r\n"),
        "  " + KEY,
        KEY + "\n\n",
        "\n \n" + KEY,
        KEY.replace("\n", "\n\t\n"),
        KEY.replace("bob a", "bob\ta"),
        KEY.replace("ann b", "ann  b"),
        KEY.replace("target", "Target"),
    ],
)
def test_blanks_and_line_ends_do_not_matter(tmp_path, content):
    for data in (content.encode(), gzip.compress(content.encode())):
        found = trials.read_key(save(tmp_path / "key", data))
        assert rows(found) == [("ann", "a"), ("ann", "b"), ("bob", "a")]
        assert found.y_true.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "name",
    [
        '"quoted"',
        "'",
        'a"b',
        "#x",
        "a,b",
        "é/ü.wav",
        "日本",
        "a\u00a0b",
        "a\u2028b",
        "\\",
        "NaN",
        "*",
    ],
)
@pytest.mark.parametrize("gap", [" ", "  ", "\t"])
def test_ids_are_taken_literally(tmp_path, name, gap):
    content = f"{name}{gap}x{gap}target\ny{gap}{name}{gap}nontarget\n"
    assert rows(trials.read_key(save(tmp_path / "key", content))) == [(name, "x"), ("y", name)]


def test_names_of_files_are_taken_literally(tmp_path):
    assert len(trials.read_key(save(tmp_path / "a[1]*.txt", KEY))) == 3
    with pytest.raises(FileNotFoundError):
        trials.read_key(tmp_path / "none")


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("1e-3", 1e-3),
        ("-1.5E+2", -150.0),
        ("+2", 2.0),
        ("inf", float("inf")),
        ("-Infinity", float("-inf")),
        (".5", 0.5),
        ("5.", 5.0),
    ],
)
@pytest.mark.parametrize("gap", [" ", "  "])
def test_numbers(tmp_path, word, value, gap):
    found = trials.read_scores(save(tmp_path / "scores", f"a b{gap}{word}\na c{gap}0.25\n"))
    assert found.score.tolist() == [value, 0.25]


WRONG = {
    "empty": ("", "key: the file is empty"),
    "blank": (" \n\t\n", "key: the file is empty"),
    "unknown label": (KEY + "x y maybe\n", "key:4: a label must be one of target/nontarget.*maybe"),
    "unknown after blank lines": ("\n" + KEY + "\nx y maybe\n", "key:6: a label must be"),
    "mixed labels": (KEY + "x y tgt\n", "key:4: labels must be of one kind, but 'tgt' follows"),
    "target and 0": (KEY + "x y 0\nx z 1\n", "key:4: labels must be of one kind, but '0' follows"),
    "three numbers": ("a b 1\na c 0\na d -1\n", "key:3: labels must be.*'-1' follows '1' and '0'"),
    "header": ("enroll test label\n" + KEY, "key:1: a label must be .* not 'label' .a header"),
    "id with a blank": (KEY + "x y z target\n", r"key:4: there must be 3 columns .* not 4: 'x y z"),
    "short line": (KEY + "x target\n", r"key:4: there must be 3 columns .* not 2: 'x target'"),
    "not UTF-8": (
        KEY.encode() + b"\xff y target\n",
        "key:4: the text must be UTF-8, not byte 0xff",
    ),
    "UTF-16": (KEY.encode("utf-16"), "UTF-8, not UTF-16"),
    "binary": (b"\x01\x00\x02", "neither text nor a file of a known kind"),
    "CR alone": (KEY.replace("\n", "\r"), "not in CR alone"),
    "bzip2": (b"BZh91AY&SY", "key: the file is packed by bzip2, and only gzip is read"),
    "xz": (b"\xfd7zXZ\0\0", "packed by xz"),
    "zstd": (b"\x28\xb5\x2f\xfdabc", "packed by zstd"),
    "unknown header": ("spk utt truth\n" + KEY, "key:1: a label must be .*, not 'truth'"),
    "CSV without header, uneven": (
        KEY.replace(" ", ",") + "x,y\n",
        r"has 3 columns apart by commas like .*; nearest is bare-csv \(enroll test label\), but "
        "line 4 has 2 columns; columns in another order",
    ),
    "semicolons": (
        KEY.replace(" ", ";"),
        "has 3 columns apart by semicolons like those of 'ann;a;target'; columns must be apart by "
        "blanks, tabs or commas; columns in another order",
    ),
    "strange labels": (
        "\n" + KEY.replace(" target", " yes").replace("nontarget", "no"),
        "key:2: a label must be one of .*, not 'yes': replace it in the file$",
    ),
    "CSV, blanks": (
        "enroll, test, label\nann, a, target\n",
        "key:2: a label must be .*, not ' target'",
    ),
    "CSV, two labels": (
        "enroll,test,label,key\na,b,1,1\n",
        r"key: the column of the label could be label or key: pass "
        r"key_columns=\{'label': \.\.\.\}$",
    ),
    "control": (KEY + "a\x01b c d e\n", "key:4: there must be no control characters"),
    "one column": (
        "a\nb\n",
        "no known format has 1 column like those of 'a'; columns in another order "
        r"need a header that names them, with tabs or commas between the columns$",
    ),
    "scores as a key": ("a b 0.5\na c 1.5\n", "looks like kaldi-scores.*no label; are key and sc"),
    "wrong order": ("a target b\na nontarget c\n", "no known format has 3 columns like"),
    "labels on both sides": (
        "1 a 1\n0 b 0\n",
        r"more than one format: kaldi.*voxceleb.*: pass key_format=\.\.\.$",
    ),
    "no targets": ("a b nontarget\n", "there are no targets among 1 trial$"),
    "no non-targets": ("a b 1\nc d 1\n", "there are no non-targets among 2 trials$"),
    "TSV, long": (
        "modelid\tsegmentid\ttargettype\na\tb\ttarget\tx\n",
        "key:2: .* 3 columns.* not 4",
    ),
    "TSV, short": ("modelid\tsegmentid\ttargettype\na\tb\n", "key:2: .* 3 columns.* not 2"),
    "TSV, later": (
        "modelid\tsegmentid\ttargettype\na\tb\ttarget\n\nc\td\n",
        "key:4: there must be 3 columns, as in the header, not 2: 'c",
    ),
    "TSV, empty": ("modelid\tsegmentid\ttargettype\n", "no trial below the header"),
    "TSV, blank id": ("modelid\tsegmentid\ttargettype\na\t\ttarget\n", "key:2: the test .* is mis"),
    "TSV, label": (
        "modelid\tsegmentid\ttargettype\na\tb\ttarget\nc\td\tmaybe\n",
        "key:3: a label must be",
    ),
    "TSV, empty row": (
        "modelid\tsegmentid\ttargettype\na\tb\ttarget\n\t\t\n",
        "key:3: all columns are empty",
    ),
    "TSV, twice": (
        "modelid\tsegmentid\tmodelid\ttarget\na\tb\tc\t1\n",
        "key must .* 2 are 'modelid'",
    ),
    "TSV, UTF-8": (
        b"modelid\tsegmentid\ttargettype\na\tb\ttarget\n\xe9\tb\ttarget\n",
        "key:3: the text must be UTF-8, not byte 0xe9",
    ),
    "CSV, quote": ('enroll,test,label\n"a,b,1\n', "key:2: unexpected end of data"),
    "TSV, no label": ("modelid\tsegmentid\na\tb\n", "no column for the label.*targettype"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said(tmp_path, case):
    content, message = WRONG[case]
    scores = save(tmp_path / "scores", "a b 0.5\n")
    with pytest.raises(ValueError, match=message) as raised:
        trials.read(save(tmp_path / "key", content), scores)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("a b 0.5\na c x\nd e 3.5\n", None, "scores:2: a score must be a number, not 'x', in 'a c"),
        ("a b 0.5\na c 1_0\nd e 3.5\n", None, "scores:2: a score must be a number, not '1_0'"),
        ("a b 0.5\na c 0,5\nd e 3.5\n", None, "scores:2: a score must be a number, not '0,5'"),
        (
            "enroll test score\na b 0.5\na c 2\n",
            None,
            "scores:1: a score must be .*not 'score' .a header",
        ),
        ("0.5 a b\n1.5 a c\n", "kaldi-scores", "scores:1: a score must be a number, not 'b'"),
        ("a b target\n", None, "looks like kaldi-trials .*no score; are key and scores swapped"),
        ("a b 0.5\n", "kaldi-trials", r"kaldi-trials \(enroll test label\) has no score"),
        ("a 0.5 b\na 1.5 c\n", None, "no known format has 3 columns like those of 'a 0.5 b'"),
        ("a 0.5 b\na 1.5 c\n", "kaldi-scores", "scores:1: a score must be a number, not 'b', in"),
        ("a b 1 1 2 3 4 x\n", "wespeaker", "scores:1: a norm_4 must be a number, not 'x', in"),
        ("a b 0.5\n", "parquet", "content is text, not parquet"),
        ("1 2 3\n4 5 6\n", None, "more than one format: kaldi-scores .*voxsrc"),
        ("1 a b\n0 c d\n", None, r"more than one format: voxsrc \(.*voxceleb"),
        ("a b 1\nc d 0\n", None, "more than one format: kaldi-scores .*kaldi-trials"),
        ("a b 1 1\na c 0 0\n", None, "more than one format: wespeaker .*3dspeaker"),
        ("modelid\tsegmentid\tLLR\na\tb\t1\na\tc\tx\n", None, "scores:3: a score must be .*'x'"),
        ("modelid\tsegmentid\tLLR\na\tb\t1\na\tc\t\n", None, "scores:3: the score .* is missing"),
    ],
)
def test_wrong_scores(tmp_path, content, name, message):
    with pytest.raises(ValueError, match=message):
        trials.read_scores(save(tmp_path / "scores", content), format=name)


def test_a_byte_order_mark_inside_is_part_of_an_id(tmp_path):
    found = trials.read_key(save(tmp_path / "key", "\ufeff" + KEY + "\ufeffann a target\n"))
    assert rows(found)[0] == ("ann", "a")
    assert rows(found)[3] == ("\ufeffann", "a")


@pytest.mark.parametrize("keep", [5, 20, -9, -4])
def test_gzip_cut_short(tmp_path, keep):
    packed = gzip.compress(KEY.encode() * 20_000)
    with pytest.raises(ValueError, match="gzip file is cut short or damaged"):
        trials.read_key(save(tmp_path / "key", packed[:keep]))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("packed", [False, True])
def test_pipes(tmp_path, packed):
    path = tmp_path / "key"
    os.mkfifo(path)
    content = gzip.compress(KEY.encode()) if packed else KEY.encode()
    with ThreadPoolExecutor() as threads:
        threads.submit(path.write_bytes, content)
        found = trials.read_key(path)
        plain = trials.read_key(save(tmp_path / "plain", KEY))
        assert found.y_true.tolist() == plain.y_true.tolist()
        assert found.test.strings().tolist() == plain.test.strings().tolist()
        assert found.where([1]) == [f"{path}:2"]
        threads.submit(path.write_bytes, b"PAR1abc")
        with pytest.raises(ValueError, match="regular file: Parquet is not read from a pipe"):
            trials.read_scores(path)


def test_gzip_of_several_parts(tmp_path):
    packed = gzip.compress(KEY.encode()) + gzip.compress(b"c d target\n")
    assert len(trials.read_key(save(tmp_path / "key", packed))) == 4
    damaged = bytearray(packed)
    damaged[-6] ^= 1
    with pytest.raises(ValueError, match="cut short or damaged"):
        trials.read_key(save(tmp_path / "key", bytes(damaged)))


def test_numbers_as_ids(tmp_path):
    scores = save(tmp_path / "scores", "1001 2001 0.5\n1002 2002 -1.25\n")
    assert trials.read_scores(scores).format == "kaldi-scores"
    key = save(tmp_path / "key", "1 1001 2001\n0 1002 2002\n")
    assert trials.read(key, scores).score.tolist() == [0.5, -1.25]


def test_words_for_labels_are_no_ids(tmp_path):
    assert trials.read_key(save(tmp_path / "key", "1 2 target\n0 3 nontarget\n")).format == (
        "kaldi-trials"
    )


def test_long_files_are_read_to_the_end(tmp_path):
    lines = "".join(f"m{k % 7} s{k} {'target' if k % 3 else 'nontarget'}\n" for k in range(30_000))
    assert len(trials.read_key(save(tmp_path / "key", lines))) == 30_000
    with pytest.raises(ValueError, match="key:30001: a label must be"):
        trials.read_key(save(tmp_path / "key", lines + "a b maybe\n"))
    with pytest.raises(ValueError, match="key:30002: there must be 3 columns"):
        trials.read_key(save(tmp_path / "key", lines + "\na b\n"))


def test_csv_with_quotes_and_blank_lines(tmp_path):
    content = '\n"enroll",test,label\n\n"a ""x"", y",b,1\n\nc,"d e",0\n\n'
    found = trials.read_key(save(tmp_path / "key", content))
    assert rows(found) == [('a "x", y', "b"), ("c", "d e")]
    with pytest.raises(ValueError, match="key:8: a label must"):
        trials.read_key(save(tmp_path / "key", content + "c,e,9\n"))


def test_tsv_takes_quotes_literally(tmp_path):
    content = '\ufeffmodelid\tsegmentid\ttargettype\r\n"a\tb c\ttarget\r\nd\t"\tnontarget\r\n'
    assert rows(trials.read_key(save(tmp_path / "key", content))) == [('"a', "b c"), ("d", '"')]


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
    found = trials.read_key(save(path, end.join(lines) + end), format="kaldi-trials")
    assert rows(found) == pairs


WORDS = ["a", "é/b.wav", "target", "1.5", "-2", "nan", "inf", "-Infinity", "1e400", "1_0", "x\0",
         "#", '"', "a,b", "1e", "\ufeffa", "\x0b1", "\xa0"]  # fmt: skip
GAPS = [" ", " ", " ", "\t", "  ", " \t"]
ENDS = ["\n", "\n", "\n", "\r\n", "\n\n", " \n", "\n ", "\r"]


def outcome(read):
    """Return the columns, or the message of the error."""
    try:
        frame = read()
    except ValueError as error:
        return str(error)
    return [[repr(x) for x in column] for column in frame]


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
        content = content[:place] + bytes([rng.choice([0xFF, 0x01, 0x85])]) + content[place:]
    return content.removesuffix(b"\n") if rng.random() < 0.3 else content


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    "roles", [("enroll", "test", "label"), ("enroll", "test", "score"), ("score",)]
)
def test_regular_text_is_read_as_any_text_is(tmp_path, roles):
    rng = np.random.default_rng(len(roles))
    taken = 0
    for _ in range(600):
        content = hostile(rng, len(roles))
        piece = pieces.Piece(content, 1.0, lambda: 7)
        found = text._split_regular(content, roles)
        if found is not None:
            taken += 1
            assert outcome(lambda found=found: found) == outcome(
                lambda piece=piece: text._split_any(tmp_path / "key", piece, roles)
            ), content
    assert 100 < taken < 600


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("size", [1, 5, 40])
def test_pieces_are_read_as_the_whole(tmp_path, monkeypatch, size):
    rng = np.random.default_rng(size)
    for k in range(100):
        path = save(tmp_path / "key", b"\xef\xbb\xbf" * (k % 3) + hostile(rng, 3) + b"x y 1\n")
        sample = Sample("text", packed=False)
        whole = [piece.content for piece in pieces.pieces(path, sample)]
        parts = [*pieces.pieces(path, sample, size)]
        joined = b"".join(part.content for part in parts)
        assert joined.replace(b"\n", b"") == b"".join(whole).replace(b"\n", b"")
        for part in parts[1:]:
            before = part.lines_before()
            assert before < 0 or len(path.read_bytes().split(b"\n")[:before]) == before
            assert all(a.share <= b.share for a, b in pairwise(parts))

        def read(path=path):
            found = read_file(path, Request("scores", "kaldi-scores"))
            strings = [found.enroll.strings().tolist(), found.test.strings().tolist()]
            return [*strings, found.score.tolist(), found.where([*range(len(found))])]

        expected = outcome(read)
        with monkeypatch.context() as patch:
            patch.setattr(pieces, "PIECE_BYTES", size)
            assert outcome(read) == expected


@pytest.mark.parametrize("separator", [" ", ",", "\t"])
def test_the_share_that_was_read_is_told(tmp_path, monkeypatch, separator):
    # more than the 128 kB, packed, that gzip reads ahead from Python 3.12 on
    monkeypatch.setattr(pieces, "PIECE_BYTES", 1 << 20)
    rows = [(f"speaker{k % 700}", f"test{k}", f"{'non' * (k % 9 > 0)}target")
            for k in range(100_000)]  # fmt: skip
    if separator != " ":
        rows = [("enroll", "test", "label"), *rows]
    lines = "".join(separator.join(row) + "\n" for row in rows).encode()
    for content in (lines, gzip.compress(lines)):
        path, heard = save(tmp_path / "key", content), []
        found = read_file(path, Request("key"), lambda *said, heard=heard: heard.append(said))
        assert len(found) == 100_000
        names, done, totals = zip(*heard, strict=True)
        assert set(names) == {f"reading {path}"}
        assert len(done) > 2
        assert all(0 < a < b for a, b in pairwise(done))
        assert all(50_000 < total < 200_000 for total in totals)
        assert heard[-1][1:] == (100_000, 100_000)


def test_the_share_of_several_files_is_told(tmp_path):
    heard = []
    files = [save(tmp_path / name, f"{name} test\n" * 20_000) for name in ("ann", "bob")]
    trials.read_classes(*files, of="pairs", progress=lambda *said: heard.append(said))
    assert {name for name, *_ in heard} == {f"reading {files[0]} and {files[1]}"}
    assert heard[-1][1:] == (40_000, 40_000)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("n_bytes", [1, 20, 100])
@pytest.mark.parametrize("name", ["k.csv", "k.tsv", "k.csv.gz"])
@pytest.mark.parametrize("above", ["", "\n\n", "\ufeff"])
def test_pieces_of_separated_text_give_the_whole(tmp_path, monkeypatch, name, above, n_bytes):
    lines = ["enroll,test,label,room", "ann,a,target,x", "", 'bob,"b, 2",nontarget,"y\nz"',
             "ann,c,nontarget,x", "cem,d,target,"]  # fmt: skip
    if "tsv" in name:
        lines = [line.replace(", ", "").replace(",", "\t").replace("\n", "") for line in lines]
    content = (above + "\n".join(lines)).encode()
    path = save(tmp_path / name, gzip.compress(content) if name.endswith("gz") else content)
    expected = read_file(path, Request("key"))
    places = expected.where([3, 0, 1])
    monkeypatch.setattr(pieces, "PIECE_BYTES", n_bytes)
    found = read_file(path, Request("key"))
    for own, other in zip(
        (expected.enroll, expected.test, expected.columns["room"]),
        (found.enroll, found.test, found.columns["room"]),
        strict=True,
    ):
        assert other.strings().tolist() == own.strings().tolist()
    assert found.y_true.tolist() == expected.y_true.tolist() == [1, 0, 0, 1]
    assert found.where([3, 0, 1]) == places


@pytest.mark.parametrize("equal_hashes", [False, True])
def test_lists_in_any_order_are_matched_without_codes(tmp_path, monkeypatch, equal_hashes):
    if equal_hashes:  # then trials are told apart by codes
        monkeypatch.setattr(repeats, "hashes_of", lambda frame, roles: frame[roles[0]].hash() % 3)
    rng = np.random.default_rng(0)
    n = 2000
    ids = [f"{'x' * (k % 20)}é{k}" for k in rng.integers(0, 300, n)]
    scores = rng.normal(size=n)
    save(tmp_path / "key", "".join(f"{a} t{k} {k % 2}\n" for k, a in enumerate(ids)))
    rows = [f"{a} t{k} {s!r}\n" for k, (a, s) in enumerate(zip(ids, scores.tolist(), strict=True))]
    for order in (np.arange(n), np.arange(n)[::-1], rng.permutation(n)):
        save(tmp_path / "scores", "".join(rows[k] for k in order))
        found = trials.read(tmp_path / "key", tmp_path / "scores")
        assert all((column.uncoded is None) == equal_hashes for column in found.ids)
        assert (found.score == scores).all()
        assert found.enroll.tolist() == ids
    rows[n - 5] = rows[n - 5].replace(" ", " x", 1)
    save(tmp_path / "scores", "".join(rows))
    with pytest.raises(ValueError, match=rf"1 score of no trial in the key .*scores:{n - 4}\)"):
        trials.read(tmp_path / "key", tmp_path / "scores", missing="drop")
    save(tmp_path / "scores", "".join([*rows, "a b z\n"]))
    with pytest.raises(ValueError, match=rf"scores:{n + 1}: a score must be a number, not 'z'"):
        trials.read(tmp_path / "key", tmp_path / "scores")


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("size", [20, 1 << 20])
def test_ids_in_the_order_of_the_key_are_held_once(tmp_path, monkeypatch, size, coded):
    monkeypatch.setattr(pieces, "PIECE_BYTES", size)
    ids = [f"model{k % 7} segment{k}" for k in range(60)]
    key = trials.read_key(
        save(tmp_path / "key", "".join(f"{x} {k % 2}\n" for k, x in enumerate(ids)))
    )
    if coded:
        assert key.enroll.codes.size == key.test.codes.size == 60

    def scores_of(some):
        path = save(tmp_path / "scores", "".join(f"{x} 0.5\n" for x in some))
        return read_file(path, Request("scores"), known=key.ids)

    found = scores_of(ids)
    assert found.enroll is key.enroll
    assert found.test is key.test
    assert trials.read(key, found).test_ids is key.test
    other = [*ids[:30], "x segment30", *ids[31:]]
    for some in (ids[:-1], [*ids, "model0 more"], ids[1:], other):
        found = scores_of(some)
        assert rows(found) == [tuple(x.split()) for x in some]
        assert found.enroll is not key.enroll
        assert (found.test is key.test) == (some is other)


def test_equal_hashes_of_other_strings_match_nothing(tmp_path, monkeypatch):
    """Hashes that are distinct in each list, but those of other trials are the same."""

    def rows_as_hashes(frame, roles):
        return frame.with_row_index("row")["row"].cast(pl.UInt64)

    monkeypatch.setattr(repeats, "hashes_of", rows_as_hashes)
    save(tmp_path / "key", "a x 1\nb y 0\nc z 1\n")
    save(tmp_path / "scores", "c z 3\na x 1\nb y 2\n")
    assert trials.read(tmp_path / "key", tmp_path / "scores").score.tolist() == [1, 2, 3]
