"""`fp.from_dask`: partitions counted by threads, by worker processes, and by workers that die."""

import contextlib
import itertools
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.plans import parquet as room
from fastpsr.plans import run
from fastpsr.plans.reading import Reading
from fastpsr.summaries.rank_cells import rank_cells

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
dd = pytest.importorskip("dask.dataframe")
pq = pytest.importorskip("pyarrow.parquet")

dask.config.set({"distributed.scheduler.no-workers-timeout": "60s"})  # an error, not a wait

N = 10_000
EDGES = (0, 1_000, 2_500, 2_500, 5_500, 5_501, 8_000, N)  # a partition is empty, one has a row
COUNTED = (fp.EER(), fp.MinDCF(0.01), fp.ActDCF(0.05), fp.MinCllr(), fp.AUC())


def table(n=N):
    rng = np.random.default_rng([7, n])
    y = rng.random(n) < 0.2
    llr = 1.5 * rng.normal(size=n) + 2.0 * y - 1.0
    return pd.DataFrame(
        {
            "target": y,
            "llr": llr,
            "other": llr + rng.normal(size=n),
            "unit": rng.integers(0, 400, n),
            "left": [f"s{i:02}" for i in rng.integers(0, 40, n)],
            "right": [f"s{i:02}" for i in rng.integers(0, 40, n)],
        }
    )


TABLE = table()


def rows(number):
    return TABLE.iloc[EDGES[number] : EDGES[number + 1]]


def frame(part=rows):
    return dd.from_map(part, range(len(EDGES) - 1), meta=TABLE.iloc[:0], enforce_metadata=False)


def in_memory(column="llr"):
    return fp.Predictions.from_llrs(TABLE.target.to_numpy(), TABLE[column].to_numpy())


def in_parts(column="llr"):
    whole = in_memory(column)
    ids = {name: TABLE[name].to_numpy() for name in ("unit", "left", "right")}
    cuts = [slice(a, b) for a, b in itertools.pairwise(EDGES)]
    return fp.from_parts([(whole[c], {k: v[c] for k, v in ids.items()}) for c in cuts])


FIT = fp.DirectionPreserving()
LOG = fp.rules.Log()
RESAMPLED = {"n_resamples": 10, "confidence_level": 0.5, "seed": 1}


def numbers(data, other, units, pairs):
    """Everything that is asked of data, as numbers by name."""
    options = RESAMPLED
    crossed = fp.cross_fit(FIT, data, fp.CrossFit(3, seed=2))
    if isinstance(crossed, fp.PartitionedPredictions):
        crossed = crossed.compute()
    fitted = FIT.fit(data)
    found = {
        "table": [row.value for row in fp.evaluate(data).rows],
        "counts": [metric(data) for metric in COUNTED],
        "fit": np.append(fitted.bias_, fitted.scale_),
        "cross-fit": crossed.scores,
    }
    for name, resampling in (("rows", fp.IID()), ("units", units), ("pairs", pairs)):
        metrics = [fp.Cllr(), fp.EER()]
        drawn = fp.bootstrap(metrics, data, resampling=resampling, **options)
        found[name] = np.concatenate([one.replicates for one in drawn])
    compared = fp.compare(fp.Cllr(), data, other, resampling=units, **options)
    found["compared"] = np.append(compared.replicates, compared.value)
    return {name: np.asarray(values) for name, values in found.items()}


def numbers_in_parts(make):
    return numbers(make("llr"), make("other"), fp.Clusters("unit"), fp.TwoWay("left", "right"))


@pytest.fixture(scope="module")
def expected():
    """Return the numbers of the same parts, counted here."""
    return numbers_in_parts(in_parts)


def from_frame(column="llr"):
    return fp.from_dask(frame(), llrs=column)


def require_same_bits(found, expected):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


