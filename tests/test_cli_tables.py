"""absentia schema and profile: what they print, what they refuse, and that the header is all a schema reads."""

from __future__ import annotations

import io
import json
import tomllib
from pathlib import Path

import pytest

import absentia as ab
from absentia.cli.profile import profile as profile_command
from cli_helpers import SCHEMA, SECRET, absentia, installed, study, table

KEYS = {
    "columns_in_scope", "fully_missing_rows", "k", "missing_rate", "observed_histogram", "p_star", "patterns", "rho",
    "rows", "schema_version",
}  # fmt: skip


# -- schema ----------------------------------------------------------------------------------------------------------


def test_a_skeleton_names_every_column_and_leaves_every_bound_blank(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(table())
    run = absentia("schema", tmp_path / "people.csv")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.widest <= 80
    with pytest.raises(tomllib.TOMLDecodeError):
        tomllib.loads(run.stdout)
    filled = run.stdout.replace("kind = \nbounds = ", 'kind = "boolean"')
    assert list(ab.Schema.from_dict(tomllib.loads(filled)).columns) == ["bmi", "chl", "smoker"]
    assert absentia("schema", "-", stdin=table().encode()).stdout == run.stdout


def test_a_skeleton_is_refused_as_a_schema_with_the_reason(tmp_path: Path) -> None:
    folder = study(tmp_path / "s")
    (folder / "blank.toml").write_text(absentia("schema", folder / "people.csv").stdout)
    run = absentia("profile", folder / "people.csv", "--schema", folder / "blank.toml")
    assert run.returncode == 2
    assert "blank on purpose" in run.stderr.replace("\n  ", " ")


def test_a_schema_reads_the_header_only(tmp_path: Path) -> None:
    class Header(io.RawIOBase):
        """Gives the header, then fails: no cell may be asked for before the header is understood."""

        served = False

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
            if self.served:
                raise AssertionError("a cell was read")
            self.served, text = True, b"bmi,chl\n"
            buffer[: len(text)] = text
            return len(text)

    from absentia.table.textfile import csv_header

    assert csv_header(io.BufferedReader(Header()), "-") == ["bmi", "chl"]
    run = absentia("schema", "-", stdin=b"bmi,chl\n" + SECRET.encode() + b",\xff\xfe\x00\n")
    assert run.returncode == 0
    assert SECRET not in run.stdout


def test_the_header_as_json_and_into_a_file_that_is_not_written_over(tmp_path: Path) -> None:
    folder = study(tmp_path / "s")
    assert absentia("schema", folder / "people.csv", "--json").json == {
        "columns": ["bmi", "chl", "smoker"],
        "schema_version": 1,
    }
    first = absentia("schema", folder / "people.csv", "-o", folder / "new.toml")
    assert (first.returncode, first.stdout) == (0, "")
    (folder / "new.toml").write_text("mine")
    second = absentia("schema", folder / "people.csv", "-o", folder / "new.toml")
    assert second.returncode == 2
    assert "E-EXISTS" in second.stderr
    assert (folder / "new.toml").read_text() == "mine"
    nowhere = absentia("schema", folder / "people.csv", "-o", folder / "no" / "new.toml")
    assert (nowhere.returncode, (folder / "no").exists()) == (2, False)


def test_names_that_steer_a_terminal_are_written_out_and_read_back(tmp_path: Path) -> None:
    hostile = ["a\x1b[31m", "b\x9b2J", "c\u202eevil", 'd"q', "e\U0001f600", "f\x7f"]
    header = ",".join('"' + name.replace('"', '""') + '"' for name in hostile)
    run = absentia("schema", "-", stdin=f"{header}\n".encode())
    assert run.returncode == 0
    assert all(line.isprintable() for line in run.stdout.splitlines())
    filled = tomllib.loads(run.stdout.replace("kind = \nbounds = ", 'kind = "boolean"'))
    assert list(filled["columns"]) == hostile


# -- profile ---------------------------------------------------------------------------------------------------------


def test_a_profile_as_text_and_as_json(tmp_path: Path) -> None:
    folder = study(tmp_path / "s")
    arguments = ("profile", folder / "people.csv", "--schema", folder / "schema.toml")
    text = absentia(*arguments)
    assert (text.returncode, text.stderr) == (0, "")
    assert text.widest <= 80
    assert text.stdout.startswith("NOT FOR RELEASE; NOT A GUARANTEE")
    assert text.stdout.rstrip().endswith("NOT FOR RELEASE; NOT A GUARANTEE")
    found = absentia(*arguments, "--json").json
    assert set(found) >= KEYS
    assert found["rows"] == 300
    assert found["columns_in_scope"] == ["bmi", "chl", "smoker"]
    assert found["missing_rate"] == {"bmi": 100 / 300, "chl": 100 / 300, "smoker": 100 / 300}
    assert found["observed_histogram"] == {"2": 300}
    assert (found["p_star"], found["k"], found["rho"], found["fully_missing_rows"]) == (1.0, 2, 2 / 3, 0)
    assert len(found["patterns"]) == 3
    assert absentia("profile", "-", "--schema", folder / "schema.toml", "--json", stdin=table().encode()).json == found


def test_the_installed_program_profiles_stdin_without_colour(tmp_path: Path) -> None:
    folder = study(tmp_path / "s")
    run = installed("profile", "-", "--schema", "schema.toml", cwd=folder, stdin=table().encode())
    assert (run.returncode, run.stderr) == (0, "")
    assert "\x1b" not in run.stdout
    assert run.stdout == absentia("profile", folder / "people.csv", "--schema", folder / "schema.toml").stdout


def test_figures_and_evidence(tmp_path: Path) -> None:
    folder = study(tmp_path / "s")
    arguments = ("profile", folder / "people.csv", "--schema", folder / "schema.toml", "--k", "1")
    run = absentia(*arguments, "--figures", folder / "figures", "--json")
    assert run.json["eta"] == 1.0
    assert {Path(line).name for line in run.stderr.split()} == {"missing.svg", "patterns.svg", "pairs.svg"}
    tests = absentia(*arguments, "--evidence")
    assert tests.returncode == 0
    assert tests.widest <= 80
    assert "Little" in tests.stdout
    assert "evidence" in absentia(*arguments, "--evidence", "--json").json
    (folder / "file").write_text("")
    assert absentia(*arguments, "--figures", folder / "file").returncode == 2
    assert absentia(*arguments, "--cluster", "smoker").returncode == 2


@pytest.mark.parametrize("text", ["a\n" * 3000, ""], ids=["one name", "no columns"])
def test_a_schema_without_use_says_so(tmp_path: Path, text: str) -> None:
    folder = study(tmp_path / "s", schema=text)
    run = absentia("profile", folder / "people.csv", "--schema", folder / "schema.toml")
    assert run.returncode == 2
    assert run.stdout == ""


# -- bad input -------------------------------------------------------------------------------------------------------

LOW = SCHEMA.replace("[10, 60]", "[60, 10]")
BAD: dict[str, tuple[bytes | None, str, str]] = {
    "no header": (b"1,2,3\n4,5,6\n", SCHEMA, "E-COLUMN"),
    "a name twice": (b"bmi,bmi,chl,smoker\n1,2,3,no\n", SCHEMA, "E-COLUMN"),
    "wrong encoding": ("bmi,chl,smok\u00e9r\n1,2,no\n".encode("latin-1"), SCHEMA, "E-ENCODING"),
    "utf-16": ("bmi,chl,smoker\n1,2,no\n".encode("utf-16"), SCHEMA, "E-ENCODING"),
    "empty": (b"", SCHEMA, "E-EMPTY"),
    "no such file": (None, SCHEMA, "E-FILE"),
    "column absent": (b"bmi,chl\n1,2\n", SCHEMA, "E-COLUMN"),
    "bounds reversed": (table().encode(), LOW, "E-INPUT"),
    "no columns": (table().encode(), "n = 3\n", "E-INPUT"),
    "not TOML": (table().encode(), "columns = [", "E-TOML"),
    "unknown field": (table().encode(), SCHEMA.replace("n = 300", "rows = 300"), "E-INPUT"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_error_with_its_code_and_nothing_is_written(case: str, tmp_path: Path) -> None:
    data, schema, code = BAD[case]
    (tmp_path / "schema.toml").write_text(schema)
    if data is not None:
        (tmp_path / "people.csv").write_bytes(data)
    before = sorted(tmp_path.iterdir())
    arguments = ("profile", tmp_path / "people.csv", "--schema", tmp_path / "schema.toml", "--figures", tmp_path / "f")
    run = absentia(*arguments)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(f"absentia: [{code}]")
    assert run.widest <= 80 or str(tmp_path) in run.stderr
    assert sorted(tmp_path.iterdir()) == before
    as_json = json.loads(absentia(*arguments, "--json").stderr)
    assert as_json["code"] == code
    assert set(as_json) == {"code", "error", "remedy", "rule"}


def test_a_folder_with_differing_files_is_refused(tmp_path: Path) -> None:
    folder = study(tmp_path / "s")
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "a.csv").write_text(table())
    (parts / "b.csv").write_text("bmi,chl\n1,2\n")
    run = absentia("profile", parts, "--schema", folder / "schema.toml")
    assert run.returncode == 2
    assert "E-FOLDER" in run.stderr
    assert "b.csv" in run.stderr


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_another_separator_than_a_comma_is_said(mark: str) -> None:
    run = absentia("schema", "-", stdin=table().replace(",", mark).encode())
    assert (run.returncode, run.stdout) == (2, "")
    assert "commas" in run.stderr


def test_a_table_without_header_shows_none_of_its_cells() -> None:
    run = absentia("schema", "-", stdin=f"{SECRET},17\n".encode())
    assert run.returncode == 2
    assert "E-HEADER" in run.stderr
    assert SECRET not in run.stderr


def test_the_command_says_what_it_is() -> None:
    assert "not for release" in (profile_command.help or "")
