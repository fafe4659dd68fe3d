"""`fp.scan_parquet`: row groups as parts, and what may be wrong with files."""

import collections
import re

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.data import parquet as room

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N = 1_000


def columns(n=N, seed=0):
    rng = np.random.default_rng([seed, n])
    y = rng.random(n) < 0.3
    llr = np.round(1.5 * rng.normal(size=n) + 2 * y - 1, 3)
    q = rng.dirichlet(np.ones(3), n)
    return {
        "target": y,
        "llr": llr,
        "other": llr + rng.normal(size=n),
        "q": 1.0 / (1.0 + np.exp(-llr)),
        "a": q[:, 0],
        "b": q[:, 1],
        "c": q[:, 2],
        "label": rng.integers(0, 3, n),
        "w": rng.integers(0, 30, n) * 0.1,
        "speaker": np.array([f"s{i}" for i in rng.integers(0, 9, n)]),
        "session": rng.integers(0, 5, n),
    }


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a table, and returns its path."""

    def write_table(table=None, name="trials.parquet", row_group_size=100):
        table = pa.table(columns() if table is None else table)
        pq.write_table(table, tmp_path / name, row_group_size=row_group_size)
        return tmp_path / name

    return write_table


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(room, "_PART_BYTES", 5_500)  # row groups are parts


def in_memory(table=None, rows=slice(None)):
    held = columns() if table is None else table
    return fp.Predictions.from_llrs(held["target"][rows], held["llr"][rows])


def loads(monkeypatch):
    """Count what is read: (part, columns) -> times."""
    counted = collections.Counter()
    load = room.ParquetFiles.load

    def counting(self, number, names):
        counted[number, tuple(sorted(names))] += 1
        return load(self, number, names)

    monkeypatch.setattr(room.ParquetFiles, "load", counting)
    return counted


METRICS = (fp.EER(), fp.MinDCF(0.01), fp.ActDCF(0.05), fp.MinCllr(), fp.AUC())


def require_same(data, whole):
    assert len(data) == len(whole)
    assert data.class_weights.tolist() == whole.class_weights.tolist()
    if data.n_classes == 2 and not data.has_weights:
        for metric in METRICS:
            assert metric(data) == metric(whole)
    for metric in (fp.CrossEntropy(), fp.BrierScore(), fp.ECE(on="confidence")):
        assert metric(data) == pytest.approx(metric(whole), rel=1e-12)


# Columns


@pytest.mark.parametrize(
    ("what", "column", "options"),
    [
        ("posteriors", "q", {"sample_weight": "w"}), ("posteriors", "q", {"priors": [0.9, 0.1]}),
        ("logits", "llr", {"priors": [0.9, 0.1], "sample_weight": "w"}),
        ("llrs", "llr", {"sample_weight": "w"}), ("llrs", "llr", {"prior": 0.1}),
        ("raw_scores", "other", {"sample_weight": "w"}),
    ],
)  # fmt: skip
def test_one_column(write, what, column, options):
    held = columns()
    data = fp.scan_parquet(write(), **{what: column}, **options)
    of_arrays = options | ({"sample_weight": held["w"]} if "sample_weight" in options else {})
    make = getattr(fp.Predictions, f"from_{what}")
    whole = make(held["target"], held[column], **of_arrays)
    assert data.priors.tolist() == whole.priors.tolist()
    if what == "raw_scores":
        assert fp.EER()(data) == pytest.approx(fp.EER()(whole), rel=1e-12)
    else:
        require_same(data, whole)


def rows_of(held):
    return np.column_stack([held[name] for name in "abc"])


@pytest.mark.parametrize("what", ["posteriors", "log_posteriors", "logits", "log_likelihoods"])
@pytest.mark.parametrize("form", ["columns", "lists", "large lists", "fixed lists", "float32"])
def test_several_columns(write, what, form):
    held = columns()
    rows = rows_of(held) if what == "posteriors" else np.log(rows_of(held))
    if form == "float32":
        rows = rows.astype(np.float32)
    table = {"label": held["label"]}
    if form in ("columns", "float32"):
        table |= {name: rows[:, k] for k, name in enumerate("abc")}
        given = ["a", "b", "c"]
    else:
        kind = {"lists": pa.list_(pa.float64()), "large lists": pa.large_list(pa.float64()),
                "fixed lists": pa.list_(pa.float64(), 3)}[form]  # fmt: skip
        table["rows"] = pa.array(list(rows), kind)
        given = "rows"
    data = fp.scan_parquet(write(table), y_true="label", **{what: given})
    whole = getattr(fp.Predictions, f"from_{what}")(held["label"], rows)
    assert (data.n_classes, data.kind) == (3, whole.kind)
    require_same(data, whole)
    assert data.compute().scores.tobytes() == whole.scores.tobytes()


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        *(("llr", kind) for kind in (pa.float32(), pa.float16(), pa.int64())),
        *(("target", kind) for kind in (pa.uint8(), pa.int16(), pa.int64(), pa.float64())),
    ],
)
def test_numbers_of_any_type(write, column, kind):
    held = columns()
    numbers = held[column].round(0) if column == "llr" else held[column].astype(np.uint8)
    held[column] = numbers.astype(kind.to_pandas_dtype())
    whole = in_memory(held | {"target": held["target"].astype(int)})
    held[column] = pa.array(held[column], kind)
    require_same(fp.scan_parquet(write(held)), whole)


@pytest.mark.parametrize("coded", [False, True])
def test_classes(write, coded):
    held = columns()
    words = np.array(["impostor", "target"])[held["target"].astype(int)]
    held["target"] = pa.array(words).dictionary_encode() if coded else words
    path = write(held)
    require_same(fp.scan_parquet(path, classes=["impostor", "target"]), in_memory())
    with pytest.raises(fp.ArgumentError, match=r"classes=\.\.\. with the labels"):
        len(fp.scan_parquet(path))
    with pytest.raises(fp.ArgumentError, match="classes must list 2 labels, not 3"):
        fp.scan_parquet(path, classes=["a", "b", "c"])
    first = int(np.flatnonzero(columns()["target"])[0])
    message = rf"trials\.parquet, row {first}: target must be one of .*, not 'target'"
    with pytest.raises(fp.ArgumentError, match=message):
        len(fp.scan_parquet(path, classes=["impostor", "genuine"]))


# Parts


@pytest.mark.parametrize(
    ("row_group_size", "part_bytes", "compression"),
    [
        (7, 1, "none"), (7, 8_000, "snappy"), (333, 700, "snappy"), (333, 20_000, "none"),
        (1_000, 8_000, "none"), (1_000, 700, "snappy"), (1_000, 1 << 25, "none"),
    ],
)  # fmt: skip
def test_row_groups_are_split_and_fused(
    tmp_path, monkeypatch, part_bytes, row_group_size, compression
):
    monkeypatch.setattr(room, "_PART_BYTES", part_bytes)
    held = {name: columns()[name] for name in ("target", "llr", "w")}
    path = tmp_path / "trials.parquet"
    pq.write_table(pa.table(held), path, row_group_size=row_group_size, compression=compression)
    data = fp.scan_parquet(path, sample_weight="w")
    joined = data.compute()
    assert joined.llrs.tobytes() == held["llr"].tobytes()
    assert joined.weights.tobytes() == held["w"].tobytes()
    if part_bytes == 1 << 25:
        assert data.n_parts == 1
    if part_bytes == 700:
        assert data.n_parts > 5
    # twice, since huge row groups are read on from where the last part ended
    assert data.compute().llrs.tobytes() == held["llr"].tobytes()


def test_folders_patterns_and_lists(tmp_path, write):
    held = columns()
    for i, name in enumerate(["b.parquet", "a.parquet", "c.parquet"]):
        write({k: v[i * 300 : (i + 1) * 300] for k, v in held.items()}, name)
    paths = [tmp_path / name for name in ("a.parquet", "b.parquet", "c.parquet")]
    order = np.concatenate([np.arange(300, 600), np.arange(300), np.arange(600, 900)])
    for given in (tmp_path, str(tmp_path), f"{tmp_path}/*.parquet", paths):
        data = fp.scan_parquet(given)
        assert data.compute().llrs.tolist() == held["llr"][order].tolist()
    data = fp.scan_parquet(paths[::-1])
    assert data.compute().llrs[:300].tolist() == held["llr"][600:900].tolist()


def test_empty_files_and_row_groups(tmp_path, write):
    held = columns()
    nothing = write({k: v[:0] for k, v in held.items()}, "empty.parquet")
    full = write(held, "full.parquet")
    data = fp.scan_parquet([nothing, full, nothing])
    require_same(data, in_memory())
    with pytest.raises(ValueError, match=r"(must have rows|sample of positive weight)"):
        fp.EER()(fp.scan_parquet(nothing))
    table = pa.table(held)
    with pq.ParquetWriter(tmp_path / "gaps.parquet", table.schema) as writer:
        for part in (table[:0], table[:400], table[:0], table[400:], table[:0]):
            writer.write_table(part, row_group_size=500)
    require_same(fp.scan_parquet(tmp_path / "gaps.parquet"), in_memory())


@pytest.mark.parametrize("as_tuples", [True, False])
def test_filters(write, as_tuples):
    import pyarrow.compute as pc

    held = columns()
    filters = [("session", "<", 2), ("llr", ">", 0.0)]
    if not as_tuples:
        filters = (pc.field("session") < 2) & (pc.field("llr") > 0.0)
    keep = (held["session"] < 2) & (held["llr"] > 0.0)
    data = fp.scan_parquet(write(), filters=filters)
    require_same(data, in_memory(rows=keep))
    with pytest.raises(ValueError, match=r"(must have rows|sample of positive weight)"):
        fp.EER()(fp.scan_parquet(write(), filters=[("session", "==", 77)]))


# Reads


def test_only_what_is_needed_is_read(write, monkeypatch):
    counted = loads(monkeypatch)
    data = fp.scan_parquet(write(), sample_weight="w")
    assert not counted
    assert len(data) == N
    assert {names for _, names in counted} == {("target", "w")}
    fp.CrossEntropy()(data)
    assert {names for _, names in counted} == {("target", "w"), ("llr", "target", "w")}
    assert set(counted.values()) == {1}


@pytest.mark.parametrize("form", ["strings", "large strings", "dictionary", "integers"])
def test_ids(write, form):
    held = columns()
    speakers = held["session"] if form == "integers" else held["speaker"]
    held["speaker"] = {
        "strings": lambda: pa.array(speakers),
        "large strings": lambda: pa.array(speakers).cast(pa.large_string()),
        "dictionary": lambda: pa.array(speakers).dictionary_encode(),
        "integers": lambda: speakers,
    }[form]()
    data = fp.scan_parquet(write(held))
    assert data.compute().columns["speaker"].tolist() == speakers.tolist()
    groups = fp.evaluate(data, ["EER"], by="speaker").groups[1:]
    _, counts = np.unique(speakers, return_counts=True)
    assert [group.n_samples for group in groups] == counts.tolist()


def test_two_systems_of_a_file_share_each_read(write, monkeypatch):
    counted = loads(monkeypatch)
    path, held = write(), columns()
    one, other = fp.scan_parquet(path), fp.scan_parquet(path, llrs="other")
    table = fp.evaluate({"one": one, "other": other}, [fp.Cllr()])
    whole = fp.Predictions.from_llrs(held["target"], held["other"])
    expected = [fp.Cllr()(in_memory()), fp.Cllr()(whole)]
    assert [row.value for row in table.rows] == pytest.approx(expected, rel=1e-12)
    assert set(counted.values()) == {1}
    metric = fp.SemiEmpiricalScore(fp.rules.Log(), other)
    counted.clear()
    in_one = fp.SemiEmpiricalScore(fp.rules.Log(), whole)(in_memory())
    assert metric(one) == pytest.approx(in_one, rel=1e-12)
    assert set(counted.values()) == {1}


def test_file_systems_of_fsspec():
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    with memory.open("/fastpsr/one.parquet", "wb") as file:
        pq.write_table(pa.table(columns()), file, row_group_size=100)
    try:
        for url in ("memory://fastpsr/one.parquet", "memory://fastpsr/*.parquet"):
            require_same(fp.scan_parquet(url), in_memory())
        require_same(fp.scan_parquet("memory://fastpsr", storage_options={}), in_memory())
        with pytest.raises((fp.ArgumentError, FileNotFoundError), match="no-such"):
            fp.scan_parquet("memory://fastpsr/no-such.parquet")
    finally:
        memory.rm("/fastpsr", recursive=True)


# Faults


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("target", None, "target must not be null$"),
        ("llr", None, "llr must not be null$"),
        ("w", None, "w must not be null$"),
        ("rows", None, ".*(null|nan)"),
        ("rows", [0.5, None, 0.5], ".*(null|nan)"),
        ("rows", [0.5, 0.5], "posteriors must have 3 numbers in every row, not 2"),
    ],
)
def test_nulls_and_short_lists(write, column, value, message):
    held = columns()
    held["rows"] = pa.array(rows_of(held).tolist())
    values = held[column].tolist()
    values[457] = value
    held[column] = pa.array(values)
    of_rows = {"y_true": "label", "posteriors": "rows"} if column == "rows" else {}
    data = fp.scan_parquet(write(held), sample_weight="w", **of_rows)
    with pytest.raises(fp.ArgumentError) as caught:
        fp.CrossEntropy()(data)
    assert re.search(rf"trials\.parquet, row 457: {message}", str(caught.value)), caught.value


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("llr", np.nan, "llr must not be nan"),
        ("w", -1.0, "w must be finite and not negative"),
        ("w", np.inf, "w must be finite and not negative"),
        ("label", 3, "label must be integers 0 to 1"),
        ("label", -1, "label must be integers 0 to 1"),
    ],
)
@pytest.mark.parametrize("part_bytes", [1, 3_000, 1 << 20])
@pytest.mark.parametrize("row_group_size", [30, 1_000])
def test_bad_values(write, monkeypatch, column, value, message, part_bytes, row_group_size):
    monkeypatch.setattr(room, "_PART_BYTES", part_bytes)
    if row_group_size == 1_000 and part_bytes == 1:
        pytest.skip("a part for each row")
    held = columns()
    held["label"] = held["target"].astype(int)
    held[column][457] = value
    path = write(held, row_group_size=row_group_size)
    data = fp.scan_parquet(path, y_true="label", sample_weight="w")
    with pytest.raises(fp.ArgumentError) as caught:
        fp.Cllr()(data)
    assert re.search(rf"trials\.parquet, row 457: {message}", str(caught.value)), caught.value


def test_rows_of_bad_values_are_counted_after_filters(write):
    held = columns()
    held["llr"][457] = np.nan
    data = fp.scan_parquet(write(held), filters=[("session", ">=", 0)])
    with pytest.raises(fp.ArgumentError, match=r"row 57 after filters of .*trials\.parquet"):
        fp.Cllr()(data)


def test_wrong_types(write):
    held = columns()
    held["llr"] = held["speaker"]
    with pytest.raises(fp.ArgumentError, match="llr"):
        fp.Cllr()(fp.scan_parquet(write(held)))
    held = columns()
    held["target"] = held["speaker"]
    with pytest.raises(fp.ArgumentError, match=r"trials\.parquet.*target must be booleans"):
        len(fp.scan_parquet(write(held)))


def test_computed_predictions_have_the_other_columns(tmp_path):
    polars = pytest.importorskip("polars")
    columns = {"speaker": ["a", "b", None], "seconds": [1.5, None, 2.0], "room": ["x", "y", "x"]}
    table = {"target": [False, True, True], "llr": [-1.0, 2.0, 0.5], **columns}
    polars.DataFrame(table).write_parquet(tmp_path / "trials.parquet")
    data = fp.scan_parquet(tmp_path / "trials.parquet")
    whole = data.compute()
    assert {*whole.columns} == {*columns}
    assert whole.columns["room"].tolist() == columns["room"]
    assert whole.columns["speaker"].tolist() == columns["speaker"]
    np.testing.assert_array_equal(whole.columns["seconds"], [1.5, np.nan, 2.0])
    assert (
        fp.evaluate(whole, ["EER"], by="room").to_dict()
        == fp.evaluate(data, ["EER"], by="room").to_dict()
    )
    for given in (whole, data):
        with pytest.raises(fp.ArgumentError, match=r"row 2|\[2\]"):
            fp.evaluate(given, ["EER"], by="speaker")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"llrs": "nothing"}, r"column 'nothing'; there are: .*llr.*speaker"),
        ({"posteriors": ["a", "nothing", "c"], "y_true": "label"}, "column 'nothing'"),
        ({"llrs": "llr", "posteriors": "q"}, "must be named once"),
        ({"posteriors": "q", "prior": 0.3}, "prior is for llrs: pass priors"),
        ({"log_posteriors": "llr"}, "a column of lists, or a column per class"),
        ({"llrs": ["llr", "other"]}, "llrs must be one column of numbers"),
        ({"prior": 1.5}, "prior"),
        ({"posteriors": "q", "priors": [0.5, 0.2, 0.3]}, "priors must have one entry per class"),
        ({"posteriors": "q", "priors": [0.5, 0.2]}, "priors must sum to 1"),
    ],
)
def test_bad_arguments(write, options, message):
    with pytest.raises(ValueError, match=message):
        fp.Cllr()(fp.scan_parquet(write(), **options))


def test_missing_files(tmp_path):
    for given in (tmp_path / "no.parquet", [tmp_path / "no.parquet"], f"{tmp_path}/*.parquet", []):
        with pytest.raises(fp.ArgumentError, match="paths must name Parquet files"):
            fp.scan_parquet(given)


def test_files_that_are_no_parquet(tmp_path):
    (tmp_path / "text.parquet").write_text("y,llr\n0,1\n")
    with pytest.raises(fp.ArgumentError, match=r"text\.parquet"):
        fp.scan_parquet(tmp_path / "text.parquet")


@pytest.mark.parametrize("is_left", [True, False])
def test_files_that_are_cut_or_vanish(write, is_left):
    path = write()
    data = fp.scan_parquet(path)
    assert len(data) == N
    content = path.read_bytes()
    path.unlink()
    if is_left:
        path.write_bytes(content[:2_000])
    with pytest.raises(fp.ArgumentError, match=r"cannot be read, in .*trials\.parquet"):
        fp.Cllr()(data)


def test_files_that_lack_a_column_of_the_others(write):
    held = columns()
    write(held, "a.parquet")
    del held["other"]
    path = write(held, "b.parquet")
    data = fp.scan_parquet(path.parent, llrs="other")
    with pytest.raises(fp.ArgumentError, match=r"b\.parquet.*(null|other)"):
        fp.Cllr()(data)


@pytest.mark.parametrize("column", ["target", "w", "llr"])
def test_files_that_change_between_reads(write, column):
    held = columns()
    path = write(held)
    data = fp.scan_parquet(path, sample_weight="w")
    fp.Cllr()(data)
    held[column][457] = not held[column][457] if column == "target" else held[column][457] + 0.5
    write(held)
    what = "scores" if column == "llr" else "labels or weights"
    message = rf"the {what} of .*trials\.parquet, row group 4.* are not what they were"
    with pytest.raises(fp.ArgumentError, match=message):
        fp.Cllr()(data)
