"""CSV: any bytes are a table; well-formed files mean what the standard library says; blocks never matter."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

from absentia.cli.app import cli
from absentia.errors import InputError
from absentia.planning.schema import Schema
from absentia.query.statistic import Statistic
from absentia.table import textfile
from absentia.table.aggregate import aggregate, profile_counts


def rows_of(data: bytes, block: int = 2**23) -> list[tuple[str | None, ...]]:
    before = textfile.BLOCK
    textfile.BLOCK = block
    try:
        stream = io.BytesIO(data)
        header = textfile.csv_header(stream, "bytes")
        tables = list(textfile.csv_batches(stream, header, header))
    finally:
        textfile.BLOCK = before
    return [row for t in tables for row in zip(*[c.to_pylist() for c in t.columns], strict=True)]


CASES = {
    b"a,b\n\n1,2\n3\n4,5,6\n\n": [(None, None), ("1", "2"), ("3", None), ("4", "5"), (None, None)],
    b"a,b\r\n1,2\r\n3,4": [("1", "2"), ("3", "4")],
    b"\xef\xbb\xbfa,b\n7,\xff\n": [("7", "\ufffd")],
    b'a,b\n1,"x\ny"\n2,"c""d"\n': [("1", "x\ny"), ("2", 'c"d')],
    b'a,b\n1,"2\n3,4\n5,6\n': [("1", '"2'), ("3", "4"), ("5", "6")],
    b'a,b\n1,2"x\n3,4\n': [("1", '2"x'), ("3", "4")],
    b"a,b\n": [],
    b"a\n1\n\n2": [("1",), (None,), ("2",)],
    b"a,b\n1,\x00\n": [("1", "\x00")],
    b'a,b\n\r2,","\n': [("\r2", ",")],
    b'a,"b\n(kg)"\n1,2\n': [("1", "2")],
    b'a,"b\r\n""c"""\r\n1,2\n': [("1", "2")],
}


@pytest.mark.parametrize("block", [1, 3, 10, 2**23])
@pytest.mark.parametrize("data", list(CASES))
def test_records(data: bytes, block: int) -> None:
    assert rows_of(data, block) == CASES[data]


CELL = st.text(st.sampled_from('ab1 ,"\n\r\t;é'), max_size=6)


@given(st.lists(st.tuples(CELL, CELL, CELL), max_size=30), st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]))
def test_what_is_written_is_read(rows: list[tuple[str, str, str]], quoting: int) -> None:
    out = io.StringIO()
    writer = csv.writer(out, quoting=quoting, lineterminator="\n")
    writer.writerows([("x", "y", "z"), *rows])
    data = out.getvalue().encode()
    for block in (5, 2**23):
        read = [tuple(c or "" for c in row) for row in rows_of(data, block)]
        assert [tuple(c.rstrip("\r") for c in row) for row in read] == [tuple(c.rstrip("\r") for c in r) for r in rows]


@settings(max_examples=300)
@example(b'\x00\x00""\n\r,\n')
@given(st.binary(max_size=200) | st.text(st.sampled_from('1,"\n\r\x00é'), max_size=60).map(str.encode))
def test_no_bytes_raise_and_blocks_do_not_matter(data: bytes) -> None:
    whole, pieces = rows_of(b"a,b\n" + data), rows_of(b"a,b\n" + data, 7)
    assert [[c or None for c in row] for row in pieces] == [[c or None for c in row] for row in whole]
    assert len(whole) <= data.count(b"\n") + 1


def test_an_open_quote_costs_its_own_line_only() -> None:
    lines = [b"%d,%d" % (i, i) for i in range(60_000)]
    lines[100] = b'7,"open'
    rows = rows_of(b"a,b\n" + b"\n".join(lines) + b"\n")
    assert len(rows) == 60_000
    assert rows[100] == ("7", '"open')
    assert rows[-1] == ("59999", "59999")


@pytest.mark.parametrize("odd", ['5" pipe', '"open', '"a" b', '"a""', '5""', '"" b'])
@pytest.mark.parametrize("after", ["ok", '"quoted, well"', '"two\nlines"', '""', '5" pipe', '"open', '"a" b'])
def test_a_stray_quote_costs_no_other_line(odd: str, after: str) -> None:
    lines = [f"{i},{after}" for i in range(1000)]
    before = rows_of("\n".join(["a,b", *lines, ""]).encode())
    lines[100] = f"7,{odd}"
    for block in (37, 2**23):
        rows = rows_of("\n".join(["a,b", *lines, ""]).encode(), block)
        assert rows == [*before[:100], ("7", odd), *before[101:]]


