"""`fp.from_dask`: partitions counted by threads, by worker processes, and by workers that die."""

import contextlib
import itertools
import os
import pickle
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from tests.commands import program
from tests.contract.comparison import OPTIMUM, outcome, require_same

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")
dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("pyarrow")

dask.config.set({"distributed.scheduler.no-workers-timeout": "60s"})  # an error, not a wait

N = 10_000
EDGES = (0, 1_000, 2_500, 2_500, 5_500, 5_501, 8_000, N)  # a partition is empty, one has a row


def make_table():
    rng = np.random.default_rng(7)
    y = rng.random(N) < 0.2
    llr = 1.5 * rng.normal(size=N) + 2.0 * y - 1.0
    speakers = np.array([f"s{i:02}" for i in range(40)])
    return pd.DataFrame(
        {
            "target": y, "llr": llr, "other": rng.normal(size=N) + y,
            "unit": rng.integers(0, 400, N), "left": speakers[rng.integers(0, 40, N)],
            "right": speakers[rng.integers(0, 40, N)],
        }
    )  # fmt: skip


TABLE = make_table()
IDS = {name: TABLE[name].to_numpy() for name in ("unit", "left", "right")}


def rows(number):
    return TABLE.iloc[EDGES[number] : EDGES[number + 1]]


def frame(part=rows):
    return dd.from_map(part, range(len(EDGES) - 1), meta=TABLE.iloc[:0], enforce_metadata=False)


def from_frame(column="llr"):
    return fp.from_dask(frame(), llrs=column)


def in_memory(column="llr"):
    return fp.Predictions.from_llrs(TABLE.target.to_numpy(), TABLE[column].to_numpy())


def in_parts(column="llr"):
    whole, cuts = in_memory(column), [slice(a, b) for a, b in itertools.pairwise(EDGES)]
    return fp.from_parts([(whole[c], {k: v[c] for k, v in IDS.items()}) for c in cuts])


def numbers(make):
    """Return what is asked of two systems, by name."""
    data, other = make("llr"), make("other")
    options = {"n_resamples": 10, "confidence_level": 0.5, "seed": 1}
    units, pairs = fp.Clusters("unit"), fp.TwoWay("left", "right")
    calibrator = fp.DirectionPreserving()
    results = {
        "table": [row.value for row in fp.evaluate(data).rows],
        "groups": [row.value for row in fp.evaluate(data, [fp.EER()], by="left").rows],
        "counts": [metric(data) for metric in (fp.EER(), fp.MinDCF(0.01), fp.AUC())],
        "fit": calibrator.fit(data).scale_,
        "cross-fit": fp.cross_fit(calibrator, data, fp.CrossFit(3, seed=2)).compute(),
        "fusion": fp.LinearFusion().fit({"llr": data, "other": other}).weights_,
        "compared": fp.compare(fp.Cllr(), data, other, resampling=units, **options).replicates,
    }
    for scheme in (fp.IID(), units, pairs):
        for result in fp.bootstrap([fp.Cllr(), fp.EER()], data, resampling=scheme, **options):
            results[f"{result.name} by {scheme}"] = result.replicates
    return results


@pytest.fixture(scope="module")
def expected():
    """Return the numbers of the same parts, counted here."""
    return numbers(in_parts)


@pytest.fixture
def threads():
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


