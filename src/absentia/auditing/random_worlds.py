"""Random missingness processes and a zoo of mechanisms for the campaign of exactly enumerated worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np

from absentia.auditing.exact import Law, masked_rows, records
from absentia.auditing.worlds import Ints, Processes, Table, Tally, check, noise_table, table
from absentia.errors import InputError
from absentia.theory.paper_pipeline import NA, Dataset

__all__ = ["KINDS", "Cell", "campaign", "mar", "mcar", "mnar", "zoo"]

Rng = np.random.Generator
TOTAL = 60
STEPS = {1: 60, 2: 8, 3: 4}
"""MAR: the probability of each step is a multiple of one over this."""


def random_laws(rng: Rng, count: int, sets: int, total: int) -> Ints:
    """Random laws in whole numbers out of `total`; often with zeros, sometimes a point mass."""
    spread = rng.choice([0.2, 1.0, 4.0], size=count)
    shares = rng.gamma(spread[:, None], size=(count, sets)) + 1e-12
    return np.asarray(rng.multinomial(total, shares / shares.sum(axis=1, keepdims=True)), dtype=np.int64)


def mcar(rng: Rng, count: int, d: int, total: int = TOTAL) -> Processes:
    """Missing completely at random: one law for all records."""
    return Processes("MCAR", np.repeat(random_laws(rng, count, 2**d, total)[:, None], 3**d, axis=1), total)


def mnar(rng: Rng, count: int, d: int, total: int = TOTAL) -> Processes:
    """Missing not at random: every record has its own law."""
    return Processes("MNAR", random_laws(rng, count * 3**d, 2**d, total).reshape(count, 3**d, 2**d), total)


def mar(rng: Rng, count: int, d: int) -> Processes:
    """Missing at random: features are tried one after the other; what was seen so far decides the next chance.

    A mask's probability then depends only on the entries that it leaves observed.
    """
    steps, order = STEPS[d], rng.permutation(d)
    chance = {prefix: rng.integers(0, steps + 1, size=count) for k in range(d) for prefix in product("-0+?", repeat=k)}
    mass = np.ones((count, 3**d, 2**d), dtype=np.int64)
    for z, record in enumerate(records(d)):
        for o, observed in enumerate(product((0, 1), repeat=d)):
            seen: tuple[str, ...] = ()
            for j in order:
                mass[:, z, o] *= chance[seen] if observed[j] else steps - chance[seen]
                seen += ("-0+"[record[j] + 1] if observed[j] else "?",)
    return Processes("MAR", mass, steps**d)


KINDS: dict[str, Callable[[Rng, int, int], Processes]] = {"MCAR": mcar, "MAR": mar, "MNAR": mnar}


def entries(data: Dataset) -> Iterator[tuple[int, int, int]]:
    for i, row in enumerate(data):
        for j, entry in enumerate(row):
            if entry is not NA:
                yield i, j, int(entry)


def total_of(weights: Callable[[int, int], int]) -> Callable[[Dataset], tuple[int, ...]]:
    """A weighted sum over rows i and features j."""
    return lambda data: (sum(weights(i, j) * value for i, j, value in entries(data)),)


def column_sums(data: Dataset) -> tuple[int, ...]:
    sums = [0] * len(data[0])
    for _, j, value in entries(data):
        sums[j] += value
    return tuple(sums)


def interaction(data: Dataset) -> tuple[int, ...]:
    """The product of each row's observed entries, all of which must be there; rows multiply by the number seen next."""
    rows = [int(np.prod([int(x) for x in row if x is not NA])) if NA not in row else 0 for row in data]
    return (sum(value * (1 + sum(x is not NA for x in data[i - 1]) % 2) for i, value in enumerate(rows)),)


def largest_row(data: Dataset) -> tuple[int, ...]:
    return (max(sum(int(x) for x in row if x is not NA) for row in data),)


def random_table(rng: Rng, n: int, d: int, top: int) -> Callable[[Dataset], tuple[int, ...]]:
    """Any whole-valued query at all: a random value for every masked dataset."""
    datasets: list[Dataset] = list(product(masked_rows(d), repeat=n))
    values = dict(zip(datasets, rng.integers(-top, top + 1, len(datasets)).tolist(), strict=True))
    return lambda data: (values[data],)


