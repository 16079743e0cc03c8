"""The law of the reach: the one thing that every theorem needs to know about missing entries (THEORY section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from absentia.errors import InputError
from absentia.exact import integer, list_of, number, probability, round_up
from absentia.law.atoms import constants_of, merged_atoms, normalised, reach_of, stacked, tail_at, tails_of
from absentia.law.convolution import independent_atoms
from absentia.law.provenance import KINDS, claims
from absentia.theory.noise import Norm
from absentia.theory.paper_fwl import entries_observed

__all__ = ["ReachLaw"]


@dataclass(frozen=True)
class ReachLaw:
    """The dominating law of the reach: atoms in increasing reach, masses that sum to one.

    Masses above the first atom are rounded up to doubles; the first atom holds exactly what the others leave,
    so the stored law dominates the one that was given.

    >>> ReachLaw(reach=[0, 0.5], mass=["0.25", "0.75"]).p_star
    0.75
    """

    reach: tuple[float, ...]
    mass: tuple[float, ...]
    full_reach: float
    data_dependent: bool
    because: str
    by: str
    kind: str

    def __init__(
        self,
        reach: Iterable[object],
        mass: Iterable[object],
        full_reach: object = None,
        data_dependent: bool = False,
        because: str = "",
        by: str = "",
        kind: str = "declared",
    ) -> None:
        levels = list_of(reach, "reach", "a list of numbers >= 0")
        merged = merged_atoms(levels, list_of(mass, "mass", "a list of probabilities, one for each reach"))
        top = max(merged)  # a reach of mass 0 says what a complete row could do
        atoms = normalised({x: q for x, q in merged.items() if q > 0})
        full = top if full_reach is None else reach_of(full_reach, "full_reach")
        if full < top:
            raise InputError("full_reach", full_reach, f"at least the largest reach stated, {top}")
        if kind not in KINDS:
            raise InputError("kind", kind, f"one of {', '.join(KINDS)}")
        for name, value in (
            ("reach", tuple(x for x, _ in atoms)),
            ("mass", tuple(q for _, q in atoms)),
            ("full_reach", full),
            ("data_dependent", bool(data_dependent)),
            ("because", str(because)),
            ("by", str(by)),
            ("kind", kind),
        ):
            object.__setattr__(self, name, value)

    # -- what the theorems read -------------------------------------------------------------------------------

    @cached_property
    def atoms(self) -> tuple[tuple[float, Fraction], ...]:
        """(reach, exact mass); the masses sum to exactly 1."""
        rest = [(x, Fraction(q)) for x, q in zip(self.reach[1:], self.mass[1:], strict=True)]
        return ((self.reach[0], 1 - sum((q for _, q in rest), Fraction(0))), *rest)

    @cached_property
    def p_exact(self) -> Fraction:
        """P(R > 0), exactly."""
        return 1 - self.atoms[0][1] if self.reach[0] == 0 else Fraction(1)

    @property
    def p_star(self) -> float:
        """P(a row moves the query at all), rounded up."""
        return round_up(self.p_exact)

    @property
    def mean(self) -> float:
        """E[R], rounded up."""
        return round_up(sum((Fraction(x) * q for x, q in self.atoms), Fraction(0)))

    @property
    def max(self) -> float:
        return self.reach[-1]

    def survival(self, x: object) -> float:
        """P(R >= x), rounded up."""
        at = number(x, "x")
        return min(1.0, round_up(sum((q for r, q in self.atoms if r >= at), Fraction(0))))

    def dominated_by(self, other: ReachLaw) -> bool:
        """Whether `other` is stochastically at least this law: every survival probability is at least as large."""
        if not isinstance(other, ReachLaw):
            raise InputError("other", other, "a ReachLaw")
        theirs = tails_of(other.atoms)
        return all(tail <= tail_at(theirs, x) for x, tail in tails_of(self.atoms))

    # -- new laws from old, never lower -----------------------------------------------------------------------

    def scaled(self, factor: object) -> ReachLaw:
        """The law of factor * R, reaches rounded up."""
        c = number(factor, "factor")
        if c < 0:
            raise InputError("factor", factor, "a number >= 0")
        grown = [round_up(Fraction(x) * c) for x in self.reach]
        return self._like(grown, [q for _, q in self.atoms], round_up(Fraction(self.full_reach) * c))

    def coarsened(self, atoms: int) -> ReachLaw:
        """A law with at most that many atoms that dominates this one: reaches move up to the next kept atom."""
        integer(atoms, "atoms", 1)
        keep = len(self.reach) - 1 - np.unique(np.linspace(0, len(self.reach) - 1, atoms, dtype=int))
        kept = sorted({len(self.reach) - 1, *keep.tolist()})[-atoms:]
        targets = np.searchsorted(kept, np.arange(len(self.reach)))
        return self._like([self.reach[kept[t]] for t in targets], [q for _, q in self.atoms], self.full_reach)

    def claimed(self, because: str, by: str, kind: str | None = None) -> ReachLaw:
        """The same law with who claims it and why."""
        return ReachLaw(
            self.reach, [q for _, q in self.atoms], self.full_reach, self.data_dependent, because, by, kind or self.kind
        )

    def _like(self, reach: Sequence[object], mass: Sequence[object], full: float) -> ReachLaw:
        return ReachLaw(reach, mass, full, self.data_dependent, self.because, self.by, self.kind)

    # -- constructors -----------------------------------------------------------------------------------------

    @staticmethod
    def point(reach: object) -> ReachLaw:
        """A row that always moves the query by `reach`: nothing is ever missing."""
        return ReachLaw([reach], [1])

    @staticmethod
    def envelope(laws: Sequence[ReachLaw]) -> ReachLaw:
        """The smallest law that dominates all of them: the upper envelope of their survival functions.

        The envelope of laws that differ between records says that masks depend on the data; of who says so and why it
        says what all of them say.
        """
        laws = list_of(laws, "laws", "a list of laws")
        if not laws or not all(isinstance(law, ReachLaw) for law in laws):
            raise InputError("laws", laws, "at least one law, each a ReachLaw")
        levels = sorted({x for law in laws for x in law.reach})
        all_tails = [tails_of(law.atoms) for law in laws]
        tails = [max(tail_at(t, x) for t in all_tails) for x in levels] + [Fraction(0)]
        mass = [tails[k] - tails[k + 1] for k in range(len(levels))]
        return ReachLaw(
            levels,
            mass,
            max(law.full_reach for law in laws),
            any(law.data_dependent for law in laws) or any(law.atoms != laws[0].atoms for law in laws),
            **claims(laws),
        )

    @staticmethod
    def from_patterns(
        reaches: Sequence[object], masses: Sequence[object], full_reach: object = None, data_dependent: bool = False
    ) -> ReachLaw:
        """The law over a table of patterns: the reach of each and its probability."""
        return ReachLaw(reaches, masses, full_reach, data_dependent)

    @staticmethod
    def combined(
        tables: Sequence[Sequence[object]],
        masses: Sequence[object],
        norm: Norm,
        full: Sequence[object] | None = None,
        data_dependent: bool = False,
    ) -> ReachLaw:
        """The joint reach of several queries over one pattern table (T7): l1 adds, l2 adds squares."""
        allowed = "a list with one reach for each pattern"
        masses = list_of(masses, "masses", "one probability for each pattern")
        listed = [list_of(t, f"tables[{i}]", allowed) for i, t in enumerate(list_of(tables, "tables", allowed))]
        for i, table in enumerate(listed):
            if len(table) != len(masses):
                raise InputError(f"tables[{i}]", len(table), f"one reach for each of the {len(masses)} patterns")
        reaches = [stacked(column, norm) for column in zip(*listed, strict=True)]
        complete = None if full is None else stacked(list_of(full, "full", "one reach for each query"), norm)
        return ReachLaw(reaches, masses, complete, data_dependent)

    @staticmethod
    def independent(
        weights: Sequence[object],
        seen: Sequence[object],
        norm: Norm = 1,
        grid: int = 4096,
        data_dependent: bool = False,
    ) -> ReachLaw:
        """Feature j moves the query by weights[j] when seen, with probability seen[j], independently.

        Exact for few features; otherwise a weighted Poisson-binomial convolution on a grid of that many steps,
        reaches and probabilities rounded towards the dominating law.
        """
        w = [reach_of(x, f"weights[{j}]") for j, x in enumerate(list_of(weights, "weights", "a list of numbers >= 0"))]
        p = [probability(x, f"seen[{j}]") for j, x in enumerate(list_of(seen, "seen", "a list of probabilities"))]
        if len(w) != len(p):
            raise InputError("seen", len(p), f"one probability for each of the {len(w)} weights")
        integer(grid, "grid", 1)
        full = stacked(w, norm)
        reach, mass = independent_atoms(w, p, norm, grid)
        return ReachLaw([min(x, full) for x in reach], mass, full, data_dependent)  # the grid rounds up, also beyond it

    @staticmethod
    def from_paper(
        p_star: object,
        constants: Sequence[object],
        k: int | None = None,
        rho: object = None,
        eta: object = None,
        norm: Norm = 1,
        data_dependent: bool = False,
    ) -> ReachLaw:
        """The paper's (p*, k or rho, eta): two atoms, or three when a share eta may show more than k features."""
        p = probability(p_star, "p_star")
        weights = constants_of(constants)
        if not weights:
            raise InputError("constants", constants, "at least one constant")
        if (k is None) == (rho is None):
            raise InputError("k", k, "exactly one of k (largest number of observed features) and rho")
        observed = entries_observed(rho, len(weights)) if k is None else integer(k, "k", 0, len(weights))
        few, full = stacked(weights[:observed], norm), stacked(weights, norm)
        if eta is None:
            return ReachLaw([0, few], [1 - p, p], full, data_dependent)
        e = probability(eta, "eta")
        if e > p:
            raise InputError("eta", eta, f"at most p_star = {p_star}")
        return ReachLaw([0, few, full], [1 - p, p - e, e], full, data_dependent)

    @staticmethod
    def from_counts(
        counts: Sequence[object], constants: Sequence[object], norm: Norm = 1, data_dependent: bool = False
    ) -> ReachLaw:
        """counts[c] = probability that c features are observed; the largest constants are taken for each c."""
        weights, counts = constants_of(constants), list_of(counts, "counts", "a list of probabilities")
        if len(counts) > len(weights) + 1:
            raise InputError(
                "counts", len(counts), f"at most {len(weights) + 1} entries, for 0..{len(weights)} observed"
            )
        reaches = [stacked(weights[:c], norm) for c in range(len(counts))]
        return ReachLaw(reaches, counts, stacked(weights, norm), data_dependent)

    def to_dict(self) -> dict[str, object]:
        return {
            "reach": list(self.reach),
            "mass": [str(q) for _, q in self.atoms],
            "full_reach": self.full_reach,
            "data_dependent": self.data_dependent,
            "because": self.because,
            "by": self.by,
            "kind": self.kind,
        }

    @staticmethod
    def from_dict(d: dict[str, object]) -> ReachLaw:
        """The law that `to_dict` (or a law file) describes."""
        fields = ("reach", "mass", "full_reach", "data_dependent", "because", "by", "kind")
        if not isinstance(d, Mapping):
            raise InputError("law", d, f"a table with the fields {', '.join(fields)}")
        unknown = sorted(set(d) - set(fields))
        if unknown:
            raise InputError(f"law.{unknown[0]}", d[unknown[0]], f"only the fields {', '.join(fields)}")
        for name in ("reach", "mass"):
            if not isinstance(d.get(name), list):
                raise InputError(f"law.{name}", d.get(name), "a list of numbers")
        if not isinstance(d.get("data_dependent", False), bool):
            raise InputError("law.data_dependent", d["data_dependent"], "true or false")
        return ReachLaw(**d)  # type: ignore[arg-type]
