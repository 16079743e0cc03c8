"""Independent blocks (T9): noise at (1, 1e-6), times, and what the grid costs: `python benchmarks/blocks.py`."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from unittest.mock import patch

from absentia.calibration import calibrate
from absentia.law.blocks import Blocks
from absentia.law.reachlaw import ReachLaw
from absentia.theory import blocks as t9
from absentia.theory.blocks import IndependentBlocks
from absentia.theory.noise import Gaussian

MICRO = Fraction(1, 10**6)
CASES = ((13, "4/13"), (100, "0.05"), (1000, "0.01"))


def column(p: object, reach: object = 1) -> ReachLaw:
    share = Fraction(str(p))
    return ReachLaw([0, reach], [1 - share, share])


def timed(work: Callable[[], float]) -> tuple[float, float]:
    start = time.perf_counter()
    value = work()
    return value, 1000 * (time.perf_counter() - start)


def main() -> None:
    print(f"{'sigma at epsilon = 1, delta = 1e-6':<38}{'complete':>10}{'T2':>10}{'T9':>10}{'seconds':>10}")
    for d, p in CASES:
        law = Blocks([column(p)] * d)
        need = {"epsilon": "1", "delta": "1e-6"}
        complete = calibrate("gaussian", ReachLaw.point(law.full_reach(2)), **need).size
        together = calibrate("gaussian", law.total(2), **need).size
        apart, ms = timed(lambda law=law, need=need: calibrate("gaussian", law, **need).size)
        name = f"{d} columns, each seen with p = {p}"
        print(f"{name:<38}{complete:>10.3f}{together:>10.3f}{apart:>10.3f}{ms / 1000:>10.2f}")

    print(f"\n{'epsilon at delta = 1e-6':<38}{'epsilon':>14}{'ms':>10}")
    hundred = IndependentBlocks.of([(Gaussian(4.27), column("0.05").atoms)] * 100)
    distinct = [column(Fraction(5 + i % 7, 100) + Fraction(i, 10**5), 1 + i / 200).atoms for i in range(100)]
    apart = IndependentBlocks.of([(Gaussian(4.27), atoms) for atoms in distinct])
    many = IndependentBlocks.of([(Gaussian(9), column("0.01").atoms)] * 10_000)
    for name, bound in (("100 identical", hundred), ("100 distinct", apart), ("10,000 identical", many)):
        for certified in (False, True):
            value, ms = timed(lambda bound=bound, sure=certified: bound.epsilon(MICRO, certified=sure))
            print(f"{name + (', certified' if certified else ''):<38}{value:>14.9f}{ms:>10.1f}")

    print("\nshare of epsilon that the grid costs, against a grid that is 16 times finer")
    for name, bound in (("100 identical", hundred), ("100 distinct", apart), ("10,000 identical", many)):
        usual = bound.epsilon(MICRO, certified=False)
        with patch.object(t9, "COST", t9.COST / 256):
            print(f"{name:<38}{usual / bound.epsilon(MICRO, certified=False) - 1:>14.1e}")


if __name__ == "__main__":
    main()