def answers(choose: Callable[[Dataset], int], count: int, ratio: int) -> Callable[[Dataset], Law]:
    """Randomised response: the chosen answer has `ratio` times the weight of every other one."""
    scale = ratio + count - 1
    return lambda data: {a: Fraction(ratio if a == choose(data) else 1, scale) for a in range(count)}


def random_mechanism(rng: Rng, outputs: int) -> Callable[[Dataset], Law]:
    """Any mechanism at all: a random law for every masked dataset, no structure."""

    @cache
    def law(data: Dataset) -> Law:
        weights = rng.integers(1, 6, size=outputs)
        weights[-1] += 24 - weights.sum() if weights.sum() < 24 else 0
        return {o: Fraction(int(w), int(weights.sum())) for o, w in enumerate(weights)}

    return law


def shows_one(data: Dataset) -> int:
    return int(data[0][0] == 1)


def first_entry(data: Dataset) -> int:
    """-1, 0, 1 or NA, the last being an answer of its own."""
    value = data[0][0]
    return 3 if value is NA else int(value) + 1


def count_parity(data: Dataset) -> int:
    return sum(1 for _ in entries(data)) % 2


@cache
def zoo(n: int, d: int, seed: int = 0) -> tuple[Table, ...]:
    """Black boxes (randomised responses, random tables) and whole-valued queries with discrete Laplace noise."""
    rng = np.random.default_rng([seed, n, d])
    two, three, half = Fraction(2), Fraction(3), Fraction(3, 2)
    small = 4 ** (n * d) <= 256
    boxes: list[Table] = [
        table("shows 1, e^eps = 3", n, d, answers(shows_one, 2, 3)),
        table("first entry or NA, e^eps = 2", n, d, answers(first_entry, 4, 2)),
        table("parity of the count, e^eps = 5", n, d, answers(count_parity, 2, 5)),
    ]
    boxes += [table(f"random table {i}", n, d, random_mechanism(rng, 3 + i % 2)) for i in range(6 if small else 1)]
    noisy: list[Table] = [
        noise_table("sum", n, d, total_of(lambda i, j: 1), two),
        noise_table("weighted sum", n, d, total_of(lambda i, j: 1 + (j + i) % 2), half if n * d < 6 else two),
        noise_table("interaction", n, d, interaction, three),
        noise_table("largest row", n, d, largest_row, three),
    ]
    if n * d <= 4:
        noisy.append(noise_table("column sums", n, d, column_sums, two))
    for i in range(6 if small else 1):
        noisy.append(noise_table(f"random query {i}", n, d, random_table(rng, n, d, 1 + i % 3), two))
    return (*boxes, *noisy)


SHAPES = {(1, 1): 100, (1, 2): 150, (2, 1): 120, (2, 2): 100, (1, 3): 60, (3, 1): 80, (3, 2): 4, (2, 3): 2}
"""(rows, features): worlds drawn in a round for each mechanism and kind of missingness."""


@dataclass
class Cell:
    """The distinct worlds of one shape and one kind of missingness checked so far."""

    n: int
    d: int
    kind: str
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        self.mechanisms = zoo(self.n, self.d)
        self.seen: list[set[bytes]] = [set() for _ in self.mechanisms]

    def round(self, rng: Rng) -> None:
        for mechanism, seen in zip(self.mechanisms, self.seen, strict=True):
            processes = KINDS[self.kind](rng, SHAPES[self.n, self.d], self.d)
            fresh = {mass.tobytes(): mass for mass in processes.mass if mass.tobytes() not in seen}
            seen.update(fresh)
            if fresh:
                self.tally += check(mechanism, replace(processes, mass=np.array(list(fresh.values()))))


def campaign(worlds: int, seed: int = 0) -> list[Cell]:
    """At least `worlds` distinct random worlds, checked exactly; one cell for each shape and kind of missingness."""
    if worlds < 1:
        raise InputError("worlds", worlds, "a whole number >= 1")
    rng = np.random.default_rng(seed)
    cells = [Cell(n, d, kind) for n, d in SHAPES for kind in KINDS]
    while sum(cell.tally.worlds for cell in cells) < worlds:
        for cell in cells:
            cell.round(rng)
    return cells
