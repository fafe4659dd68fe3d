"""The small files that the recorded command lines read."""

from pathlib import Path

import numpy as np
import polars

from tests.golden.datasets import _expit, _softmax


def write_files() -> None:
    """Write tables and trial lists into the working directory."""
    _tables()
    _trials()


def _tables() -> None:
    random = np.random.RandomState(1)
    n = 120
    y = np.arange(n) % 3 % 2
    z = (1.5 * random.standard_normal(n) + 2.0 * y - 1.0).round(4)
    frame = polars.DataFrame(
        {
            "label": y,
            "q": _expit(z).round(6),
            "z": z,
            "weight": random.randint(1, 5, n) / 2.0,
            "site": np.array(["01", "1", "b"])[random.randint(0, 3, n)],
            "sex": np.array(["f", "m"])[random.randint(0, 2, n)],
            "age": random.randint(20, 80, n),
            "patient": [f"p{k:03}" for k in random.randint(0, 40, n)],
        }
    )
    frame.write_csv("t.csv")
    frame.write_parquet("t.parquet")
    frame.with_columns(q=_expit(0.5 * z + np.sin(np.arange(n))).round(6)).write_csv("u.csv")
    frame.reverse().write_csv("shuffled.csv")
    frame.drop("weight").write_csv("unweighted.csv")
    Path("costs.txt").write_text("0 1\n5 0\n", "utf-8")
    Path("costs3.txt").write_text("0 1 2\n1 0 1\n3 1 0\n", "utf-8")
    Path("costs.csv").write_text("0,1,0.25\n5,0,0.25\n", "utf-8")
    Path("costs3.json").write_text("[[0, 1, 2], [1, 0, 1], [3, 1, 0]]", "utf-8")
    zeros = polars.when(polars.int_range(n) % 50 == 7).then(1.0 - y).otherwise(polars.col("q"))
    frame.with_columns(q=zeros).write_csv("zeros.csv")
    frame.with_columns(z=polars.col("z").abs() * (2 * y - 1)).write_csv("separated.csv")
    lines = Path("t.csv").read_text("utf-8").splitlines(keepends=True)
    Path("empty.csv").write_text(lines[0], "utf-8")
    lines[7] = lines[7].replace("0.", "O.")
    Path("broken.csv").write_text("".join(lines), "utf-8")
    classes = random.randint(0, 3, n)
    logits = random.standard_normal((n, 3)) + 1.5 * np.eye(3)[classes]
    np.savez("t.npz", label=classes, score=logits)
    q = _softmax(logits)
    names = np.array(["bird", "cat", "dog"])
    table = {"truth": names[classes], "wrong": np.array(["bird", "cat", "god"])[classes]}
    table |= {f"p_{name}": q[:, k] for k, name in enumerate(names)}
    polars.DataFrame(table).write_csv("words.csv")


def _trials() -> None:
    random = np.random.RandomState(2)
    speakers = [f"id{k:02}" for k in range(12)]
    pairs = [(e, t, k) for e in speakers for t in speakers for k in (1, 2) if e == t or k == 1]
    pairs += [(s, s, k) for s in speakers for k in (3, 4, 5)]
    y = np.array([e == t for e, t, _ in pairs]).astype(int)
    ids = [(f"{e}/enroll.wav", f"{t}/test{k}.wav") for e, t, k in pairs]
    a = (1.7 * random.standard_normal(y.size) + 3.0 * y - 1.5).round(4)
    b = (0.7 * a + 0.8 * random.standard_normal(y.size)).round(4)
    words = [("nontarget", "target")[label] for label in y]
    gender = [("f", "m")[int(e[2:]) % 2] for e, _, _ in pairs]
    session = random.randint(0, 3, y.size)
    seconds = random.randint(2, 40, y.size)

    def save(name: str, *columns: object, rows=slice(None), separator: str = " ") -> None:
        lines = [separator.join(map(str, row)) + "\n" for row in zip(*columns, strict=True)]
        Path(name).write_text("".join(lines[rows]), "utf-8")

    enroll, test = zip(*ids, strict=True)
    save("key", enroll, test, words)
    save("few_key", enroll, test, words, rows=slice(0, 150))
    save("voxceleb.txt", y, enroll, test)
    save("nist.tsv", enroll, test, words, gender, session, seconds, separator="\t")
    table = Path("nist.tsv")
    header = "modelid\tsegmentid\ttargettype\tgender\tsession\tseconds\n"
    table.write_text(header + table.read_text("utf-8"), "utf-8")
    save("a.txt", enroll, test, a)
    save("b.txt", enroll, test, b, rows=slice(None, None, -1))
    save("raw.txt", enroll, test, np.tanh(a / 4.0).round(5))
    save("few.txt", enroll, test, a, rows=slice(3, None))
    save("nan.txt", enroll, test, np.where(np.arange(y.size) == 4, np.nan, a))
    save("other_ids.txt", [e[:-4] for e in enroll], [t[:-4] for t in test], a)
    save("labeled.txt", enroll, test, a, words)
    save("tar.txt", a[y == 1])
    save("non.txt", a[y == 0])
    save("numbers.txt", a)
    is_spoof = (y == 0) & (np.arange(y.size) % 3 == 0)
    attack = np.where(is_spoof, np.array(["A1", "A2"])[np.arange(y.size) % 2], "-")
    save("spoof.key", enroll, test, attack, np.where(is_spoof, "spoof", words))
    scores = np.tanh(a / 4.0).round(5)
    save("new.tsv", ["enroll", *enroll], ["test", *test], ["score", *scores], ["gender", *gender],
         separator="\t")  # fmt: skip
    lines = Path("a.txt").read_text("utf-8").splitlines(keepends=True)
    Path("twice.txt").write_text("".join([*lines, lines[5]]), "utf-8")
    Path("broken.txt").write_text("".join([*lines[:9], "id01 2\n", *lines[9:]]), "utf-8")
    files = sorted({*enroll, *test})
    save("speakers.txt", files, [name.split("/")[0] for name in files])
    save("durations.txt", files, random.randint(2, 40, len(files)) / 2.0)
