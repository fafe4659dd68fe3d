"""The commands on lists with spoofed trials: every value is the library's on the same arrays."""

import json
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from tests.commands import fastpsr, succeed

RNG = np.random.default_rng(5)
N = 240
KIND = np.array(["nontarget", "spoof", "target"])[RNG.integers(0, 3, N)]
SPOOF, TARGET = KIND == "spoof", KIND == "target"
ATTACK = np.where(SPOOF, np.array(["A01", "A02"])[np.arange(N) % 2], "bonafide")
X = np.round(RNG.normal(size=N) + 2.0 * TARGET - 1.0 * (KIND == "nontarget"), 3)
B = np.round(X + 0.3 * RNG.normal(size=N), 3)
SPEAKER = np.arange(N) % 20
FAST = ("--metrics", "EER,minDCF(0.01),minADCF(asvspoof5),actADCF(asvspoof5)")
RUN = ("evaluate", "--key", "key", "--scores", "a", *FAST, "--json", "t.json")


def data(rows=slice(None), x=X):
    return fp.Predictions.from_llrs(TARGET[rows], x[rows])


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [(f"s{speaker}", f"u{i}") for i, speaker in enumerate(SPEAKER)]
    rows = zip(names, ATTACK, KIND, strict=True)
    Path("key").write_text("".join(f"{s} {u} {a} {k}\n" for (s, u), a, k in rows))
    for path, x in (("a", X), ("b", B)):
        lines = (f"{s} {u} {v!r}\n" for (s, u), v in zip(names, x.tolist(), strict=True))
        Path(path).write_text("".join(lines))


def rows_of(path="t.json"):
    """Values by group and metric."""
    found = json.loads(Path(path).read_text())["rows"]
    return {(row["group"], row["metric"]): row for row in found}


def test_a_list_with_spoofed_trials_has_three_eers_and_the_adcf():
    out = succeed(*RUN, "--ci", "0.9", "--resamples", "60", "--report", "r.html")
    assert "(SV-EER)" in out
    assert "(SPF-EER)" in out
    found = rows_of()
    assert len(found) == 4 + 2 * 2  # the a-DCF is of all trials
    groups = {None: slice(None), "kind=nontarget": ~SPOOF, "kind=spoof": SPOOF | TARGET}
    for group, rows in groups.items():
        row = found[group, "EER"]
        assert row["value"] == fp.EER()(data(rows))
        drawn = fp.bootstrap(
            fp.EER(), data(rows), n_resamples=60, confidence_level=0.9, seed=0
        ).interval
        assert (row["low"], row["high"]) == (drawn.low, drawn.high)
    for metric in (fp.MinADCF(SPOOF), fp.ActADCF(SPOOF)):
        row = found[None, metric.label]
        assert row["value"] == metric(data())
        assert row["low"] < row["value"] < row["high"]
    page = Path("r.html").read_text()
    assert "kind=spoof" in page
    assert "minADCF(asvspoof5)" in page


def test_conditions_of_attacks_share_the_targets():
    out = succeed(*RUN, "--by", "attack")
    assert "--by attack: conditions share all targets" in out
    found = rows_of()
    names = {f"attack={name}" for name in np.unique(ATTACK)}
    assert {group for group, _ in found} == {None, *names}
    for name in names:
        rows = TARGET | (name.removeprefix("attack=") == ATTACK)
        assert found[name, "EER"]["value"] == fp.EER()(data(rows))
        assert (name, "minADCF(asvspoof5)") not in found


