"""`absentia paper table1`: the paper's table of real datasets, recomputed under every plausible convention."""

from __future__ import annotations

import math
import os
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from absentia.cli.text import echo, echo_json
from absentia.errors import InputError
from absentia.planning.schema import Schema

if TYPE_CHECKING:
    from absentia.table.profile import Profile

__all__ = ["DATASETS", "Convention", "Dataset", "Entry", "table1", "table1_command"]

ALL, NEVER_MISSING, LABELS = "all columns", "sometimes missing", "no ids, no labels"
SEARCHED = 16


@dataclass(frozen=True)
class Dataset:
    """A dataset of the paper's table: its file, public schema, identifier and label columns, and what is printed."""

    name: str
    file: str
    schema: dict[str, Any]
    paper_p_star: str
    paper_rho: str
    labels: tuple[str, ...] = ()


def _numbers(names: Iterable[str], low: float, high: float) -> dict[str, Any]:
    return {name: {"kind": "number", "bounds": [low, high]} for name in names}


def _category(*values: str) -> dict[str, Any]:
    return {"kind": "category", "values": list(values)}


_SELFREPORT = {
    "src": _category("krul", "mgg"),
    **_numbers(["id"], 10001, 17079),
    "pop": _category("NL"),
    **_numbers(["age"], 0, 120),
    "sex": _category("Female", "Male"),
    **_numbers(["hm", "wm", "hr", "wr"], 0, 300),
    "prg": _category("Not pregnant", "Pregnant"),
    "edu": _category("Low", "Middle", "High"),
    "etn": _category("Autochtone", "Allochtone"),
    "web": _category("No", "Yes"),
    **_numbers(["bm", "br"], 0, 100),
}
_ANSWERS = [f"Q{x}" for x in (7.1, 7.2, 7.4, 8.1, 8.2, 8.3, "9Nav.3", 29.2, 29.3, 30.1, 30.2, 30.3, 40.1, 40.3)]
_VOTES = {f"V{i}": {"kind": "boolean"} for i in range(1, 17)}
_LONG = {"user": "user", "item": "item", "value": "rating", "n_items": 9724}
DATASETS = (
    Dataset(
        "nhanes", "nhanes.csv",
        {"columns": {**_numbers(["age"], 1, 3), **_numbers(["bmi", "hyp", "chl"], 0, 500)}}, "0.72", "1.00",
    ),
    Dataset(
        "housevotes84", "housevotes84.csv", {"columns": {"Class": _category("democrat", "republican"), **_VOTES}},
        "0.92", "1.00", ("Class",),
    ),
    Dataset("vnf", "vnf.csv", {"columns": _numbers(_ANSWERS, 1, 9)}, "0.95", "1.00"),
    Dataset("selfreport", "selfreport.csv", {"columns": _SELFREPORT}, "1.00", "0.79", ("id",)),
    Dataset(
        "ml-latest-small", "movielens_latest_small.csv", {"long": _LONG, "columns": _numbers(["rating"], 0, 5)},
        "", "",
    ),
)  # fmt: skip
ML20M = {"rows": 138_493, "most": 9_254, "rated items": 26_744, "listed items": 27_278}
"""Published figures of MovieLens 20M: every user rated at least 20 items; the file itself is not read."""


@dataclass(frozen=True)
class Convention:
    """p* and rho under one choice of columns, as exact ratios."""

    name: str
    p_star: Fraction
    rho: Fraction

    def to_dict(self) -> dict[str, Any]:
        return {"convention": self.name, "p_star": float(self.p_star), "rho": float(self.rho)}


