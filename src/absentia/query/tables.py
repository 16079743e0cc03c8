"""Tables of counts: histograms of one column, marginals of several, on public categories or public bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from absentia.errors import InputError
from absentia.exact import number
from absentia.query.base import Columns, Expectation, Noisy, Query, Seen, columns_of, options
from absentia.query.columns import counted, flat, one
from absentia.query.estimate import Reading, Row, cell_names
from absentia.query.statistic import Bins, Statistic

__all__ = ["bins_of", "histogram", "marginal"]


@dataclass(frozen=True, kw_only=True)
class Marginal(Query):
    """The number of rows in every combination of public categories (or bins) of these columns."""

    kind: ClassVar[str] = "marginal"
    cells: tuple[str | Bins, ...]

    @property
    def subject(self) -> str:
        return ", ".join(c.column if isinstance(c, Bins) else c for c in self.cells)

    @property
    def own_columns(self) -> frozenset[str]:
        return frozenset(c.column if isinstance(c, Bins) else c for c in self.cells)

    def validate(self, schema: Columns) -> None:
        """A number needs bins, a category takes none."""
        for c in self.cells:
            name, edges = (c.column, list(c.edges)) if isinstance(c, Bins) else (c, None)
            if name in schema.columns and (schema.columns[name].kind == "number") != (edges is not None):
                number = f"edges for {name}, which is a number: such as [0, 10, 20]"
                raise InputError(
                    "bins", edges, f"nothing for {name}, which is no number" if edges else number, "E-KIND"
                )
        super().validate(schema)

    def parts(self, schema: Columns) -> dict[Statistic, Fraction]:
        return {self.stat(cells=self.cells): Fraction(1)}

    def rows(self, schema: Columns, noisy: Noisy, sd: Mapping[Statistic, float], reading: Reading) -> list[Row]:
        s = self.stat(cells=self.cells)
        names = cell_names(schema, s.cells)
        return [counted(self, schema, cell, x, sd[s], reading) for cell, x in zip(names, flat(noisy[s]), strict=True)]

    def expected(self, schema: Columns, sd: Mapping[Statistic, float], seen: Seen) -> list[Expectation]:
        s = self.stat(cells=self.cells)
        return [Expectation(self.name, "each", "rows", sd[s], sd[s])]

    def arguments(self) -> dict[str, Any]:
        bins = {c.column: list(c.edges) for c in self.cells if isinstance(c, Bins)}
        names = [c.column if isinstance(c, Bins) else c for c in self.cells]
        return {"columns": names, **({"bins": bins} if bins else {})}


@dataclass(frozen=True, kw_only=True)
class Histogram(Marginal):
    """The number of rows in every category, or public bin, of one column."""

    kind: ClassVar[str] = "histogram"

    def arguments(self) -> dict[str, Any]:
        (cell,) = self.cells
        return {"column": cell.column, "bins": list(cell.edges)} if isinstance(cell, Bins) else {"column": cell}


def histogram(
    column: str, bins: Sequence[object] | None = None, *, by: object = (), weight: str | None = None, share: object = 1
) -> Histogram:
    """Counts of every public category of a column, or of every public bin of a number column (`bins`: the edges)."""
    cell = one(column) if bins is None else bins_of(one(column), bins)
    return Histogram(cells=(cell,), **options(by, weight, share))


def marginal(
    columns: Sequence[str],
    bins: Mapping[str, Sequence[object]] | None = None,
    *,
    by: object = (),
    weight: str | None = None,
    share: object = 1,
) -> Marginal:
    """The k-way table of these columns; `bins` gives the edges of number columns."""
    names, edges = columns_of(columns), bins or {}
    if not names:
        raise InputError("columns", columns, "at least one column")
    if not isinstance(edges, Mapping) or set(edges) - set(names):
        raise InputError("bins", edges, "edges for columns of this table")
    cells = tuple(bins_of(n, edges[n]) if n in edges else n for n in names)
    return Marginal(cells=cells, **options(by, weight, share))


def bins_of(column: str, edges: object, field: str = "bins") -> Bins:
    """Public bins from a list of edges (numbers, or decimals as text)."""
    if isinstance(edges, str) or not isinstance(edges, Sequence):
        raise InputError(field, edges, "a list of increasing edges")
    return Bins(column, tuple(float(number(e, f"{field}[{i}]")) for i, e in enumerate(edges)))
