"""C4: a black-box style bound for additive noise, between T2 and T5. Kept for comparison: T2 is never worse."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from absentia.exact import ball
from absentia.theory.bound import proved_above
from absentia.theory.channel import base_epsilon, nonnegative
from absentia.theory.noise import Noise
from absentia.theory.pure import Atoms

__all__ = ["hybrid_delta"]


def hybrid_delta(noise: Noise, atoms: Atoms, epsilon: object) -> float:
    """(1-beta) E[H_alpha(s); s > 0] + beta E[H_alpha(2s); s > 0], alpha = 1 + (alpha'-1)/p, beta = alpha'/alpha.

    p = P(s > 0) and alpha' = e^epsilon: mass that shows nothing is split off once, by joint convexity, instead of at
    every pair of levels as in T2. Always T2 <= this <= T5. Rounded up.

    Assumptions: those of T2.

    >>> from fractions import Fraction
    >>> from absentia.theory.noise import Laplace
    >>> hybrid_delta(Laplace(1), [(0, Fraction(1, 2)), (1, Fraction(1, 2))], "0.25")
    0.24260213147615378
    """
    out, shown = nonnegative(epsilon, "epsilon"), [(x, q) for x, q in atoms if x > 0]
    p = sum((q for _, q in shown), Fraction(0))
    if not shown:
        return 0.0

    def delta() -> arb:
        e, scale = base_epsilon(ball(out), p), ball(noise.size)
        log_beta = ball(out) - e
        once, twice = (
            sum((ball(q) * noise.profile_ball(m * ball(x) / scale, e) for x, q in shown), arb(0)) for m in (1, 2)
        )
        return -log_beta.expm1() * once + log_beta.exp() * twice

    return min(1.0, max(0.0, proved_above(delta)))
