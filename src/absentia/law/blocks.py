"""Blocks of columns with independent masks: one reach law a block, or one such list for every latent class."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from absentia.errors import InputError
from absentia.exact import list_of, probability
from absentia.law.atoms import stacked
from absentia.law.blocks_total import Atoms, sum_of_laws
from absentia.law.provenance import claims
from absentia.law.reachlaw import ReachLaw
from absentia.theory.blocks import Block, IndependentBlocks
from absentia.theory.bound import Bound
from absentia.theory.latent import LatentClasses
from absentia.theory.noise import BlackBox, Gaussian, Laplace, Noise, Norm
from absentia.theory.pair import Relation, dominating_pair

__all__ = ["Blocks"]

NoiseOfBlocks = Noise | BlackBox | Sequence[Noise | BlackBox]
"""One noise for all blocks, or one for each."""


@dataclass(frozen=True)
class Blocks:
    """Reach laws of blocks whose masks are independent given the complete record (T9).

    With `classes`, (probability, laws of the blocks) of every latent class, the masks are independent given the class
    as well; the class has a public law. A class without laws shows nothing.

    >>> Blocks([ReachLaw([0, 1], ["0.95", "0.05"])] * 100).full_reach(2)
    10.0
    """

    blocks: tuple[ReachLaw, ...]
    classes: tuple[tuple[Fraction, tuple[ReachLaw, ...]], ...]

    def __init__(
        self, blocks: Iterable[ReachLaw] = (), classes: Iterable[tuple[object, Iterable[ReachLaw]]] | None = None
    ) -> None:
        laws = _laws(blocks, "blocks")
        stacks = [] if classes is None else list_of(classes, "classes", "a list of (probability, laws of the blocks)")
        given = tuple(_class(stack, f"classes[{c}]") for c, stack in enumerate(stacks))
        if bool(laws) == any(each for _, each in given) or (laws and given):
            raise InputError("blocks", len(laws), "at least one law: one for each block, or classes, not both")
        if given and sum(m for m, _ in given) != 1:
            raise InputError("classes", str(sum(m for m, _ in given)), "probabilities that sum to exactly 1")
        if len({len(each) for _, each in given if each}) > 1:
            raise InputError(
                "classes", [len(each) for _, each in given], "as many blocks in every class that shows any"
            )
        object.__setattr__(self, "blocks", laws)
        object.__setattr__(self, "classes", given)

    @property
    def every_law(self) -> tuple[ReachLaw, ...]:
        """The laws of all blocks in all classes."""
        return self.blocks + tuple(law for _, laws in self.classes for law in laws)

    @property
    def data_dependent(self) -> bool:
        """Whether some block's mask may depend on values."""
        return any(law.data_dependent for law in set(self.every_law))

    @property
    def full_reaches(self) -> tuple[float, ...]:
        """Each block's reach in a row with nothing missing, the largest of all classes."""
        return tuple(max(law.full_reach for law in laws) for laws in self._columns)

    @property
    def largest_reaches(self) -> tuple[float, ...]:
        """Each block's largest reach, over all classes."""
        return tuple(max(law.max for law in laws) for laws in self._columns)

    @property
    def _columns(self) -> tuple[tuple[ReachLaw, ...], ...]:
        """Block by block, the laws in every class that shows any."""
        stacks = [laws for laws in (self.blocks, *(laws for _, laws in self.classes)) if laws]
        return tuple(zip(*stacks, strict=True))

    @property
    def shown(self) -> Fraction:
        """P(a row shows something in any block), at most."""
        stacks = self.classes or ((Fraction(1), self.blocks),)
        return 1 - sum((m * math.prod(1 - law.p_exact for law in laws) for m, laws in stacks), Fraction(0))

    def full_reach(self, norm: Norm) -> float:
        """The reach of a row with nothing missing, all blocks stacked; rounded up."""
        return full_reach(self, norm)

    def total(self, norm: Norm) -> ReachLaw:
        """The law of the reach of all blocks together (l1 adds, l2 adds squares), or one that dominates it."""
        return total(self, norm)

    def scaled(self, factor: object) -> Blocks:
        """The blocks with every reach times a factor, rounded up."""
        grown = {law: law.scaled(factor) for law in set(self.every_law)}
        classes = [(m, [grown[law] for law in laws]) for m, laws in self.classes]
        return Blocks([grown[law] for law in self.blocks], classes or None)

    def bounds(self, noise: NoiseOfBlocks, relation: Relation = "substitute") -> tuple[Bound, ...]:
        """T9 for these blocks: one noise for all of them, or one for each."""
        if self.classes:
            return (LatentClasses.of([(m, _with_noise(laws, noise)) for m, laws in self.classes], relation),)
        return (IndependentBlocks.of(_with_noise(self.blocks, noise), relation),)

    def whole(self, noises: Sequence[Noise | BlackBox], relation: Relation = "substitute") -> tuple[Bound, ...]:
        """T2 on the total where each block has its own noise of one family: reaches in units of the scales."""
        kinds = {type(noise) for noise in noises}
        if kinds not in ({Laplace}, {Gaussian}):
            return ()
        scales = [Fraction(noise.size) for noise in noises if isinstance(noise, Noise)]

        def in_scales(laws: Sequence[ReachLaw]) -> list[ReachLaw]:
            return [law.scaled(1 / scale) for law, scale in zip(laws, scales, strict=True)] if laws else []

        units = Blocks(in_scales(self.blocks), [(m, in_scales(laws)) for m, laws in self.classes] or None)
        unit = Laplace(1) if kinds == {Laplace} else Gaussian(1)
        return (dominating_pair(unit, units.total(unit.norm).atoms, relation),)

    def to_dict(self) -> dict[str, object]:
        if self.classes:
            return {
                "classes": [{"mass": str(m), "blocks": [law.to_dict() for law in laws]} for m, laws in self.classes]
            }
        return {"blocks": [law.to_dict() for law in self.blocks]}


