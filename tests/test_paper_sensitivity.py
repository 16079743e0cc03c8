"""The closed-form sensitivities against brute force over masks, corners and zeros."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from absentia.errors import InputError
from absentia.query.sensitivity import mean_count, second_moments


def masked(d: int, k: int, levels: tuple[float, ...]) -> np.ndarray:
    """Every zero-imputed row with at most k entries observed and values among `levels`."""
    rows = set()
    for size in range(k + 1):
        for seen in combinations(range(d), size):
            for z in product(levels, repeat=size):
                row = [0.0] * d
                for j, v in zip(seen, z, strict=True):
                    row[j] = v
                rows.add(tuple(row))
    return np.array(sorted(rows))


@pytest.mark.parametrize(("d", "k"), [(d, k) for d in range(1, 5) for k in range(d + 1)])
def test_second_moments_equal_brute_force(d: int, k: int) -> None:
    """Corners give the maximum in both norms except k = d = 1 (where 0 against 1 does)."""
    levels = (-1.0, 0.0, 1.0) if d <= 3 else (-1.0, 1.0)
    rows = masked(d, k, levels)
    moments = np.einsum("ri,rj->rij", rows, rows).reshape(len(rows), -1)
    change = moments[:, None, :] - moments[None, :, :]
    l1, l2 = np.abs(change).sum(-1).max(), np.sqrt((change**2).sum(-1)).max()
    assert second_moments(k, d, 1, norm=1).sensitivity == l1
    assert second_moments(k, d, 1, norm=2).sensitivity == pytest.approx(l2, rel=1e-15)
    assert second_moments(k, d, 1, norm=1).reach == np.abs(moments).sum(-1).max()
    assert second_moments(k, d, 1, norm=2).reach == pytest.approx(np.sqrt((moments**2).sum(-1)).max(), rel=1e-15)


@pytest.mark.parametrize(("d", "k"), [(d, k) for d in range(1, 7) for k in range(d + 1)])
@pytest.mark.parametrize("w", [Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(7, 4), Fraction(3)])
def test_mean_count_equals_the_integer_program(d: int, k: int, w: Fraction) -> None:
    """a columns seen in both rows, s in one; a row shows at most k."""
    h = Fraction(1)
    options = [
        (a, s)
        for a in range(d + 1)
        for s in range(d - a + 1)
        if any(a + x <= k and a + s - x <= k for x in range(s + 1))
    ]
    l1 = max(2 * h * a + (h + w) * s for a, s in options)
    l2 = max(4 * h * h * a + (h * h + w * w) * s for a, s in options)
    assert Fraction(mean_count(k, d, 1, h, w).sensitivity) == l1
    assert mean_count(k, d, 2, h, w).sensitivity == pytest.approx(math.sqrt(l2), rel=1e-15)
    assert mean_count(k, d, 2, h, w).sensitivity ** 2 >= float(l2) * (1 - 1e-15)


@pytest.mark.parametrize("d", [1, 2, 5, 13])
def test_counts_are_free_when_everything_may_be_seen(d: int) -> None:
    assert mean_count(d, d, 1, 1, 1).sensitivity == 2 * d
    assert mean_count(d, d, 2, 1, "1.7").sensitivity == pytest.approx(2 * math.sqrt(d), rel=1e-15)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: second_moments(3, 2, 1, 1), "k"),
        (lambda: second_moments(1, 2, 0, 1), "n"),
        (lambda: second_moments(1, 2, 1, 3), "norm"),  # type: ignore[arg-type]
        (lambda: second_moments(1, 2, 1, 1, -1), "bound"),
        (lambda: mean_count(1, 0, 1), "d"),
        (lambda: mean_count(1, 1, 1, -1), "half_width"),
        (lambda: mean_count(1, 1, 1, 1, -1), "count_weight"),
    ],
)
def test_bad_input_names_the_field(call: object, field: str) -> None:
    with pytest.raises(InputError) as refusal:
        call()  # type: ignore[operator]
    assert refusal.value.field == field
