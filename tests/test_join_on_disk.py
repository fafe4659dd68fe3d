"""Keys and scores joined into a Parquet file: what trials.read gives on the same files."""

import errno
import gzip
import os
import random
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import fastpsr as fp
from fastpsr import trials
from fastpsr.trials.joining import joined_file, on_disk
from tests.commands import surroundings
from tests.golden import FOLDER

pytest.importorskip("pyarrow")

PAIRS = [(f"änn{e}/ß", f"seg {t}".replace(" ", "_")) for e in range(9) for t in range(9)]
WORDS = ["target" if k % 4 == 0 else "nontarget" for k in range(len(PAIRS))]
SCORES = [round(random.Random(k).gauss(2.0 * (k % 4 == 0), 1.0), 4) for k in range(len(PAIRS))]
KEY = [f"{e} {t} {w}" for (e, t), w in zip(PAIRS, WORDS, strict=True)]
LINES = [f"{e} {t} {s}" for (e, t), s in zip(PAIRS, SCORES, strict=True)]
SHUFFLED = random.Random(0).sample(LINES, len(LINES))


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(
    params=[200, *(pytest.param(size, marks=pytest.mark.slow) for size in (None, 50))],
    ids=["small pieces", "whole files", "tiny pieces"],
)
def pieces(request, monkeypatch):
    """Files that are read in pieces of some lines, whole, or in pieces of a line or two."""
    if request.param is not None:
        monkeypatch.setattr(joined_file, "_PIECE_BYTES", request.param)


