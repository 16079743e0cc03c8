"""A missingness process: how the holes of a row come about, and the law of the reach that follows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from absentia.errors import InputError
from absentia.exact import list_of, root_up, shown
from absentia.law.blocks import Blocks
from absentia.law.forms import Forms
from absentia.law.provenance import KINDS, Kind
from absentia.law.reachlaw import ReachLaw
from absentia.missing.atoms import Atoms, thinned
from absentia.missing.domain import Domain, Records, domain_of, joined, stored_domain
from absentia.missing.text import flag_of, names_of, subset_of, written
from absentia.query.reach import Reach, Term

if TYPE_CHECKING:
    from absentia.missing.patterns import Patterns

__all__ = ["Observed", "Process", "from_dict", "part_of", "provenance", "said_in", "spelled", "stored"]

Observed = NDArray[np.bool_]
_STORED: dict[str, tuple[Callable[[Mapping[str, Any]], Process], tuple[str, ...]]] = {}
_ALWAYS = ("process", "columns", "domain", "because", "by", "kind", "data_dependent")


@dataclass(frozen=True, kw_only=True)
class Process(ABC):
    """A row-by-row missingness process over `columns`: each row draws its own mask from public parameters.

    `because` says why it is believed, `by` who claims it, `kind` how it is known; `data_dependent` says that masks may
    depend on values (MAR, MNAR), in which case a known mask may itself reveal values and T5 is not available.
    """

    name: ClassVar[str]
    parameters: ClassVar[tuple[str, ...]]  # what `fields` may hold
    columns: tuple[str, ...]
    because: str = ""
    by: str = ""
    kind: Kind = "declared"
    data_dependent: bool = False

    def __post_init__(self) -> None:
        self.check_words()
        names_of(self.columns)
        if self.reads or any(part.data_dependent for part in self.inside):  # whatever a stored document says
            object.__setattr__(self, "data_dependent", True)

    def check_words(self) -> None:
        """Nothing, or an InputError: who says so and why are words, what is said is one of the kinds."""
        for key, value in (("because", self.because), ("by", self.by)):
            if not isinstance(value, str):
                raise InputError(key, value, "words")
        if self.kind not in KINDS:
            raise InputError("kind", self.kind, f"one of {', '.join(KINDS)}")
        if not isinstance(self.data_dependent, bool):
            raise InputError("data_dependent", self.data_dependent, "True or False")

    # -- what a process must say --------------------------------------------------------------------------------

    @abstractmethod
    def powers(self, reach: Reach) -> Atoms:
        """The exact masses of a law that dominates r(O)^norm for every record."""

    @abstractmethod
    def restricted(self, columns: object) -> Process:
        """The same process seen on fewer columns."""

    @abstractmethod
    def draw(self, rows: int, rng: np.random.Generator, records: Records) -> Observed:
        """rows x columns, true where observed; rows independent."""

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """The parameters that `to_dict` stores beside columns and provenance."""

    @property
    def reads(self) -> frozenset[str]:
        """The columns whose values the process looks at."""
        return frozenset()

    @property
    def inside(self) -> tuple[Process, ...]:
        """The processes that this one is made of."""
        return ()

    @property
    def spans(self) -> Domain:
        """What the process, or its parts together, state about the columns that they read."""
        return joined((part.spans, part.reads) for part in self.inside)

    @property
    def confidence(self) -> str:
        """The confidence with which the law holds, empty when it is not certified; parts' errors add up."""
        errors = [1 - Fraction(part.confidence) for part in self.inside if part.confidence]
        return written(max(Fraction(0), 1 - sum(errors, Fraction(0)))) if errors else ""

    # -- what follows -------------------------------------------------------------------------------------------

    def law(self, reach: Reach) -> ReachLaw:
        """The law of the reach of a row, or one that dominates it for every record (THEORY section 3).

        Exact for listed patterns, forms, symmetric designs and independent columns in small or symmetric components;
        otherwise reaches and probabilities are rounded towards the dominating law.
        """
        self.covers(reach)
        atoms = thinned(self.powers(reach))
        levels = [root_up(level, reach.norm) for level in atoms]
        return ReachLaw(
            levels,
            list(atoms.values()),
            max(reach.full, *levels),
            self.data_dependent,
            self.because,
            self.by,
            self.kind,
        )

    def joint(self, reach: Reach) -> ReachLaw | Blocks | Forms:
        """The sharpest structure that is sound for this process and reach: blocks (T9), forms (T10) or the law."""
        return self.law(reach)

    def listed(self) -> Patterns | None:
        """The same process as one list of patterns; None when it is not one of a few."""
        return None

    def marked(self, law: ReachLaw) -> ReachLaw:
        """The law of a part of the row, with what this process says of itself."""
        depends = law.data_dependent or self.data_dependent
        mass = [q for _, q in law.atoms]
        return ReachLaw(law.reach, mass, law.full_reach, depends, self.because, self.by, self.kind)

    def covers(self, reach: Reach) -> None:
        """Refuses a reach that uses columns about which the process says nothing."""
        subset_of(self.columns, sorted(reach.columns), "reach.columns")

    def observed_count(self, columns: Iterable[str] | None = None) -> ReachLaw:
        """The law of the number of observed columns among these (default: all of the process)."""
        chosen = self.columns if columns is None else list_of(columns, "columns", "a list of column names")
        return self.law(Reach(1, tuple(Term(frozenset({column}), 1.0) for column in chosen)))

    def mask(self, frame: Any, seed: int) -> Any:
        """The frame (Polars or pandas) with entries made missing: simulation only, reproducible by seed.

        Rows are drawn independently from the fixed public parameters; nothing is calibrated on the frame.
        """
        from absentia.missing.ampute import masked

        return masked(self, frame, seed)

    def believed(self, because: str = "", by: str = "") -> Self:
        """The same process with who claims it and why."""
        return replace(self, because=because, by=by)

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary (TOML-friendly, numbers as exact text) from which `from_dict` rebuilds the process."""
        said = {"because": self.because, "by": self.by}
        return {
            "process": self.name,
            "columns": list(self.columns),
            **self.fields(),
            **{key: value for key, value in said.items() if value},
            "kind": self.kind,
            "data_dependent": self.data_dependent,
        }

    def describe(self, columns: Iterable[str] | None = None) -> str:
        """p*, the most observed columns and the law of their number, as text."""
        chosen = self.columns if columns is None else tuple(columns)
        law = self.observed_count(chosen)
        said = "; ".join(f"{key}: {value}" for key, value in (("because", self.because), ("by", self.by)) if value)
        values = "masks may depend on values" if self.data_dependent else "masks do not depend on values"
        lines = [
            f"{self.name}, {self.kind}, {values}" + (f" ({said})" if said else ""),
            f"columns in scope: {len(chosen)}",
            f"p* = P(row shows something) = {shown(law.p_exact)}",
            f"k = most columns that a row shows = {law.max:.0f}",
            f"mean number of columns shown = {shown(law.mean)}",
            "shown   probability   or more",
        ]
        tail = Fraction(0)
        rows = []
        for level, mass in reversed(law.atoms):
            tail += mass
            rows.append(f"{level:5.0f}   {shown(mass):>11}   {shown(tail):>7}")
        return "\n".join(lines + rows[::-1])


P = TypeVar("P", bound=type[Process])


def stored(cls: P) -> P:
    """Class decorator: `from_dict` knows this process."""
    _STORED[cls.name] = (cls.parse, cls.parameters)  # type: ignore[attr-defined]
    return cls


def spelled(
    name: str, *parameters: str
) -> Callable[[Callable[[Mapping[str, Any]], Process]], Callable[[Mapping[str, Any]], Process]]:
    """Function decorator: another spelling that `from_dict` reads."""

    def keep(parse: Callable[[Mapping[str, Any]], Process]) -> Callable[[Mapping[str, Any]], Process]:
        _STORED[name] = (parse, parameters)
        return parse

    return keep


def provenance(data: Mapping[str, Any]) -> dict[str, Any]:
    """The stored words about a process, as keyword arguments."""
    words = {key: data.get(key, "") for key in ("because", "by")}
    return {**words, "kind": data.get("kind", "declared"), "data_dependent": flag_of(data, "data_dependent")}


def said_in(data: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the stored words that are there, for constructors that say the others themselves."""
    return {key: value for key, value in provenance(data).items() if key in data}