def test_conditions_with_targets_of_their_own_are_ordinary():
    lines = Path("key").read_text().splitlines()
    rooms = np.array(["x", "y"])[np.arange(N) // 2 % 2]
    table = [line.split() for line in lines]
    body = "".join(f"{s},{u},{k},{r}\n" for (s, u, _, k), r in zip(table, rooms, strict=True))
    Path("key.csv").write_text("enroll,test,label,room\n" + body)
    run = ["key.csv" if word == "key" else word for word in RUN]
    out = succeed(*run, "--by", "room", "--equalize", "room")
    assert "share all targets" not in out
    found = rows_of()
    for room in "xy":
        own = rooms == room
        assert found[f"room={room}", "EER"]["value"] == fp.EER()(data(own))
        expected = fp.MinADCF(SPOOF[own])(data(own))
        assert found[f"room={room}", "minADCF(asvspoof5)"]["value"] == expected


def test_only_the_adcf():
    succeed("evaluate", "--key", "key", "--scores", "a", "--scores-are", "raw", "--metrics",
            "minadcf(asvspoof5)", "--json", "t.json")  # fmt: skip
    assert {key: row["value"] for key, row in rows_of().items()} == {
        (None, "minADCF(asvspoof5)"): fp.MinADCF(SPOOF)(data())
    }


def test_other_costs():
    costs = "0.2:0.3:1:1:5"
    names = ("--metrics", f"minADCF({costs}),actADCF({costs}),minADCF(asvspoof5)")
    succeed("evaluate", "--key", "key", "--scores", "a", "--adcf", costs, "--adcf", "asvspoof5",
            *names, "--json", "t.json")  # fmt: skip
    numbers = [float(number) for number in costs.split(":")]
    assert {metric: row["value"] for (_, metric), row in rows_of().items()} == {
        f"minADCF({costs})": fp.MinADCF(SPOOF, *numbers)(data()),
        f"actADCF({costs})": fp.ActADCF(SPOOF, *numbers)(data()),
        "minADCF(asvspoof5)": fp.MinADCF(SPOOF)(data()),
    }


@pytest.mark.parametrize("text", ["0.2", "0.2:0.3:1:1:x", "0.7:0.3:1:1:5", "0.2:0.3:1:1:0"])
def test_costs_that_are_none(text):
    err = fastpsr("evaluate", "--key", "key", "--scores", "a", "--adcf", text).err
    assert "--adcf must be asvspoof5, or PNON:PSPOOF:CMISS:CFA:CFASPOOF" in err
    assert repr(text) in err


def test_costs_of_spoofed_trials_where_there_are_none():
    Path("key").write_text(Path("key").read_text().replace(" spoof", " nontarget"))
    err = fastpsr("evaluate", "--key", "key", "--scores", "a", "--adcf", "asvspoof5").err
    assert "--adcf is for lists with labels target, nontarget and spoof" in err


def test_raw_scores_have_the_minimum_alone():
    succeed("evaluate", "--key", "key", "--scores", "a", "--scores-are", "raw", "--json", "t.json")
    names = {metric for group, metric in rows_of() if group is None}
    assert "minADCF(asvspoof5)" in names
    assert "actADCF(asvspoof5)" not in names


def test_several_systems_and_their_differences():
    out = succeed("compare", "--key", "key", "a", "b", *FAST, "--resamples", "60", "--resample",
                  "iid", "--json", "t.json")  # fmt: skip
    assert out.count("spoofed trials: ") == 1
    found = json.loads(Path("t.json").read_text())["differences"]
    by_name = {(row["group_a"], row["metric"]): row for row in found}
    options = {"n_resamples": 60, "seed": 0}
    for metric in (fp.MinADCF(SPOOF), fp.ActADCF(SPOOF)):
        row = by_name[None, metric.label]
        expected = fp.compare(metric, data(), data(x=B), **options)
        assert row["difference"] == pytest.approx(expected.value)
        assert row["low"] == pytest.approx(expected.interval.low)
    own = ~SPOOF
    expected = fp.compare(fp.EER(), data(own), data(own, B), **options)
    assert by_name["kind=nontarget", "EER"]["difference"] == pytest.approx(expected.value)


def test_lists_without_spoofed_trials_are_as_before():
    key = Path("key").read_text().replace("spoof", "nontarget")
    Path("key").write_text(key)
    out = succeed("evaluate", "--key", "key", "--scores", "a", "--metrics", "EER", "--json",
                  "t.json")  # fmt: skip
    assert "spoofed" not in out
    assert list(rows_of()) == [(None, "EER")]