@dataclass(frozen=True)
class Entry:
    """One line of the paper's table beside ours; `subsets`: column sets tried for p*, how many round, how many cut."""

    name: str
    rows: int
    paper_p_star: str
    paper_rho: str
    ours: tuple[Convention, ...]
    subsets: tuple[int, int, int] | None = None
    histogram: dict[int, int] | None = None

    def matches(self, which: str) -> list[str]:
        """The conventions that give the printed p_star or rho, with the rounding that does."""
        printed = getattr(self, f"paper_{which}")
        out = []
        for c in self.ours if printed else ():
            value = getattr(c, which)
            if rounded(value) == printed:
                out.append(c.name)
            elif truncated(value) == printed:
                out.append(f"{c.name}, truncated")
        return out

    def to_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.name,
            "rows": self.rows,
            "paper": {"p_star": self.paper_p_star, "rho": self.paper_rho} if self.paper_rho else None,
            "ours": [c.to_dict() for c in self.ours],
            "observed_histogram": self.histogram and {str(k): n for k, n in self.histogram.items()},
            "reproduced_by": {w: self.matches(w) for w in ("p_star", "rho")} if self.paper_rho else None,
            "column_sets": self.subsets and dict(zip(("tried", "rounded", "truncated"), self.subsets, strict=True)),
        }


def rounded(x: Fraction) -> str:
    """Two decimals, a half upwards."""
    return _hundredths(math.floor(100 * x + Fraction(1, 2)))


def truncated(x: Fraction) -> str:
    """Two decimals, the rest cut off."""
    return _hundredths(math.floor(100 * x))


def _hundredths(n: int) -> str:
    return f"{n // 100}.{n % 100:02}"


def table1(folder: Path) -> list[Entry]:
    """Every line of the paper's table, and ml-latest-small, read in place of the 20M file."""
    lines = [_entry(dataset, folder / dataset.file) for dataset in DATASETS]
    movies = tuple(
        Convention(name, Fraction(1), Fraction(ML20M["most"], ML20M[name])) for name in ("rated items", "listed items")
    )
    return [*lines[:-1], Entry("MovieLens20M", ML20M["rows"], "1.00", "0.33", movies), lines[-1]]


def _entry(dataset: Dataset, path: Path) -> Entry:
    from absentia.table.profile import profile  # the engine takes long to import

    p = profile(path, Schema.from_dict(dataset.schema))
    if p.unparsed:
        raise InputError("--data", path.name, "the dataset described in docs/profile.md: some cells are not its own")
    if not len(p.counts.patterns):
        whole = (Convention(ALL, Fraction(p.rows - p.fully_missing_rows, p.rows), Fraction(p.k, p.width)),)
        return Entry(dataset.name, p.rows, "", "", whole, histogram=p.observed_histogram)
    some = [c for c in p.columns if c not in p.always_observed]
    choices = {ALL: p.columns, NEVER_MISSING: some, LABELS: [c for c in p.columns if c not in dataset.labels]}
    ours = tuple(_restricted(p, name, columns) for name, columns in choices.items())
    subsets = _subsets(p, some, dataset.paper_p_star)
    return Entry(
        dataset.name, p.rows, dataset.paper_p_star, dataset.paper_rho, ours, subsets, p.observed_histogram
    )  # fmt: skip


def _restricted(p: Profile, name: str, columns: Sequence[str]) -> Convention:
    observed = p.counts.patterns[:, [p.columns.index(c) for c in columns]].sum(axis=1)
    shown = int(p.counts.pattern_counts[observed > 0].sum())
    return Convention(name, Fraction(shown, p.rows), Fraction(int(observed.max()), len(columns)))


def _subsets(p: Profile, columns: Sequence[str], printed: str) -> tuple[int, int, int] | None:
    """Non-empty sets of sometimes-missing columns: all, those whose p* rounds to the printed one, and truncates to it.

    Rows that miss every column of a set, for all sets at once: sums over supersets of the pattern counts.
    """
    d = len(columns)
    if d > SEARCHED:
        return None
    missing = ~p.counts.patterns[:, [p.columns.index(c) for c in columns]]
    rows = np.bincount(missing @ (1 << np.arange(d)), weights=p.counts.pattern_counts, minlength=1 << d)
    for j in range(d):
        halves = rows.reshape(-1, 2, 1 << j)
        halves[:, 0] += halves[:, 1]
    hidden, sets = np.unique(rows[1:].astype(np.int64), return_counts=True)
    found = {Fraction(p.rows - m, p.rows): s for m, s in zip(hidden.tolist(), sets.tolist(), strict=True)}
    near, cut = (sum(s for x, s in found.items() if to(x) == printed) for to in (rounded, truncated))
    return len(rows) - 1, near, cut