def from_dict(data: Mapping[str, Any], schema: object = None) -> Process:
    """The process that `to_dict`, or [missingness] in a plan, describes; columns and bounds default to `schema`.

    >>> from_dict({"process": "planned", "asked": [["x"], ["y"]]}, schema=["age", "x", "y"]).observed_count().reach
    (2.0,)
    """
    name = data.get("process") if isinstance(data, Mapping) else None
    if not isinstance(name, str) or name not in _STORED:
        raise InputError("missing.process", name, f"one of {', '.join(sorted(_STORED))}")
    parse, parameters = _STORED[name]
    for key in data:
        if key not in (*_ALWAYS, *parameters):
            raise InputError(f"missing.{key}", data[key], f"a field of {name}: {', '.join(parameters + _ALWAYS)}")
    if schema is not None:
        data = _within({"columns": list(names_of(schema)), "domain": stored_domain(domain_of(schema, None))}, data)
    return parse(data)


def _within(around: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """What is stored, with columns, and what is known about them, from around it where it says nothing."""
    said = {key: around[key] for key in ("columns", "domain") if key in around}
    columns, domain = data.get("columns"), said.get("domain")
    if isinstance(columns, (list, tuple)) and isinstance(domain, Mapping):
        said["domain"] = {name: span for name, span in domain.items() if name in columns}
    return {**said, **data}


def part_of(data: Mapping[str, Any], part: object, field: str) -> Process:
    """The process stored inside another (or given as such); columns and domain default to those of the one around."""
    if isinstance(part, Process):
        return part
    if not isinstance(part, Mapping):
        raise InputError(f"missing.{field}", part, 'a table with process = "planned", ...')
    try:
        return from_dict(_within(data, part))
    except InputError as e:
        inside = e.field.removeprefix("missing.")
        raise InputError(f"missing.{field}.{inside}", e.given, e.allowed, e.code, e.remedy) from None