def save(name, lines):
    content = "".join(f"{line}\n" for line in lines).encode()
    Path(name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return name


def joined(key, scores, **options):
    """Join, check that nothing else is left in the folder, and return the result and the file."""
    before = set(os.listdir())
    result = trials.join(key, scores, "out.parquet", **options)
    assert set(os.listdir()) - before <= {"out.parquet"}
    return result, pl.read_parquet("out.parquet")


def refused(key, scores, **options):
    """Return the message of an error, which leaves nothing behind."""
    before = set(os.listdir())
    with pytest.raises(ValueError) as error:
        trials.join(key, scores, "out.parquet", **options)
    assert set(os.listdir()) == before
    return str(error.value)


def require_as_read(frame, key, scores, name="llr", **options):
    """The file holds what trials.read gives."""
    made = trials.read(key, scores, **options)
    assert frame["target"].dtype == pl.Boolean
    assert frame["target"].to_list() == made.y_true.astype(bool).tolist()
    assert frame[name].to_numpy().tobytes() == made.score.tobytes()
    assert frame["enroll"].to_list() == made.enroll_ids.series().to_list()
    assert frame["test"].to_list() == made.test_ids.series().to_list()
    return made


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("order", ["same", "other"])
def test_several_keys_are_one(order):
    rows = [line.split() for line in KEY]
    one = [",".join([*row, "5", "a"]) for row in rows[:30]]
    two = [f"{e},{int(w == 'target')},6,{t}" for e, t, w in rows[30:]]
    keys = [
        save("one", ["enroll,test,label,snr,mic", *one]),
        save("two", ["enroll,label,snr,test", *two]),
    ]
    save("scores", LINES if order == "same" else SHUFFLED)
    seen = []
    result, frame = joined(keys, "scores", progress=lambda *step: seen.append(step))
    made = require_as_read(frame, keys, "scores")
    assert frame["snr"].to_list() == ["5"] * 30 + ["6"] * 51
    assert result.columns == ("target", "llr", "enroll", "test", "snr")
    assert result.notes == made.notes
    assert result.notes[0].endswith("\nleft out: column mic of one, which others lack")
    assert max(done for name, done, _ in seen if "one" in name) == 81
    save("scores", [line for line in SHUFFLED if line != LINES[-1]])
    assert f"1 trial without a score ({' '.join(rows[-1][:2])!r} at two:52)" in refused(
        keys, "scores"
    )


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("late", [False, True])
def test_spoofed_trials_have_a_column_wherever_they_are(late, monkeypatch):
    monkeypatch.setattr(sys.modules["fastpsr.trials.read"], "_FIRST_BYTES", 1000)
    kinds = ["target", "nontarget"] * 300 + ["spoof"]
    kinds = kinds if late else kinds[::-1]
    save("key", [f"m {k} {kind}" for k, kind in enumerate(kinds)])
    save("scores", [f"m {k} {k}" for k in range(len(kinds))])
    result, frame = joined("key", "scores")
    assert frame["target"].sum() == 300
    assert frame["kind"].to_list() == kinds
    assert "distinguished by kind" in result.notes[0]
    assert result.notes == trials.read("key", "scores").notes


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("order", ["same", "other"])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_as_in_memory(order, ending):
    lines = LINES if order == "same" else SHUFFLED
    names = save(f"key{ending}", KEY), save(f"scores{ending}", lines)
    result, frame = joined(*names)
    require_as_read(frame, *names)
    assert result.in_order == {names[1]: order == "same"}
    assert result.columns == tuple(frame.columns) == ("target", "llr", "enroll", "test")
    assert (result.n_trials, result.n_targets) == (81, 21)
    assert result.notes == trials.read(*names).notes
    data = fp.scan_parquet("out.parquet")
    assert fp.EER()(data) == fp.EER()(trials.read(*names).predictions())


@pytest.mark.usefixtures("pieces")
def test_several_systems_each_in_an_order_of_its_own():
    save("key", KEY)
    save("a.txt", LINES)
    save("b.txt", SHUFFLED)
    save("test.txt.gz", [f"{e} {t} {k}.5" for k, (e, t) in enumerate(PAIRS)])
    result, frame = joined("key", ["a.txt", "b.txt", "test.txt.gz"])
    assert frame.columns == ["target", "a", "b", "test.txt.gz", "enroll", "test"]
    assert result.scores == {"a.txt": "a", "b.txt": "b", "test.txt.gz": "test.txt.gz"}
    assert list(result.in_order.values()) == [True, False, True]
    for path, name in result.scores.items():
        require_as_read(frame, "key", path, name)
    _, frame = joined("key", {"one": "b.txt", "two": "a.txt"})
    assert frame.columns[1:3] == ["one", "two"]
    assert frame["one"].equals(frame["two"])
    assert fp.EER()(fp.scan_parquet("out.parquet", llrs="two")) == fp.EER()(
        trials.read("key", "a.txt").predictions()
    )


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("order", ["same", "other"])
@pytest.mark.parametrize("format", ["parquet", "npz"])
def test_binary_formats_are_joined(format, order):
    def write(name, frame):
        if format == "parquet":
            frame.write_parquet(name)
        else:
            arrays = {column: frame[column].to_numpy() for column in frame.columns}
            np.savez(name, **{k: v.astype(str) if v.dtype == object else v
                              for k, v in arrays.items()})  # fmt: skip
        return name

    pairs = {"enroll": [e for e, _ in PAIRS], "test": [t for _, t in PAIRS]}
    frame = pl.DataFrame(pairs | {"label": WORDS, "snr": [k % 4 + 0.5 for k in range(len(PAIRS))]})
    scored = pl.DataFrame(pairs | {"score": SCORES})[:-3]
    key = write(f"key.{format}", frame)
    scores = write(f"scores.{format}", scored if order == "same" else scored[::-1])
    text_key, text_scores = save("key", KEY), save("scores", LINES)
    for of_key, of_scores in ((key, scores), (key, text_scores), (text_key, scores)):
        result, joint = joined(of_key, of_scores, missing="drop")
        made = require_as_read(joint, of_key, of_scores, missing="drop")
        assert result.notes == made.notes
        assert joint["llr"].to_list() == SCORES[: joint.height]
        assert joint.height == len(PAIRS) - 3 * (of_scores is scores)
        if of_key is key:
            assert joint["snr"].to_list() == made.columns["snr"].tolist()
    assert refused(key, scores) == message_of(lambda: trials.read(key, scores))
    assert "3 trials without a score" in refused(key, scores)


@pytest.mark.usefixtures("pieces")
def test_matrices_are_joined():
    pytest.importorskip("h5py")
    key, scores = (FOLDER / "corpus" / f"bosaris{name}" for name in (".key", "-transposed.scores"))
    _, frame = joined(key, scores)
    require_as_read(frame, key, scores)


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("form", ["numbers", "labeled", "repeated"])
def test_scores_without_ids_in_the_order_of_the_key(form):
    again = KEY[:5] if form == "repeated" else []
    save("key", [*KEY, *again])
    numbers = [str(s) for s in SCORES] + [str(s) for s in SCORES[: len(again)]]
    if form == "labeled":
        numbers = [f"{s} {word}" for s, word in zip(numbers, WORDS, strict=True)]
    save("scores", numbers)
    options = {"duplicates": "first", "format": "in-order"}
    result, frame = joined("key", "scores", **options)
    made = require_as_read(frame, "key", "scores", **options)
    assert made.score.tolist() == SCORES
    assert result.notes == made.notes
    assert result.in_order == {"scores": True}
    with pytest.raises(ValueError, match=r"no ids of trials to join on: pass format=.in-order."):
        trials.read("key", "scores")
    for wrong in (numbers[:-1], [*numbers, numbers[0]]):
        save("scores", wrong)
        found = refused("key", "scores", **options)
        assert found == message_of(lambda: trials.read("key", "scores", **options))
        assert found == (
            f"scores has {len(wrong)} scores and key has {len(numbers)} trials: in the key's "
            "order there must be one for each"
        )
    save("scores", LINES)
    found = refused("key", "scores", format="in-order")
    assert found == message_of(lambda: trials.read("key", "scores", format="in-order"))
    assert found.startswith("format in-order is for scores without ids, and scores has some")
    with pytest.raises(ValueError, match="in-order is for scores in the order of a key"):
        trials.read(None, "scores", format="in-order")


@pytest.mark.filterwarnings("ignore:.* target trials are of two speakers")
@pytest.mark.filterwarnings("ignore:speaker .* is in all")
def test_reading_and_joining_take_the_same_arguments():
    ids = {word: [" ".join(p) for p, w in zip(PAIRS, WORDS, strict=True) if w == word]
           for word in ("target", "nontarget")}  # fmt: skip
    key = {word: save(word, lines) for word, lines in ids.items()}
    save("scores", SHUFFLED)
    heard = []
    options = {"speakers": "pattern:^.{4}", "progress": lambda *said: heard.append(said)}
    result, frame = joined(key, "scores", **options)
    made = require_as_read(frame, key, "scores", **options)
    assert result.notes == made.notes
    names = np.array(made.speaker_names)
    assert frame["enroll_speaker"].to_list() == names[made.speakers[0]].tolist()
    assert heard.count(("reading scores", 81, 81)) >= 2
    again = trials.read(trials.read_key(key), "scores", speakers="pattern:^.{4}")
    assert again.notes == made.notes
    assert again.score.tolist() == made.score.tolist()
    listed = trials.read([trials.read_key(save("key", KEY[:40])), save("key2", KEY[40:])], "scores")
    assert sorted(listed.score) == sorted(made.score)
    numbers = {word: save(f"{word}_scores", ["1.5", "2.5"]) for word in ("target", "nontarget")}
    assert trials.read(numbers).y_true.tolist() == [1, 1, 0, 0]
    for join in (trials.read, lambda *given, **more: trials.join(*given, "o.parquet", **more)):
        with pytest.raises(ValueError, match="speakers must be columns of the files"):
            join(key, "scores", speakers=("a", "b"))


def test_names_of_columns():
    for folder in ("dev", "eval"):
        os.mkdir(folder)
        save(f"{folder}/s.txt", LINES)
    save("key", KEY)
    result, _ = joined("key", ["dev/s.txt", "eval/s.txt"])
    assert list(result.scores.values()) == ["dev/s.txt", "eval/s.txt"]
    assert "name each file once" in refused("key", ["dev/s.txt", "dev/../dev/s.txt"])
    with pytest.raises(ValueError, match="must not be an input"):
        trials.join("key", "dev/s.txt", "key")
    save("key", [line.replace("gender", "llr") for line in NIST])
    assert "two of the result are 'llr'" in refused("key", "dev/s.txt")


NIST = ["modelid\tsegmentid\ttargettype\tgender\tspk\tsegspk"] + [
    f"{e}\t{t}\t{w}\t{'fm'[k % 2]}\t{e[:4]}\t{e[:4] if w == 'target' else t}"
    for k, ((e, t), w) in enumerate(zip(PAIRS, WORDS, strict=True))
]


@pytest.mark.usefixtures("pieces")
@pytest.mark.filterwarnings("ignore:.* target trials are of two speakers")
@pytest.mark.filterwarnings("ignore:speaker .* is in all")
@pytest.mark.parametrize("lines", [LINES, SHUFFLED], ids=["same order", "other order"])
def test_conditions_and_speakers_travel(lines):
    save("key", NIST)
    save("scores", lines)
    save("map", [f"{name} {name[:4]}" for name in sorted({x for pair in PAIRS for x in pair})])
    _, frame = joined("key", "scores")
    assert frame.columns == ["target", "llr", "enroll", "test", "gender", "spk", "segspk"]
    made = require_as_read(frame, "key", "scores")
    for name in ("gender", "spk", "segspk"):
        assert frame[name].to_list() == made.columns[name].series().to_list()
    for speakers in (
        "map", {x: x[:4] for pair in PAIRS for x in pair}, ("spk", "segspk"), "columns:spk,segspk",
        "pattern:^.{4}",
    ):  # fmt: skip
        result, frame = joined("key", "scores", speakers=speakers)
        assert frame.columns[4:6] == ["enroll_speaker", "test_speaker"]
        known = made.with_speakers(speakers)
        names = np.array(known.speaker_names)
        for column, places in zip(("enroll_speaker", "test_speaker"), known.speakers, strict=True):
            assert frame[column].to_list() == names[places].tolist()
        assert result.notes[-1] == known.notes[-1]


def message_of(call):
    with pytest.raises(ValueError) as error:
        call()
    return str(error.value)


def with_faults(faults, lines):
    """Return the lines of a key and of scores with faults."""
    key, scores = list(KEY), list(lines)
    if "missing" in faults:
        lost = {LINES[k] for k in (3, 8, 40, 41)}
        scores = [line for line in scores if line not in lost]
    if "extra" in faults:
        scores.insert(5, "nobody seg_0 1.0")
    if "nan" in faults:
        scores = [f"{line.rsplit(' ', 1)[0]} nan" if line in (LINES[11], LINES[12]) else line
                  for line in scores]  # fmt: skip
    if "duplicates" in faults:
        scores += [scores[7], scores[20].rsplit(" ", 1)[0] + " 9.5"]
    if "key" in faults:
        key.insert(30, key[2])
    return key, scores


ALLOWING = {"missing": "drop", "extra": "ignore", "duplicates": "first", "nan": "drop"}
FAULTS = ["missing", "extra", "nan", "duplicates", "key", "missing extra nan duplicates key"]


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("lines", [LINES, SHUFFLED], ids=["same order", "other order"])
@pytest.mark.parametrize("faults", FAULTS)
def test_what_does_not_fit_is_refused_or_left_out_as_in_memory(faults, lines):
    key, scores = with_faults(faults.split(), lines)
    save("key", key)
    save("scores", scores)
    assert refused("key", "scores") == message_of(lambda: trials.read("key", "scores"))
    result, frame = joined("key", "scores", **ALLOWING)
    made = require_as_read(frame, "key", "scores", **ALLOWING)
    assert result.notes == made.notes
    for fault in {"duplicates" if fault == "key" else fault for fault in faults.split()}:
        others = {name: word for name, word in ALLOWING.items() if name != fault}
        assert refused("key", "scores", **others) == message_of(
            lambda others=others: trials.read("key", "scores", **others)
        )


@pytest.mark.parametrize("again", [[0, 9], range(len(KEY))], ids=["a few", "all"])
def test_repeats_in_the_same_order(again):
    """Files that repeat alike are still in one order."""
    save("key", [*KEY, *(KEY[k] for k in again)])
    save("scores", [*LINES, *(LINES[k] for k in again)])
    assert refused("key", "scores") == message_of(lambda: trials.read("key", "scores"))
    result, frame = joined("key", "scores", duplicates="first")
    assert result.in_order == {"scores": True}
    assert result.notes == require_as_read(frame, "key", "scores", duplicates="first").notes
    assert frame.height == len(KEY)


def test_a_trial_left_out_of_one_system_is_left_out_of_all():
    save("key", KEY)
    save("a", LINES[1:])
    save("b", [line for line in SHUFFLED if line != LINES[4]])
    result, frame = joined("key", ["a", "b"], missing="drop")
    assert frame.height == len(KEY) - 2
    assert [line for line in result.notes if "left out" in line] == [
        f"{path}: left out: 1 trial without a score ('{' '.join(PAIRS[k])}'): missing=drop"
        for path, k in (("a", 0), ("b", 4))
    ]
    assert "a do not fit" in refused("key", ["a", "b"])


def test_collisions_of_hashes_are_no_duplicates(monkeypatch):
    """Ids are compared, not hashes."""

    def of_one_value(ids):
        return pl.Series(np.zeros(ids.height, np.uint64))

    save("key", KEY)
    for name, lines in (("same", LINES), ("other", SHUFFLED)):
        save(name, lines)
        monkeypatch.setattr(pl.DataFrame, "hash_rows", of_one_value)
        _, frame = joined("key", name)
        require_as_read(frame, "key", name)


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("lines", [LINES, SHUFFLED], ids=["same order", "other order"])
def test_small_buckets_on_disk_and_small_row_groups(lines, monkeypatch):
    import pyarrow.parquet as pq

    monkeypatch.setattr(joined_file, "_FIRST_BYTES", 64)
    monkeypatch.setenv("FASTPSR_MEMORY", "8KB")
    monkeypatch.setattr(on_disk, "_GROUP_ROWS", 10)
    save("key", [*KEY, KEY[4]])
    save("scores", lines)
    result, frame = joined("key", "scores", duplicates="first")
    assert result.notes == require_as_read(frame, "key", "scores", duplicates="first").notes
    groups = pq.ParquetFile("out.parquet").metadata
    sizes = [groups.row_group(k).num_rows for k in range(groups.num_row_groups)]
    assert sizes == [10] * 8 + [1]


def test_side_is_joined_on_where_both_have_it():
    rows = list(enumerate((e, t, side) for e, t in PAIRS for side in "ab"))
    of_key = [f"{e}\t{t}\t{side}\t{WORDS[k // 2]}" for k, (e, t, side) in rows]
    of_scores = [f"{e}\t{t}\t{side}\t{k}.5" for k, (e, t, side) in reversed(rows)]
    save("key", ["modelid\tsegmentid\tside\ttargettype", *of_key])
    save("scores", ["modelid\tsegmentid\tside\tLLR", *of_scores])
    _, frame = joined("key", "scores")
    made = require_as_read(frame, "key", "scores")
    assert frame["side"].to_list() == made.columns["side"].series().to_list()
    save("plain", [f"{e} {t} 1.0" for e, t in PAIRS])
    assert refused("key", "plain") == message_of(lambda: trials.read("key", "plain"))


@pytest.mark.usefixtures("pieces")
def test_what_is_wrong_with_a_file():
    save("key", KEY)
    save("scores", LINES)
    save("cut.gz", LINES)
    Path("cut.gz").write_bytes(Path("cut.gz").read_bytes()[:-20])
    save("swapped", [f"{t} {e} {s}" for (e, t), s in zip(PAIRS, SCORES, strict=True)])
    save("others", ["x y 1.5", "z w 2.5"])
    save("all_nan", [f"{e} {t} nan" for e, t in PAIRS])
    save("targets", [f"{e} {t} target" for e, t in PAIRS])
    save("table", ["enroll,test,score", *(f"{e},{t},{k}" for k, (e, t) in enumerate(PAIRS)), "a,b"])
    for key, scores, options in [
        ("key", "cut.gz", {}),
        ("key", "swapped", {"missing": "drop", "extra": "ignore"}),
        ("key", "others", {}),
        ("key", "all_nan", {"nan": "drop"}),
        ("targets", "scores", {}),
        ("key", "table", {}),
        ("key", "table", {"format": "score=x"}),
        ("key", "scores", {"missing": "ignore"}),
    ]:
        found = refused(key, scores, **options)
        assert found == message_of(
            lambda key=key, scores=scores, options=options: trials.read(key, scores, **options)
        )
    with pytest.raises(FileNotFoundError):
        trials.join("key", "none", "out.parquet")
    with pytest.raises(FileNotFoundError):
        trials.join("key", "scores", "none/out.parquet")


# Memory and disk


def process(code, *arguments, **environment):
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code, *arguments], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env=surroundings(**environment),
    )  # fmt: skip