@contextlib.contextmanager
def cluster(n_workers):
    """Worker processes of one thread, which find these tests, as `pytest` alone does not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path, str(Path(__file__).parent.parent)])
        with distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as workers:
            yield workers


@pytest.fixture(scope="module")
def client():
    """Two worker processes of one thread."""
    with cluster(2) as workers, distributed.Client(workers) as found:
        yield found


@pytest.fixture
def threads():
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


# The same numbers


def test_parts_give_the_numbers_of_memory(expected):
    ids = {name: TABLE[name].to_numpy() for name in ("unit", "left", "right")}
    pairs = fp.TwoWay(ids["left"], ids["right"])
    here = numbers(in_memory(), in_memory("other"), fp.Clusters(ids["unit"]), pairs)
    np.testing.assert_array_equal(expected["counts"], here["counts"])
    np.testing.assert_allclose(expected["fit"], here["fit"], rtol=1e-9)
    np.testing.assert_allclose(expected["cross-fit"], here["cross-fit"], rtol=1e-9, atol=1e-9)
    for name in ("table", "units", "pairs", "compared"):
        np.testing.assert_allclose(expected[name], here[name], rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.slow
def test_threads_give_the_same_bits(threads, expected):
    require_same_bits(numbers_in_parts(from_frame), expected)


@pytest.mark.parametrize("size", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_tasks_of_several_partitions_give_the_same_bits(threads, expected, monkeypatch, size):
    from fastpsr import dask as adapter

    monkeypatch.setattr(adapter, "_run_length", lambda n_parts: size)
    require_same_bits(numbers_in_parts(from_frame), expected)


def test_weights_that_differ_by_2_to_the_53_give_the_same_bits(threads):
    # summed in turn the last two are lost in rounding, and together they round up
    weights = 2.0 ** np.array([0.0, -53.0, -106.0, -106.0, 0.0])
    y = np.array([False, False, False, False, True])
    of_rows = pd.DataFrame({"target": y, "llr": np.arange(5.0), "weight": weights})
    cuts = [slice(0, 2), slice(2, 5)]
    here = fp.from_parts(
        [fp.Predictions.from_llrs(y[c], np.arange(5.0)[c], sample_weight=weights[c]) for c in cuts]
    )
    there = fp.from_dask(
        dd.from_map(lambda k: of_rows.iloc[cuts[k]], range(2), meta=of_rows.iloc[:0]),
        llrs="llr",
        sample_weight="weight",
    )
    cells = [run(lambda data=data: rank_cells(data)) for data in (here, there)]
    assert cells[0].negatives.tolist() == cells[1].negatives.tolist()
    assert [metric(there) for metric in COUNTED] == [metric(here) for metric in COUNTED]


@pytest.mark.slow
def test_tasks_take_several_partitions_where_there_are_many(client):
    from fastpsr import dask as adapter

    assert adapter._run_length(2) == 1
    assert adapter._run_length(100_000) == adapter._MOST_IN_A_TASK


@pytest.mark.slow
def test_two_workers_give_the_same_bits(client, expected):
    require_same_bits(numbers_in_parts(from_frame), expected)


def test_groups_are_those_of_memory(threads):
    metrics = {"EER": fp.EER(), "Cllr": fp.Cllr(), "RCL": fp.CalibrationLoss(LOG, FIT)}
    found = fp.evaluate(from_frame(), metrics, by="left")
    expected = fp.evaluate(in_memory(), metrics, by={"left": TABLE.left.to_numpy()})
    assert [str(group) for group in found.groups] == [str(group) for group in expected.groups]
    assert len(found.groups) == 41
    for row, other in zip(found.rows, expected.rows, strict=True):
        assert row.value == pytest.approx(other.value, rel=1e-9, abs=1e-7)
        if row.metric == "EER":
            assert row.value == other.value


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 4])
def test_any_number_of_workers_gives_the_same_bits(n_workers, expected):
    with cluster(n_workers) as workers, distributed.Client(workers):
        require_same_bits(numbers_in_parts(from_frame), expected)


def test_files_in_the_same_parts_give_the_same_bits(tmp_path, monkeypatch, threads):
    cut = 2_500
    whole = pa.Table.from_pandas(TABLE, preserve_index=False)
    pq.write_table(whole, tmp_path / "trials.parquet", row_group_size=cut)
    monkeypatch.setattr(room, "_PART_BYTES", cut * 24)  # row groups are not fused
    files = fp.scan_parquet(tmp_path / "trials.parquet")
    pieces = dd.from_map(lambda i: TABLE.iloc[i : i + cut], range(0, N, cut))
    data = fp.from_dask(pieces)
    assert files.n_parts == data.n_parts == N // cut
    for metric in (fp.Cllr(), fp.BrierScore(), fp.ECE(on="confidence"), *COUNTED):
        assert metric(data) == metric(files)


@pytest.mark.filterwarnings("ignore")  # of Dask's own calls of pandas
def test_partitions_of_files_stay_as_they_are(tmp_path, threads):
    """Dask joins them as fewer columns are read, unless it is kept from doing so."""
    for number, start in enumerate(range(0, N, 2_500)):
        held = TABLE.iloc[start : start + 2_500]
        held.to_parquet(tmp_path / f"{number}.parquet", index=False)
    read = dd.read_parquet(tmp_path)
    assert len(read[["llr", "target"]].to_delayed()) < read.npartitions == N // 2_500
    data = fp.from_dask(read)
    assert fp.EER()(data) == fp.EER()(in_memory())
    assert fp.EER()(data.compute()) == fp.EER()(in_memory())


# Workers that die


class Deadly:
    """Rows of partitions, of which one ends its process the first time that it is half done."""

    def __init__(self, flag, at_call=1):
        self.flag, self.at_call = str(flag), at_call

    def __call__(self, number):
        if number == 3:
            calls = Path(self.flag)
            with calls.open("a") as file:
                file.write(".")
            if calls.stat().st_size == self.at_call:
                time.sleep(0.2)  # in the middle of its work
                os.kill(os.getpid(), signal.SIGKILL)
        return rows(number)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("at_call", [1, 2])
def test_a_worker_killed_in_a_partition_costs_a_retry(client, tmp_path, at_call):
    flag = tmp_path / "calls"
    data = fp.from_dask(frame(Deadly(flag, at_call)))
    assert fp.Cllr()(data) == fp.Cllr()(in_parts())
    assert flag.stat().st_size > at_call  # it was killed, and asked again


class KillAmidCounting:
    """A map of predictions that ends its process once."""

    def __init__(self, flag):
        self.flag = str(flag)

    def __call__(self, predictions):
        if len(predictions) == EDGES[4] - EDGES[3] and not os.path.exists(self.flag):
            Path(self.flag).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return predictions


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_worker_killed_amid_counting_costs_a_retry(client, tmp_path):
    flag = tmp_path / "killed"
    data = from_frame().map(KillAmidCounting(flag))
    options = {**RESAMPLED, "resampling": fp.Clusters("unit")}
    found = fp.bootstrap(fp.Cllr(), data, **options)
    expected = fp.bootstrap(fp.Cllr(), in_parts(), **options)
    assert flag.exists()
    np.testing.assert_array_equal(found.replicates, expected.replicates)


# What may be wrong with frames


class Shuffled:
    """Rows of partitions, in another order each time."""

    def __call__(self, number):
        held = rows(number)
        return held.sample(frac=1.0, random_state=np.random.default_rng())


class ShuffledScores(Shuffled):
    """Scores that change while labels stay."""

    def __call__(self, number):
        held = rows(number).copy()
        held["llr"] = super().__call__(number)["llr"].to_numpy()
        return held


@pytest.mark.parametrize(
    ("part", "what"), [(Shuffled(), "labels or weights"), (ShuffledScores(), "scores")]
)
def test_shuffled_frames_are_refused_and_told_to_persist(threads, part, what):
    data = fp.from_dask(frame(part))
    with pytest.raises(fp.ArgumentError, match=rf"the {what} of partition \d.*frame.persist\(\)"):
        fp.evaluate(data)


@pytest.mark.slow
def test_shuffled_frames_are_refused_by_workers_and_may_be_persisted(client):
    shuffled = frame(Shuffled())
    with pytest.raises(fp.ArgumentError, match="persist"):
        fp.Cllr()(fp.from_dask(shuffled))
    assert fp.EER()(fp.from_dask(shuffled.persist())) == fp.EER()(in_memory())


def failing(number):
    if number == 4:
        raise OSError("disk on fire")
    return rows(number)


def test_partitions_that_raise_are_named(threads):
    with pytest.raises(fp.ArgumentError, match=r"partition 4: disk on fire"):
        fp.Cllr()(fp.from_dask(frame(failing)))


@pytest.mark.slow
def test_partitions_that_raise_are_named_by_workers(client):
    with pytest.raises(fp.ArgumentError, match=r"partition 4: disk on fire"):
        fp.Cllr()(fp.from_dask(frame(failing)))


def with_nan(number):
    held = rows(number).copy()
    if number == 3:
        held.iloc[17, 1] = np.nan
    return held


def test_rows_that_are_wrong_are_named(threads):
    with pytest.raises(fp.ArgumentError, match=r"partition 3, row 17") as raised:
        fp.Cllr()(fp.from_dask(frame(with_nan)))
    assert raised.value.index == 17


def test_columns_that_are_missing_are_named(threads):
    with pytest.raises(fp.ArgumentError, match="must have the column 'nope'; there are: target"):
        fp.from_dask(frame(), llrs="nope")
    with pytest.raises(fp.ArgumentError, match="must have the column 'nope'"):
        fp.bootstrap(fp.Cllr(), from_frame(), resampling=fp.Clusters("nope"), n_resamples=40)


def test_only_frames_are_taken():
    with pytest.raises(fp.ArgumentError, match="must be a Dask DataFrame, not DataFrame"):
        fp.from_dask(TABLE)


def test_frames_are_not_compared_with_files(threads):
    with pytest.raises(ValueError, match="must all be in Dask data frames, or none"):
        fp.compare(fp.Cllr(), from_frame(), in_parts("other"), n_resamples=40)


# What travels


def test_predictions_travel_without_what_they_remember():
    data = in_memory()
    before = len(pickle.dumps(data))
    fp.evaluate(data)
    assert len(pickle.dumps(data)) < before + 100 < 9 * N + 5_000


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("budget", ["1GB", "10kB"])  # rows are held; read for each step
def test_fusions_are_those_of_memory(threads, budget, monkeypatch):
    monkeypatch.setenv("FASTPSR_MEMORY", budget)
    systems, frames = (
        {column: made(column) for column in ("llr", "other")} for made in (in_memory, from_frame)
    )
    one, other = (fp.LinearFusion().fit(each) for each in (systems, frames))
    np.testing.assert_allclose(other.weights_, one.weights_, rtol=1e-9)
    pairs = ("left", "right"), (TABLE["left"], TABLE["right"])
    of_frames, of_memory = (
        fp.Cllr()(fp.cross_fit(fp.LinearFusion(), each, fp.CrossFit(3, groups=pair)))
        for each, pair in zip((frames, systems), pairs, strict=True)
    )
    assert of_frames == pytest.approx(of_memory, rel=1e-9)


def test_data_in_a_frame_can_be_pickled(threads):
    data = pickle.loads(pickle.dumps(from_frame()))
    assert fp.EER()(data) == fp.EER()(in_memory())


def test_frames_do_not_travel_with_the_steps(threads, monkeypatch):
    from fastpsr import dask as adapter

    sizes = []
    make = adapter._Work.__init__

    def measured(self, reading, frames):
        make(self, reading, frames)
        sizes.append(len(pickle.dumps(self)))

    monkeypatch.setattr(adapter._Work, "__init__", measured)
    data = fp.from_dask(dd.from_pandas(TABLE, npartitions=3))
    fp.evaluate(data)
    assert sizes
    assert max(sizes) < 200_000 < len(pickle.dumps(data))


def test_a_reading_is_the_same_on_a_worker(threads):
    from fastpsr.plans.facts import CountRows

    data = from_frame()
    reading = Reading([CountRows(2).over(data)])
    from fastpsr import dask as adapter

    there = pickle.loads(pickle.dumps(adapter._Work(reading, [data.source.tables.frame]))).reading
    assert there.numbers == reading.numbers
    assert there.sources[0].tables.frame is None


@pytest.mark.slow
def test_no_futures_are_scattered(client, monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("scattered data are lost with their holder")

    monkeypatch.setattr(distributed.Client, "scatter", refuse)
    assert fp.EER()(from_frame()) == fp.EER()(in_memory())


def test_kernels_run_on_the_thread_of_their_task(threads, monkeypatch):
    from fastpsr import dask as adapter
    from fastpsr.kernels import blocks

    monkeypatch.setenv("FASTPSR_NUM_THREADS", "3")
    counts = []
    table_of = adapter._Partitions.table

    def looking(partition):
        counts.append(blocks.thread_count())
        return table_of(partition)

    monkeypatch.setattr(adapter._Partitions, "table", staticmethod(looking))
    fp.Cllr()(from_frame())
    assert set(counts) == {1}


class Wide:
    """A map of predictions that is large when it travels."""

    def __init__(self):
        self.held = np.random.default_rng(0).random(1_500_000)

    def __call__(self, predictions):
        return predictions


@pytest.mark.slow
def test_large_steps_travel_without_a_warning(client):
    assert fp.Cllr()(from_frame().map(Wide())) == fp.Cllr()(in_parts())


def test_one_process_compiles_at_a_time(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    from fastpsr import dask as adapter

    monkeypatch.setattr(adapter.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(adapter, "_warm", set())

    def is_locked():
        (folder,) = tmp_path.iterdir()
        with (folder / "compiling").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    with adapter._once_per_node({"some"}):
        assert is_locked()
    with adapter._once_per_node({"some"}):
        assert not is_locked()
    with adapter._once_per_node({"some", "others"}):
        assert is_locked()


def test_another_users_folder_is_not_trusted(tmp_path, monkeypatch):
    from fastpsr import dask as adapter

    user = os.getuid() if hasattr(os, "getuid") else 0
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"fastpsr-{user}").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr(adapter.tempfile, "gettempdir", lambda: str(tmp_path))
    assert adapter._local_folder() is None


ALONE = """
import dask.dataframe as dd
import pandas as pd
import fastpsr as fp

table = pd.DataFrame({"target": [True, False] * 50, "llr": [float(i % 7) for i in range(100)]})
print(fp.EER()(fp.from_dask(dd.from_pandas(table, npartitions=2))))
"""


@pytest.mark.slow
def test_a_process_that_has_not_imported_distributed():
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert 0.0 < float(done.stdout) <= 0.5
