"""A release: aggregates, then the charge, then noise. A crash may waste budget; it never overspends.

The order is the promise: the plan is checked again, the table is read to exact integers, random bits are asked for;
the charge is committed to the disk; only then is noise drawn. Everything after the draw is post-processing.
"""

from __future__ import annotations

import csv
import html
import io
import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from absentia.backends import BACKENDS, Backend, Noisy, backend_of
from absentia.errors import HazardRefused, InputError
from absentia.exact import shown
from absentia.guarantee import Guarantee
from absentia.ledger.chain import Receipt
from absentia.ledger.ledger import Ledger, same_terms, worded
from absentia.noise.bits import require_entropy
from absentia.plain import labelled, shortened
from absentia.planning.plan import Plan
from absentia.query.estimate import Row
from absentia.query.statistic import Statistic
from absentia.table.aggregate import aggregate

if TYPE_CHECKING:
    import polars as pl

    from absentia.card.card import Card

__all__ = ["Release", "release"]

VERSION = 1
ROOM, ROOM_FOR_CELLS = 2**20, 2**10  # a MiB for every thousand cells: what the files of a release may need
FIELDS = ("query", "cell", "estimate", "se_noise", "se_sampling", "low", "high", "note")

_STILL_HERE = "The answers are charged and drawn; do not ask again. Save this release somewhere else."


@dataclass(frozen=True, eq=False)
class Release:
    """Noisy answers with their errors, the guarantee they were drawn under, and the receipt of their charge."""

    plan: Plan
    """With the noise that was drawn"""
    rows: tuple[Row, ...]
    noisy: Noisy
    receipt: Receipt
    purpose: str
    book: Mapping[str, Any]
    drawn: Backend
    backend: str = "absentia"

    @property
    def guarantee(self) -> Guarantee:
        """What these answers promise: the plan's own guarantee, or that of the backend's noise."""
        return self.drawn.guarantee

    def to_dict(self) -> dict[str, Any]:
        """Everything that a card shows, JSON-ready; nothing in it is private."""
        plan, delta = self.plan, self.plan.budget.delta
        return {
            "schema_version": VERSION,
            "software": f"absentia {version('absentia')}",
            "time": self.receipt.time,
            "purpose": self.purpose,
            "plan": plan.to_dict(),
            "plan_identity": plan.identity,
            "guarantee": self.guarantee.to_dict(delta),
            "noise": self._noise(),
            "own_queries": [{"query": name, "noise_scale": s} for name, s in plan.own_scales.items()],
            "rows": [row.to_dict() for row in self.rows],
            "ledger": dict(self.book),
            "receipt": self.receipt.to_dict(),
        }

    def _noise(self) -> dict[str, Any]:
        """The noise drawn, and the noisy sums themselves in units of z: what every row was computed from."""
        statistics = [
            {"name": name_of(s), "scale": scale, "grid": self.drawn.grid(s), "values": self.noisy[s].ravel().tolist()}
            for s, scale in self.plan.scales.items()
        ]
        return {
            "family": self.plan.noise_family,
            "backend": self.backend,
            "times_planned": self.drawn.ratio,
            "statistics": statistics,
        }

    def to_polars(self) -> pl.DataFrame:
        """The answers, one row a number."""
        import polars as pl

        texts = ("query", "cell", "note")
        schema = {name: pl.String() if name in texts else pl.Float64() for name in FIELDS}
        return pl.DataFrame([row.to_dict() for row in self.rows], schema=schema)

    def to_csv(self) -> str:
        """The answers as CSV text; an empty field where no finite number can be given."""
        out = io.StringIO()
        writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row.to_dict() for row in self.rows)
        return out.getvalue()

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), sort_keys=True, indent=2, allow_nan=False, ensure_ascii=False) + "\n"

    def card(self) -> Card:
        """The page about this release: for people, for programs, for registries."""
        from absentia.card.card import Card

        return Card.of(self)

    def save(self, directory: str | os.PathLike[str]) -> list[Path]:
        """release.json, release.csv and the card, each complete or absent; the paths written."""
        target = Path(directory)
        texts = {"release.json": self.to_json(), "release.csv": self.to_csv()}
        try:
            target.mkdir(parents=True, exist_ok=True)
            if self._another_in(target):
                raise InputError("out", str(target), "a directory without another release", "E-EXISTS", _STILL_HERE)
            for name, text in texts.items():  # the answers first: a card can be made again, they cannot
                _written(target, name, partial(Path.write_text, data=text, encoding="utf-8"))
            card = self.card()
            pages = [_written(target, f"card.{end}", card.save) for end in ("html", "json", "yaml")]
            return [*(target / name for name in texts), *pages]
        except OSError as e:
            allowed = f"a directory that can be written ({e.strerror})"
            raise InputError("out", str(target), allowed, "E-WRITE", _STILL_HERE) from None

    def _another_in(self, directory: Path) -> bool:
        """Whether the directory holds a release with another receipt: paid answers are not written over."""
        try:
            found = json.loads((directory / "release.json").read_text(encoding="utf-8"))
            return bool(found["receipt"] != self.receipt.to_dict())
        except FileNotFoundError:
            return False
        except (ValueError, KeyError, TypeError):
            return True

    def __str__(self) -> str:
        """The answers, query by query, and the three figures: 80 columns."""
        lines = [f"{'':<41}{'estimate':>13}{'low':>13}{'high':>13}"]
        for query, found in groupby(self.rows, key=lambda r: r.query):
            rows = list(found)
            if [r.cell for r in rows] == [""]:
                lines.append(_line(query, rows[0]))
            else:
                lines += [shortened(query, 80), *(_line("  " + r.cell, r) for r in rows)]
        if not all(r.known for r in self.rows):
            lines.append("-: the noise hides it; what is known is what the public bounds say")
        delta, book = self.plan.budget.delta, self.book
        if self.backend != "absentia":
            lines += ["", f"noise drawn by {self.backend}: {shown(self.drawn.ratio, 4)} times what the plan needs"]
        lines += ["", f"epsilon at delta {float(delta):g} ({self.plan.relation}), of this release:"]
        lines += [f"  {name:<26}{shown(g.epsilon(delta)):>12}" for name, g in self.guarantee.with_companions]
        binding, limit = book["binding"], book["budget"]["epsilon"]
        said = f"{shown(book['spent'][binding])} of {limit} spent ({binding.replace('_', ' ')})"
        return "\n".join([*lines, f"ledger: {said}; receipt {self.receipt.head[:16]}"])

    def __repr__(self) -> str:
        return f"Release({self.purpose!r}: {len(self.rows)} numbers of {self.plan!r}, receipt {self.receipt.head[:16]})"

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>{html.escape(r.query)}</td><td>{html.escape(r.cell)}</td><td>{_shown(r.estimate)}</td>"
            f"<td>{_shown(r.low)} to {_shown(r.high)}</td></tr>"
            for r in self.rows
        )
        head = "<tr><th>query</th><th>cell</th><th>estimate</th><th>interval</th></tr>"
        return f"<p>{html.escape(str(self.plan.budget))}; {html.escape(self.purpose)}</p><table>{head}{cells}</table>"