def test_a_quoted_cell_may_be_long_up_to_a_public_length(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = ["two\nlines", "a\n" * 300_000, "a\n" + "b" * 300_000, "c" * 300_000 + '\n"', "5"]
    for strays in ([], ['5" pipe']):
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([("a", "b"), *[(1, c) for c in cells * 3]])
        data = out.getvalue() + "".join(f"1,{c}\n" for c in strays)
        for block in (2**18, 2**23):
            assert rows_of(data.encode(), block) == [("1", c) for c in [*cells * 3, *strays]]
    monkeypatch.setattr(textfile, "MAX_RECORD", 21)
    for block in (3, 2**23):
        assert len(rows_of(b'a,b\n1,"%b"\n2,3\n' % (b"x\n" * 8), block)) == 2
        assert rows_of(b'a,b\n1,"%b"\n2,3\n' % (b"x\n" * 9), block)[0] == ("1", '"x')


def test_a_stray_quote_in_the_header_takes_no_row() -> None:
    for header in (b'a,b" x', b'a, "b', b'a,"b" x"'):
        with pytest.raises(InputError, match="E-HEADER"):
            rows_of(header + b'\n1,5"\n2,"x"\n')


SCHEMA = Schema.from_dict({"n": 5, "columns": {"a": {"kind": "number", "bounds": [0, 10]}}})


@pytest.mark.parametrize(
    ("code", "name", "content"),
    [
        ("E-COLUMN", "t.csv", b"1,2\n3,4\n"),
        ("E-COLUMN", "t.csv", b"a,a\n3,4\n"),
        ("E-ENCODING", "t.csv", "a,é\n1,2\n".encode("latin-1")),
        ("E-ENCODING", "t.csv", "a,b\n1,2\n".encode("utf-16")),
        ("E-EMPTY", "t.csv", b""),
        ("E-EMPTY", "t.csv", b"\n1\n"),
        ("E-HEADER", "t.csv", b"a,b\r1,2\r3,4\r"),
        ("E-HEADER", "t.csv", b'a,"b\n1,2\n3,4\n'),
        ("E-EMPTY", "t.parquet", b""),
        ("E-FILE", "t.parquet", b"PAR1 no"),
        ("E-FILE", "t.csv.gz", b"a,b\n1,2\n"),
        ("E-FILE", "t.txt", b"a,b\n1,2\n"),
    ],
)
def test_bad_files_are_one_clear_error(tmp_path: Path, code: str, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as refused:
        profile_counts(tmp_path / name, SCHEMA)
    assert refused.value.code == code
    assert "3" not in str(refused.value).replace(str(tmp_path), "")
    assert refused.value.exit_code == 2
    assert refused.value.remedy


def test_a_blank_first_line_is_not_an_empty_file(tmp_path: Path) -> None:
    for content, remedy in ((b"\na\n1\n", "first line is blank"), (b"", "file is empty")):
        (tmp_path / "t.csv").write_bytes(content)
        with pytest.raises(InputError, match=remedy):
            profile_counts(tmp_path / "t.csv", SCHEMA)


def test_truncated_gzip(tmp_path: Path) -> None:
    import gzip

    data = gzip.compress(b"a,b\n" + b"1,2\n" * 100_000)
    (tmp_path / "t.csv.gz").write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match="E-FILE"):
        profile_counts(tmp_path / "t.csv.gz", SCHEMA)


def test_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="E-EMPTY"):
        profile_counts(tmp_path, SCHEMA)
    with pytest.raises(InputError, match="E-FILE"):
        profile_counts(tmp_path / "absent.csv", SCHEMA)
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.csv").write_text("b,a\n1,2\n")
    assert profile_counts(tmp_path, SCHEMA).rows == 2
    assert aggregate(tmp_path, SCHEMA, [s := Statistic((("a", 1),))]).value(s) == pytest.approx(-0.8 - 0.6)
    (tmp_path / "3.csv").write_text("a,c\n1,2\n")
    with pytest.raises(InputError, match="E-FOLDER"):
        profile_counts(tmp_path, SCHEMA)
    (tmp_path / "3.csv").rename(tmp_path / "3.parquet")
    with pytest.raises(InputError, match="E-FILE"):
        profile_counts(tmp_path, SCHEMA)


def test_what_is_no_table() -> None:
    for table in (3, None, [], {"a": [1]}, object()):
        with pytest.raises(InputError, match="E-TABLE"):
            profile_counts(table, SCHEMA)


def test_a_header_alone_is_a_table_of_no_rows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n")
    masks = profile_counts(tmp_path / "t.csv", SCHEMA)
    assert (masks.rows, masks.observed.tolist(), masks.per_row.tolist()) == (0, [0], [0, 0])
    assert masks.patterns.shape == (0, 1)


def test_schema_command(tmp_path: Path) -> None:
    table, out = tmp_path / "t.csv", tmp_path / "schema.toml"
    table.write_text('bmi,"a b"\nSECRET,2\n')
    run = CliRunner()
    printed = run.invoke(cli, ["schema", str(table)])
    assert printed.exit_code == 0
    assert "[columns.bmi]" in printed.output
    assert '[columns."a b"]' in printed.output
    assert "SECRET" not in printed.output
    assert run.invoke(cli, ["schema", "-"], input=table.read_bytes()).output == printed.output
    assert run.invoke(cli, ["schema", str(table), "-o", str(out)]).exit_code == 0
    assert out.read_text() == printed.output
    assert isinstance(run.invoke(cli, ["schema", str(table), "-o", str(out)]).exception, InputError)
    table.write_text("1,2\n3,4\n")
    assert getattr(run.invoke(cli, ["schema", str(table)]).exception, "code", None) == "E-HEADER"