LIMITED = """
import resource, sys
from fastpsr import trials
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    trials.join("key", sys.argv[1], "out.parquet")
except OSError as error:
    print(error.errno, error.filename)
"""


@pytest.mark.parametrize("order", [pytest.param("same", marks=pytest.mark.slow), "other"])
@pytest.mark.parametrize(
    "limit", [pytest.param(0, marks=pytest.mark.slow), 5_000,
              pytest.param(40_000, marks=pytest.mark.slow)],
)  # fmt: skip
def test_nothing_is_left_where_the_disk_is_full(order, limit):
    """Files may not grow beyond a limit: as on a full disk, writing fails."""
    pytest.importorskip("resource")
    many(40_000, order)
    before = set(os.listdir())
    run = process(LIMITED, "scores", str(limit))
    out, err = run.communicate(timeout=100)
    code, file = out.split() or (0, err)
    assert file == "out.parquet"
    assert int(code) in (errno.EFBIG, errno.ENOSPC, errno.EIO)
    assert set(os.listdir()) == before


def many(n, order, seed=0):
    """Write a key and scores of n trials."""
    rng = np.random.default_rng(seed)
    side = int(np.ceil(np.sqrt(n)))
    pairs = rng.permutation(side * side)[:n]
    frame = pl.DataFrame({"e": pairs // side, "t": pairs % side, "s": rng.normal(size=n)})
    frame = frame.with_columns(
        pl.format("speaker{}/session/00001.wav", "e").alias("e"),
        pl.format("speaker{}/session/00001.wav", "t").alias("t"),
        pl.when(pl.col("s") > 1.5).then(pl.lit("target")).otherwise(pl.lit("nontarget")).alias("w"),
    )
    plain = {"separator": " ", "include_header": False}
    frame.select("e", "t", "w").write_csv("key", **plain)
    other = frame.sample(fraction=1.0, shuffle=True, seed=1) if order == "other" else frame
    other.select("e", "t", "s").write_csv("scores", **plain)
    return frame


MEASURED = """
import resource, sys
from fastpsr import trials
import polars, pyarrow.parquet
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
before = peak()
done = trials.join("key", "scores", "out.parquet")
print(done.n_trials, before, peak())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the unit of memory is that of Linux")
@pytest.mark.parametrize("order", ["same", "other"])
def test_memory_is_bounded(order):
    """Two million trials, 230 MB of text: the budget, pieces of text, and what libraries take."""
    frame = many(2_000_000, order)
    run = process(MEASURED, FASTPSR_MEMORY="200MB")
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, err
    n, before, peak = map(int, out.split())
    assert n == 2_000_000
    assert peak - before < 500e6
    made = pl.read_parquet("out.parquet")
    assert made["llr"].equals(frame["s"].alias("llr"))
    assert made["enroll"].equals(frame["e"].alias("enroll"))


def test_no_half_file_replaces_another():
    save("key", KEY)
    save("scores", [*LINES[:-1], "änn0/ß seg_0 x"])
    Path("out.parquet").write_text("mine")
    refused("key", "scores")
    assert Path("out.parquet").read_text() == "mine"
    assert not re.findall(r"\.part", " ".join(os.listdir()))


def test_files_that_are_no_targets_and_nontargets():
    save("a", ["x y"])
    save("scores", ["x y 1", "x z 2"])
    for key, named in (({"target": "a"}, "'target'"), ({}, "none")):
        message = refused(key, "scores")
        assert message == f"key must have files of 'target' and 'nontarget', not {named}"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("lines", [LINES, SHUFFLED])
def test_pipes(lines, monkeypatch):
    key, scores = save("key", KEY), save("scores", lines)
    _, expected = joined(key, scores)
    for name in ("k", "s"):
        os.mkfifo(name)

    def feed():
        writers = [
            threading.Thread(target=Path(name).write_bytes, args=(Path(of).read_bytes(),))
            for name, of in (("k", key), ("s", scores))
        ]
        for writer in writers:
            writer.start()
        return writers

    writers = feed()
    _, frame = joined("k", "s")
    assert frame.equals(expected)
    writers += feed()
    monkeypatch.setenv("FASTPSR_MEMORY", "10")
    refusal = r" must be a regular file in UTF-8, as other text .* save it"
    with pytest.raises(ValueError, match=f"k{refusal}"):
        trials.join("k", "s", "out.parquet")
    Path("utf-16").write_text("a b target\n", "utf-16")
    with pytest.raises(ValueError, match=f"utf-16{refusal}"):
        trials.join("utf-16", scores, "out.parquet")
    for writer in writers:
        writer.join()
