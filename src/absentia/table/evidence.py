"""What a table says about how its entries went missing: tests that can speak against an assumption, never for one."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

from threadpoolctl import threadpool_limits

from absentia.planning.schema import Schema
from absentia.table.dependence import (
    ClusterTest,
    NeighbourTest,
    StretchTest,
    clusters,
    likeness,
    neighbours,
    stretches,
)
from absentia.table.little import LittleTest, frequent, little
from absentia.table.profile_text import STAMP
from absentia.table.rowscan import row_scan

__all__ = ["Evidence", "evidence"]

LITTLE = (
    "A small p speaks against MCAR: the means of what is seen differ between patterns. A large p speaks for nothing: "
    "only means are compared, and masks that depend on what they hide leave no trace in what is seen. No test "
    "separates MAR from MNAR."
)
ORDER = (
    "A small p says that the masks of different rows go together: people influence each other, share a cause, or the "
    "file is sorted by something that masks depend on; the test cannot tell which. A large p does not show that rows "
    "are independent. The guarantee needs that no person's record moves another person's mask."
)
NEVER = "No guarantee rests on these tests. They read the raw table: their results are private and no noise is added."
SHOWN = 8


@dataclass(frozen=True)
class Evidence:
    """Little's test and the tests of dependence between rows; a text in place of a test says why there is none.

    `little_frequent`: the same test on the patterns with at least 5 rows, where most patterns have fewer.
    """

    rows: int
    columns: tuple[str, ...]
    little: LittleTest | str
    little_frequent: LittleTest | str | None
    neighbours: NeighbourTest | str
    stretches: tuple[StretchTest, ...]
    clusters: ClusterTest | str | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, stable keys; `not_tested` in place of a test says why."""

        def shown(test: LittleTest | NeighbourTest | ClusterTest | str | None) -> dict[str, Any] | None:
            return {"not_tested": test} if isinstance(test, str) else test.to_dict() if test else None

        return {
            "stamp": STAMP,
            "rows": self.rows,
            "columns_in_scope": list(self.columns),
            "little": shown(self.little),
            "little_frequent": shown(self.little_frequent),
            "neighbours": shown(self.neighbours),
            "stretches": [t.to_dict() for t in self.stretches],
            "clusters": shown(self.clusters),
            "can_show": {"little": LITTLE, "dependence": ORDER, "all": NEVER},
        }

    def __str__(self) -> str:
        parts = [_little(self.little, self.little_frequent), _order(self)]
        return "\n\n".join(["\n".join(part) for part in parts] + ["\n".join(textwrap.wrap(NEVER, 80)), STAMP])


def evidence(table: Any, schema: Schema, cluster: str | None = None) -> Evidence:
    """The evidence in a wide table, from one pass over its rows in stored order. Private; never a guarantee.

    `cluster` names any column of the table (an interviewer, a site); default: the schema's unit.
    """
    with threadpool_limits(1, "blas"):  # many small products: threads would only wait for each other
        return _evidence(table, schema, cluster or schema.unit)


def _evidence(table: Any, schema: Schema, cluster: str | None) -> Evidence:
    scan = row_scan(table, schema, cluster)
    alike = likeness(scan)
    grouped: ClusterTest | str | None = None
    if cluster is not None and scan.clusters is not None:
        grouped = alike if isinstance(alike, str) else clusters(scan.clusters, cluster, alike)
    names = scan.coordinates.names
    whole = little(scan.patterns, names)
    rough = isinstance(whole, LittleTest) and whole.rough
    return Evidence(
        scan.order.rows,
        scan.columns,
        whole,
        little(frequent(scan.patterns), names) if rough else None,
        alike if isinstance(alike, str) else neighbours(scan.order, alike),
        tuple(stretches(scan.order, scan.columns)),
        grouped,
    )


def _p(value: float) -> str:
    return "p < 0.0001" if value < 1e-4 else f"p = {value:.4f}"


def _little(test: LittleTest | str, restricted: LittleTest | str | None) -> list[str]:
    lines = ["Little's test of MCAR"]
    if isinstance(test, str):
        return [*lines, *_wrapped(f"not tested: {test}"), *_wrapped(LITTLE)]
    lines += _wrapped(
        f"{_p(test.p_value)}; chi-square {test.statistic:,.2f} on {test.df:,} degrees of freedom; {test.rows:,} rows, "
        f"{test.patterns:,} patterns, {len(test.coordinates)} coordinates (a category has one a value but the first)"
    )
    for name, reason in list(test.left_out.items())[:SHOWN]:
        lines += _wrapped(f"left out: {name}, {reason}")
    if len(test.left_out) > SHOWN:
        lines += _wrapped(f"left out: {len(test.left_out) - SHOWN} more coordinates")
    for note in test.notes:
        lines += _wrapped(f"note: {note}")
    if isinstance(restricted, LittleTest):
        lines += _wrapped(
            f"only patterns with at least 5 rows: {_p(restricted.p_value)}; chi-square {restricted.statistic:,.2f} on "
            f"{restricted.df:,}; {restricted.rows:,} rows, {restricted.patterns:,} patterns"
        )
    elif restricted is not None:
        lines += _wrapped(f"only patterns with at least 5 rows: not tested: {restricted}")
    return lines + _wrapped(LITTLE)


def _order(e: Evidence) -> list[str]:
    lines = [f"dependence between rows ({e.rows:,} rows in the order of the file)"]
    if isinstance(e.neighbours, str):
        return [*lines, *_wrapped(f"not tested: {e.neighbours}"), *_wrapped(ORDER)]
    how = "more" if e.neighbours.z > 0 else "less"
    lines += _wrapped(
        f"neighbours: {_p(e.neighbours.p_value)}; their masks are {how} alike than in a random order "
        f"(z = {e.neighbours.z:+.2f})"
    )
    if isinstance(e.clusters, str):
        lines += _wrapped(f"clusters: not tested: {e.clusters}")
    elif e.clusters is not None:
        c = e.clusters
        lines += _wrapped(
            f"clusters by {c.column}: {_p(c.p_value)}; {c.clusters:,} clusters explain {max(c.explained, 0):.1%} "
            f"of the masks' spread beyond chance (z = {c.z:+.2f})"
        )
    lines += ["  stretches of missing cells, by column             found    expected   Holm p"]
    for t in e.stretches[:SHOWN]:
        p = "< 0.0001" if t.adjusted < 1e-4 else f"{t.adjusted:.4f}"
        lines.append(f"    {t.column[:40]:<40}{t.stretches:>11,}{t.expected:>12,.1f} {p:>8}")
    if len(e.stretches) > SHOWN:
        lines.append(f"    ... and {len(e.stretches) - SHOWN} columns with a larger p")
    return lines + _wrapped(ORDER)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 80, initial_indent="  ", subsequent_indent="  ")