@click.command("table1")
@click.option("--data", metavar="DIR", help="Where the datasets are [default: $ABSENTIA_DATA, else ../shared/data].")
@click.option("--json", "as_json", is_flag=True, help="Write JSON with sorted keys.")
def table1_command(data: str | None, as_json: bool) -> None:
    """The paper's table of real datasets: printed, recomputed, and which entries no convention reproduces."""
    entries = table1(_folder(data))
    if as_json:
        echo_json({"schema_version": 1, "table1": [e.to_dict() for e in entries]})
    else:
        echo(_text(entries))


def _folder(given: str | None) -> Path:
    """The folder that holds every dataset, or an InputError that says where to get them."""
    named = given or os.environ.get("ABSENTIA_DATA")
    beside = Path("shared") / "data"
    places = [Path(named)] if named else [Path("..") / beside, Path(__file__).parents[4] / beside]
    for place in places:
        if all((place / d.file).is_file() for d in DATASETS):
            return place
    files = ", ".join(d.file for d in DATASETS)
    remedy = "The datasets are not bundled: docs/profile.md says where they come from. Name their folder in --data."
    raise InputError("--data", str(places[0]), f"a folder with {files}", code="E-DATA", remedy=remedy)


def _text(entries: list[Entry]) -> str:
    """At most 80 columns: printed and recomputed figures, then a verdict on every printed one."""
    lines = [f"{'dataset':<16}{'paper p*':>8}{'rho':>6}   {'columns':<18}{'ours p*':>9}{'rho':>9}  gives", "-" * 80]
    for e in entries:
        for i, c in enumerate(e.ours):
            head = f"{e.name:<16}{e.paper_p_star or '-':>8}{e.paper_rho or '-':>6}" if i == 0 else " " * 30
            hits = [s for w, s in (("p_star", "p*"), ("rho", "rho")) if any(_named(m, c) for m in e.matches(w))]
            figures = f"{float(c.p_star):>9.4f}{float(c.rho):>9.4f}"
            lines.append(f"{head}   {c.name:<18}{figures}  {', '.join(hits)}".rstrip())
    lines.append("-" * 80)
    for e in entries:
        for which, symbol in (("p_star", "p*"), ("rho", "rho")):
            if e.paper_rho:
                lines += textwrap.wrap(_verdict(e, which, symbol), 80, subsequent_indent="  ")
    lines += ["", *textwrap.wrap(_ABOUT, 80)]
    return "\n".join(lines)


def _named(match: str, c: Convention) -> bool:
    return match.removesuffix(", truncated") == c.name


def _verdict(e: Entry, which: str, symbol: str) -> str:
    found, head = e.matches(which), f"{e.name} {symbol} = {getattr(e, f'paper_{which}')}: "
    if found:
        return head + "; ".join(found)
    if which == "p_star" and e.subsets is not None:
        tried, near, cut = e.subsets
        return (
            f"{head}NOT REPRODUCIBLE: of all {tried:,} sets of sometimes-missing columns {near} give it when rounded, "
            f"{cut} when truncated"
        )
    return head + "NOT REPRODUCIBLE under these conventions"


_ABOUT = (
    "p*: rows that show something in these columns; rho: largest observed share of a row. 'sometimes missing' leaves "
    "out the columns that no row misses, 'no ids, no labels' leaves out id and Class. MovieLens20M from published "
    "counts, its file is not read; ml-latest-small is read in its place. No single convention gives every figure that "
    "can be matched. All are shares of one table, never guarantees."
)
