"""Tables in text as spreadsheets and other tools write them, compared with the same in CSV."""

import gzip
from pathlib import Path

import polars
import pytest

import fastpsr as fp
from tests.commands import fastpsr, succeed

PLAIN = "label,q,site\n0,0.25,a\n1,0.75,b\n0,0.5,a\n1,0.125,b\n"
COLUMNS = ([0, 1, 0, 1], [0.25, 0.75, 0.5, 0.125], ["a", "b", "a", "b"])
WITH_SEMICOLONS = PLAIN.replace(",", ";")
WITH_DECIMAL_COMMAS = WITH_SEMICOLONS.replace(".", ",")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def columns_of(path, **options):
    data = fp.read_table(path, columns="q", **options)
    return data.y_true.tolist(), data.posteriors[:, 1].tolist(), data.columns["site"].tolist()


DIALECTS = {
    "semicolons": WITH_SEMICOLONS,
    "tabs": PLAIN.replace(",", "\t"),
    "decimal commas": WITH_DECIMAL_COMMAS,
    "tabs and decimal commas": WITH_DECIMAL_COMMAS.replace(";", "\t"),
    "a line for spreadsheets": f"sep=;\n{WITH_DECIMAL_COMMAS}",
    "quotes": WITH_DECIMAL_COMMAS.replace("site", '"site"').replace("0,25", '"0,25"'),
    "blanks after commas": PLAIN.replace(",", ", "),
    "quotes after blanks": PLAIN.replace(",", ", ").replace("b\n", '"b"\n'),
    "CRLF": WITH_DECIMAL_COMMAS.replace("\n", "\r\n"),
    "comments above": f"# made by a tool\n# on a day, in a place\n\n{PLAIN}",
    "a comment of as many columns": f"# by me, here, today\n{PLAIN}",
    "comments below": PLAIN.replace("1,0.75", "# second session\n1,0.75") + "# end, of it\n",
    "comments and semicolons": f"# 1,5 of all\n{WITH_DECIMAL_COMMAS}#;\n",
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("name", DIALECTS)
def test_dialects_are_read_as_csv(name, encoding):
    Path("t.csv").write_bytes(DIALECTS[name].encode(encoding))
    assert columns_of("t.csv") == COLUMNS


@pytest.mark.parametrize("ending", ["csv", "CSV", "tsv", "TSV", "csv.gz", "tsv.GZ", "Csv.gz"])
def test_endings(ending):
    content = (PLAIN.replace(",", "\t") if "t" in ending else PLAIN).encode()
    Path(f"t.{ending}").write_bytes(
        gzip.compress(content) if ending.lower().endswith("gz") else content
    )
    assert columns_of(f"t.{ending}") == COLUMNS
    options = (f"t.{ending}", "--columns", "q")
    shown = succeed("evaluate", *options, "--metrics", "AUC")
    assert "scores: q; labels: label; weights: none" in shown
    succeed("calibrate", *options, "--save", "map.json")
    succeed("calibrate", "--load", "map.json", "--apply", *options, "--output", "o.CSV")
    assert polars.read_csv("o.CSV")["site"].to_list() == COLUMNS[2]


def test_endings_of_arrays_in_capital_letters():
    polars.read_csv(PLAIN.encode()).write_parquet("t.parquet")
    Path("parts").mkdir()
    Path("t.parquet").rename("parts/t.PARQUET")
    assert columns_of("parts/t.PARQUET") == COLUMNS
    assert fp.read_table("parts", columns="q").compute().y_true.tolist() == COLUMNS[0]


def test_sep_decides_where_several_separators_fit():
    Path("t.csv").write_text("y;q,r\nno;0,1\nyes;0,2\n")
    data = fp.read_table("t.csv", labels="y", classes=["no", "yes"], sep=";")
    assert (data.y_true.tolist(), data.posteriors[:, 1].tolist()) == ([0, 1], [0.1, 0.2])
    data = fp.read_table("t.csv", labels="y;q", classes=["no;0", "yes;0"], sep=",", kind="llrs")
    assert data.llrs.tolist() == [1.0, 2.0]
    Path("t.csv").write_text("label;q,r\n0;0,1\n1;0,2\n")
    assert fp.read_table("t.csv").posteriors[:, 1].tolist() == [0.1, 0.2]


def test_semicolons_in_cells_are_no_separators():
    Path("t.csv").write_text("label,q,site;part\n0,0.25,a;1\n1,0.5,b;2\n")
    data = fp.read_table("t.csv", columns="q")
    assert data.columns["site;part"].tolist() == ["a;1", "b;2"]


def test_marks_of_comments_in_ids_and_names():
    content = "#site,label,q\n#a,0,0.25\n#b,1,0.5\n"
    Path("t.csv").write_text(content)
    data = fp.read_table("t.csv", columns="q")
    assert data.columns["#site"].tolist() == ["#a", "#b"]


def test_lines_of_errors_count_comments():
    Path("t.csv").write_text("# 1\nlabel;q\n# 3\n0;0,25\n# 5\n1;7\n")
    with pytest.raises(fp.ArgumentError, match=r"q\[1\] is 7\.0 \(line 6\)"):
        fp.read_table("t.csv")


def test_decimal_commas_of_other_columns():
    """All numbers of a table have one decimal mark, conditions as well."""
    Path("t.csv").write_text("label;q;site\n0;0,25;1,5\n1;0,5;2,5\n1;0,75;2,50\n0;0,5;1,5\n")
    data = fp.read_table("t.csv", columns="q")
    assert data.columns["site"].tolist() == ["1.5", "2.5", "2.50", "1.5"]
    shown = succeed("evaluate", "t.csv", "--columns", "q", "--by", "site:2", "--metrics", "NBS")
    assert "site=[-inf, 2.5)" in shown


def test_points_beside_decimal_commas():
    """They are versions or the like where a comma cannot be between thousands."""
    rows = [f"{k % 2};0,{k % 8}25;{k % 9},125;1.{k % 2}\n" for k in range(600)]
    Path("t.csv").write_text("label;q;r;version\n" + "".join(rows))
    data = fp.read_table("t.csv", columns="q")
    assert data.posteriors[:, 1].tolist() == [float(f"0.{k % 8}25") for k in range(600)]
    assert {*data.columns["version"]} == {"1.0", "1.1"}
    rows[:599] = [f"{k % 2};0;{k % 9 + 1},125;1\n" for k in range(599)]
    Path("t.csv").write_text("label;q;r;version\n" + "".join(rows))
    with pytest.raises(fp.ArgumentError, match=r"r\[0\] is 1,125, and another number is 1\.1"):
        fp.read_table("t.csv", columns="r", kind="llrs")


def test_a_short_row_among_rows_with_marks_of_comments_is_an_error():
    Path("t.csv").write_text("id,label,q\n#1,1,0.5\n#2,0,0.25\n#3,1\n")
    with pytest.raises(fp.ArgumentError, match=r"t\.csv:4: there must be 3 columns"):
        fp.read_table("t.csv", columns="q")


def test_empty_cells_of_columns_that_are_not_used():
    Path("t.csv").write_text("label,q,site,\n0,0.25,a,\n1,0.5,,\n")
    data = fp.read_table("t.csv", columns="q")
    assert data.columns["site"].tolist() == ["a", None]
    assert data.columns[""].tolist() == [None, None]
    with pytest.raises(fp.ArgumentError, match="must have an id for each sample"):
        fp.evaluate(data, by="site")
    outcome = fastpsr("evaluate", "t.csv", "--columns", "q", "--by", "site")
    assert "site must be written in every row, but is empty in row 1 (line 3)" in outcome.err