def _line(label: str, r: Row) -> str:
    return labelled(label, 41, "".join(f"{_shown(x):>13}" for x in (r.estimate, r.low, r.high)))


def _shown(x: float) -> str:
    return f"{x:.6g}" if math.isfinite(x) else "-"


def release(
    plan: Plan,
    source: Any,
    book: Ledger,
    purpose: str,
    *,
    noise_backend: str = "absentia",
    progress: Callable[[str], None] | None = None,
) -> Release:
    """The plan's answers on a table, after their charge is on the disk.

    Refused before anything is charged: a plan that no longer keeps its budget, a table without the plan's columns or
    with another number of rows than is public, no random bits. With `noise_backend="opendp"` OpenDP draws, certified by
    its own map: more noise, charged as a black box.
    """
    say = progress or (lambda _: None)
    if noise_backend not in tuple(BACKENDS):
        raise InputError("noise_backend", noise_backend, " or ".join(BACKENDS))
    worded(purpose)
    if not isinstance(book, Ledger):
        raise InputError("book", book, "an open ledger: Ledger.open(path)")
    plan.check()
    same_terms(book.account, plan)
    how = backend_of(plan, noise_backend)
    say("reading the table")
    sums = aggregate(source, plan.schema, plan.statistics)
    check_rows(plan, sums.rows)
    require_entropy()
    say("charging the ledger")
    receipt = book.pay(how.cost(), purpose, how.plan)
    say("drawing noise")
    noisy = how.draw(sums)
    rows = tuple(how.plan.answers(noisy))
    return Release(how.plan, rows, noisy, receipt, purpose, book.statement(), how, noise_backend)


def check_rows(plan: Plan, rows: int) -> None:
    """Refuses a table whose number of rows is not the public one (substitution: neighbours have equally many)."""
    counted = plan.relation == "substitute" and plan.n is not None and plan.schema.rows_are_public
    if plan.statistics and counted and rows != plan.n:
        remedy = "Correct n in the schema, or leave it out."
        raise InputError("n", plan.n, "the number of rows of the table", "E-ROWS", remedy)


def name_of(s: Statistic) -> str:
    """A statistic as text: sum over rows of powers, within cells, weighted."""
    powers = " ".join(f"{c}^{e}" for c, e in s.powers) or "1"
    cells = " by " + ", ".join(c if isinstance(c, str) else f"{c.column} in bins" for c in s.cells) if s.cells else ""
    return powers + cells + (f" weighted by {s.weight}" if s.weight else "")


# -- files ------------------------------------------------------------------------------------------------------------


def prepared(directory: str | os.PathLike[str], plan: Plan) -> Path:
    """The directory, which can be written and has room; asked before the charge, and made when there are answers."""
    target = Path(directory)
    cells = sum(math.prod(s.shape(plan.schema)) for s in plan.statistics)
    try:
        standing = next(p for p in (target, *target.absolute().parents) if p.exists())
        with tempfile.TemporaryFile(dir=standing) as probe:  # a refusal must not leave an empty directory behind
            for _ in range(1 - (-cells // ROOM_FOR_CELLS)):
                probe.write(bytes(ROOM))
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as e:
        raise HazardRefused(
            "H-OUTPUT",
            f"{target} cannot be written ({e.strerror}).",
            "Answers that cannot be written would waste their budget.",
            "Name a directory that can be written and has room; nothing was charged.",
        ) from None
    return target


def _written(directory: Path, name: str, write: Callable[[Path], Any]) -> Path:
    """The file, put in its place at once when it is complete; nothing half-written, whatever interrupts."""
    draft = Path(tempfile.mkdtemp(prefix=".absentia-", dir=directory))
    try:
        write(draft / name)
        with open(draft / name, "rb") as file:
            os.fsync(file.fileno())
        os.replace(draft / name, directory / name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return directory / name