def _laws(given: object, field: str) -> tuple[ReachLaw, ...]:
    laws = tuple(list_of(given, field, "a ReachLaw for each block"))
    for law in laws:
        if not isinstance(law, ReachLaw):
            raise InputError(field, law, "a ReachLaw for each block")
    return laws


def _class(given: object, field: str) -> tuple[Fraction, tuple[ReachLaw, ...]]:
    pair = list_of(given, field, "(probability, laws of the blocks)")
    if len(pair) != 2:
        raise InputError(field, pair, "(probability, laws of the blocks)")
    return probability(pair[0], field), _laws(pair[1], field)


@lru_cache(maxsize=64)
def full_reach(blocks: Blocks, norm: Norm) -> float:
    """The number behind `Blocks.full_reach`, kept for the same reason as the total law."""
    stacks = [blocks.blocks, *(laws for _, laws in blocks.classes)]
    return max(stacked([law.full_reach for law in laws], norm) for laws in stacks)


@lru_cache(maxsize=64)
def total(blocks: Blocks, norm: Norm) -> ReachLaw:
    """The law behind `Blocks.total`, kept: a calibration asks for it at every scale it tries."""
    parts = [(m, laws) for m, laws in blocks.classes] or [(Fraction(1), blocks.blocks)]
    atoms: dict[float, Fraction] = {}
    full = blocks.full_reach(norm)
    for share, laws in parts:
        for x, q in sum_of_laws(counted(laws), norm):  # a grid may round up beyond what all blocks reach together
            atoms[min(x, full)] = atoms.get(min(x, full), Fraction(0)) + share * q
    said = claims(list(dict.fromkeys(blocks.every_law)))
    return ReachLaw(list(atoms), list(atoms.values()), full, blocks.data_dependent, **said)


def counted(laws: Sequence[ReachLaw]) -> Mapping[Atoms, int]:
    """Each different law's atoms with the number of blocks that have them."""
    return Counter(law.atoms for law in laws)


def _with_noise(laws: Sequence[ReachLaw], noise: NoiseOfBlocks) -> list[Block]:
    if isinstance(noise, (Noise, BlackBox)):
        return [(noise, law.atoms) for law in laws]
    if laws and len(noise) != len(laws):
        raise InputError("noise", len(noise), f"one noise, or one for each of the {len(laws)} blocks")
    return [(each, law.atoms) for each, law in zip(noise, laws, strict=False)]