@contextlib.contextmanager
def workers(n):
    """Worker processes of one thread, which find these tests, as `pytest` alone does not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path, str(Path(__file__).parent.parent)])
        with (
            distributed.LocalCluster(
                n_workers=n, threads_per_worker=1, processes=True, dashboard_address=":0"
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client


@pytest.fixture(scope="module")
def client():
    with workers(2) as client:
        yield client


def test_threads_give_the_bits_of_parts(threads, expected):
    require_same(numbers(from_frame), expected, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3])
def test_workers_give_the_bits_of_parts(n, expected):
    with workers(n):
        require_same(numbers(from_frame), expected, 0.0)


def test_fits_to_frames_within_the_budget_and_beyond(threads, monkeypatch):
    expected = fp.LinearFusion().fit([in_memory(), in_memory("other")]).weights_
    fitted = fp.LinearFusion().fit([from_frame(), from_frame("other")])
    require_same(fitted.weights_, expected, OPTIMUM)
    monkeypatch.setenv("FASTPSR_MEMORY", "10kB")
    with pytest.raises(fp.ArgumentError, match=r"^systems must fit in memory.* FASTPSR_MEMORY"):
        fp.LinearFusion().fit([from_frame(), from_frame("other")])


@pytest.mark.filterwarnings("ignore")  # of Dask's own calls of pandas
def test_files_of_the_same_parts_give_the_same_bits(tmp_path, threads):
    for number, start in enumerate(range(0, N, 2_500)):
        TABLE.iloc[start : start + 2_500].to_parquet(tmp_path / f"{number}.parquet", index=False)
    data, files = fp.from_dask(dd.read_parquet(tmp_path)), fp.scan_parquet(tmp_path)
    for metric in (fp.EER(), fp.MinDCF(0.01), fp.AUC()):
        assert metric(data) == metric(files) == metric(in_memory()) == metric(data.compute())


def test_weights_that_differ_by_2_to_the_53_give_the_same_bits(threads):
    # summed in turn the last two are lost in rounding, and together they round up
    weights = 2.0 ** np.array([0.0, -53.0, -106.0, -106.0, 0.0])
    y = np.array([False, False, False, False, True])
    table = pd.DataFrame({"target": y, "llr": np.arange(5.0), "weight": weights})
    cuts = [slice(0, 2), slice(2, 5)]
    here = fp.from_parts(
        [fp.Predictions.from_llrs(y[c], np.arange(5.0)[c], sample_weight=weights[c]) for c in cuts]
    )
    partitions = dd.from_map(lambda k: table.iloc[cuts[k]], range(2), meta=table.iloc[:0])
    there = fp.from_dask(partitions, sample_weight="weight")
    curves = [fp.pav_steps(data) for data in (here, there)]
    require_same(curves[1], curves[0], 0.0)


# Workers that die


class Deadly:
    """Rows of partitions, of which one ends its process once, in the middle of its work."""

    def __init__(self, file, at_call):
        self.file, self.at_call = str(file), at_call

    def __call__(self, number):
        if number == 3:
            calls = Path(self.file)
            with calls.open("a") as file:
                file.write(".")
            if calls.stat().st_size == self.at_call:
                os.kill(os.getpid(), signal.SIGKILL)
        return rows(number)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("at_call", [1, 2])
def test_a_killed_worker_costs_a_retry(client, tmp_path, at_call):
    data = fp.from_dask(frame(Deadly(tmp_path / "calls", at_call)))
    assert fp.Cllr()(data) == fp.Cllr()(in_parts())
    assert (tmp_path / "calls").stat().st_size > at_call  # it was killed, and asked again


# What may be wrong with frames


def shuffled(number):
    """Rows in another order each time."""
    return rows(number).sample(frac=1.0, random_state=np.random.default_rng())


def shuffled_scores(number):
    return rows(number).assign(llr=shuffled(number)["llr"].to_numpy())


def failing(number):
    if number == 4:
        raise OSError("disk on fire")
    return rows(number)


def with_nan(number):
    table = rows(number).copy()
    if number == 3:
        table.iloc[17, 1] = np.nan
    return table


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (shuffled, "frame.persist()"), (shuffled_scores, "frame.persist()"),
        (failing, "partition 4: disk on fire"), (with_nan, "partition 3, row 17"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_partitions_is_named(threads, part, words):
    error = outcome(fp.evaluate, fp.from_dask(frame(part)))
    assert isinstance(error, fp.ArgumentError)
    assert words in str(error)
    assert error.index == (17 if part is with_nan else None)


@pytest.mark.slow
def test_workers_name_it_too_and_frames_may_be_persisted(client):
    for part, words in ((shuffled, "persist"), (failing, "partition 4: disk on fire")):
        assert words in str(outcome(fp.Cllr(), fp.from_dask(frame(part))))
    persisted = frame(shuffled).persist()
    assert fp.EER()(fp.from_dask(persisted)) == fp.EER()(in_memory())


def test_wrong_arguments(threads):
    assert "nope" in str(outcome(fp.from_dask, frame(), llrs="nope"))
    scheme = fp.Clusters("nope")
    assert "nope" in str(outcome(fp.bootstrap, fp.Cllr(), from_frame(), resampling=scheme))
    assert outcome(fp.from_dask, TABLE).argument == "frame"
    assert isinstance(outcome(fp.compare, fp.Cllr(), from_frame(), in_parts("other")), ValueError)


# What travels


def test_data_in_a_frame_can_be_pickled(threads):
    data = pickle.loads(pickle.dumps(from_frame()))
    assert fp.EER()(data) == fp.EER()(in_memory())


def test_another_users_folder_is_not_trusted(tmp_path, monkeypatch):
    from fastpsr import dask as adapter

    user = os.getuid() if hasattr(os, "getuid") else 0
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"fastpsr-{user}").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr(adapter.tempfile, "gettempdir", lambda: str(tmp_path))
    assert adapter._local_folder() is None


@pytest.mark.slow
def test_a_process_that_has_not_imported_distributed():
    code = """
import dask.dataframe as dd, pandas as pd, fastpsr as fp
table = pd.DataFrame({"target": [True, False] * 50, "llr": [float(i % 7) for i in range(100)]})
print(fp.EER()(fp.from_dask(dd.from_pandas(table, npartitions=2))))
"""
    assert 0.0 < float(program(code=code).stdout) <= 0.5
