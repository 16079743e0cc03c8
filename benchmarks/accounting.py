"""Certified figures against dp_accounting in the same run: `python benchmarks/accounting.py`.

Every time is the best of a few repetitions on this machine; the ratios are what is claimed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from fractions import Fraction

from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType

import absentia as ab


def best_of(repeat: int, work: Callable[[], object]) -> float:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def random_law(atoms: int) -> ab.ReachLaw:
    rng = random.Random(0)
    weights = [rng.randint(1, 1000) for _ in range(atoms)]
    return ab.ReachLaw(sorted(rng.random() for _ in range(atoms)), [Fraction(w, sum(weights)) for w in weights])


def main() -> None:
    small, large = ab.ReachLaw([0, 1], ["0.28", "0.72"]), random_law(200)
    twenty = random_law(20)
    column = ab.ReachLaw([0, 1], ["0.95", "0.05"])
    distinct = [ab.ReachLaw([0, 1 + k / 100], [Fraction(900 + k, 1000), Fraction(100 - k, 1000)]) for k in range(99)]

    ours = {
        "certified epsilon(delta), 2 atoms": (10, lambda: ab.amplify(ab.Gaussian(2), small).epsilon("1e-6")),
        "certified epsilon(delta), 20 atoms": (10, lambda: ab.amplify(ab.Gaussian(2), twenty).epsilon("1e-6")),
        "certified epsilon(delta), 200 atoms": (10, lambda: ab.amplify(ab.Gaussian(2), large).epsilon("1e-6")),
        "uncertified, 200 atoms": (10, lambda: ab.amplify(ab.Gaussian(2), large).epsilon("1e-6", certified=False)),
        "curve of 1,000 points, 200 atoms": (
            1,
            lambda: ab.amplify(ab.Gaussian(2), large).curve([k / 500 for k in range(1000)], certified=False),
        ),
        "calibration, 2 atoms": (5, lambda: ab.calibrate("gaussian", small, epsilon="1", delta="1e-6")),
        "calibration, 200 atoms": (3, lambda: ab.calibrate("gaussian", large, epsilon="1", delta="1e-6")),
        "T9, 100 identical blocks": (
            3,
            lambda: ab.amplify(ab.Gaussian(4.27), ab.Blocks([column] * 100)).epsilon("1e-6"),
        ),
        "T9, 99 distinct blocks": (1, lambda: ab.amplify(ab.Gaussian(4.27), ab.Blocks(distinct)).epsilon("1e-6")),
    }
    seconds = {}
    print(f"{'absentia':<44}{'milliseconds':>14}")
    for name, (repeat, work) in ours.items():
        seconds[name] = best_of(repeat, work)
        print(f"{name:<44}{1000 * seconds[name]:>14.2f}")

    replace = best_of(
        3,
        lambda: pld.from_gaussian_mechanism(
            2.0, sensitivity=1.0, sampling_prob=0.72, neighboring_relation=_replace_one()
        ).get_epsilon_for_delta(1e-6),
    )
    sensitivities = [x for x, _ in twenty.atoms]
    masses = [float(q) for _, q in twenty.atoms]
    mixture = best_of(
        1,
        lambda: pld.from_mixture_gaussian_mechanism(2.0, sensitivities, masses).get_epsilon_for_delta(1e-6),
    )
    print(f"\n{'dp_accounting, same run':<44}{'milliseconds':>14}{'ours is faster by':>20}")
    one = seconds["certified epsilon(delta), 2 atoms"]
    print(f"{'Gaussian REPLACE_ONE, one level':<44}{1000 * replace:>14.1f}{replace / one:>19.0f}x")
    twenty_ours = seconds["certified epsilon(delta), 20 atoms"]
    print(f"{'mixture of 20 Gaussians (one-sided)':<44}{1000 * mixture:>14.1f}{mixture / twenty_ours:>19.0f}x")


def _replace_one() -> object:
    from dp_accounting import NeighboringRelation

    return NeighboringRelation.REPLACE_ONE


if __name__ == "__main__":
    assert AdjacencyType  # the module layout this was written against
    main()
