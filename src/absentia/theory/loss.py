"""Privacy losses of one block: the T2 pair as finitely many losses that are worse than the true ones.

L = ln P/Q under P is the privacy loss of a pair, and H_{e^eps}(P||Q) = E (1 - e^{eps-L})_+ with L = inf where Q is 0.
For a product of pairs the losses add, and (1 - e^eps prod e^{-L_b})_+ is convex and non-increasing in every e^{-L_b}.
So the composed delta can only grow when, in any block,
 (i)  the values e^{-L} inside an interval are moved to its two ends, their mean and mass kept (connect the dots),
 (ii) losses are raised, (iii) masses are raised.
Everything here is (i), (ii) or (iii); nothing else is approximated. In balls every mass and every level is a proved
upper bound; in floats the same formulas serve searches. All lengths are in units of the noise scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from absentia.errors import InputError
from absentia.exact import above, ball, precision
from absentia.theory.bound import PRECISIONS
from absentia.theory.loss_grid import GridLosses, Losses, on_grid
from absentia.theory.noise import BlackBox, Noise
from absentia.theory.pure import Atoms, log_mgf

__all__ = ["LossPair", "Response"]

Numbers = NDArray[Any]  # float64, or Python objects that hold balls
BITS = 128
LEFT = 8.0  # P puts less than 1e-15 further left; that mass is raised to the lowest level kept
FINER = 4  # grid points of the sum in one cell between nodes
FARTHEST = 1e60  # noise scales beyond which floats are not asked
STEP, POINTS = 0.01, 4000  # distance (in units of the noise scale) and number of the finest nodes


@dataclass(frozen=True)
class LossPair:
    """P = sum_k q_k phi(. - x_k) over `up`, Q = sum_k q_k phi(. + x_k) over `down`; P/Q is non-decreasing."""

    noise: Noise
    up: Atoms
    down: Atoms

    @property
    def gaussian(self) -> bool:
        return self.noise.family == "gaussian"

    @property
    def trivial(self) -> bool:
        """Whether P = Q: nothing is ever reached."""
        return max(x for x, _ in self.up) == max(x for x, _ in self.down) == 0

    def sketch(self) -> Losses:
        """A float picture of the losses on coarse nodes: to choose the order and the grid, never to claim."""
        if max(x for x, _ in (*self.up, *self.down)) > FARTHEST * self.noise.size:
            return Losses(np.zeros(1), np.zeros(1), 1.0)
        nodes = dense_nodes(self, 1e-300)
        return at_nodes(self, np.append(nodes[:-1:10], nodes[-1]), proved=False)

    def on_grid(self, gap: float, lost: float, cut: float, theta: float, *, proved: bool) -> GridLosses:
        """The losses on multiples of `gap`; infinite above `cut` and in Gaussian tails of mass about `lost`."""
        nodes = level_nodes(self, FINER * gap, lost, cut, theta)
        return on_grid(at_nodes(self, nodes, proved=proved).capped(cut), gap)

    def pure_ball(self) -> arb | None:
        """The largest loss, P/Q at infinity (T3); None for Gaussian noise."""
        if self.gaussian:
            return None
        return log_mgf(self.up, 1, self.noise.size) - log_mgf(self.down, -1, self.noise.size)


@dataclass(frozen=True)
class Response:
    """An (epsilon, delta) black box behind a mask that shows something with probability `shows`.

    T1 makes it (ln(1+p(e^eps-1)), p delta); randomised response with that delta of full disclosure dominates every
    such mechanism, in both directions.
    """

    box: BlackBox
    shows: Fraction

    @property
    def trivial(self) -> bool:
        return self.shows == 0

    def sketch(self) -> Losses:
        """The two finite losses, levels and masses rounded up."""
        with precision(BITS):
            out, leak = self.epsilon_ball(), ball(self.shows * self.box.delta)
            truth = (1 - leak) / (1 + (-out).exp())
            level = np.array([above(-out), above(out)])
            return Losses(level, np.array([above(1 - leak - truth), above(truth)]), above(leak))

    def on_grid(self, gap: float, lost: float, cut: float, theta: float, *, proved: bool) -> GridLosses:
        """The same on multiples of `gap`, infinite above `cut`; always proved, nothing is lost."""
        return on_grid(self.sketch().capped(cut), gap)

    def pure_ball(self) -> arb | None:
        return self.epsilon_ball() if self.shows * self.box.delta == 0 else None

    def epsilon_ball(self) -> arb:
        if self.box.epsilon is None:
            raise InputError("noise", self.box, "a black box with epsilon and delta (a profile cannot be composed)")
        return (ball(self.shows) * ball(self.box.epsilon).expm1()).log1p()


def at_nodes(pair: LossPair, nodes: NDArray[np.float64], *, proved: bool) -> Losses:
    """The losses moved, interval by interval between the nodes, to the losses at the two ends (i)."""
    if not proved:
        with np.errstate(all="ignore"):
            mass, level, infinite = ends(pair, nodes)
        return Losses(level, np.nan_to_num(np.clip(mass, 0.0, 1.0)), float(infinite))
    for bits in PRECISIONS:
        with precision(bits):
            mass, level, infinite = ends(pair, np.array([arb(float(t)) for t in nodes], dtype=object))
            proof = Losses(rounded_up(level), np.maximum(rounded_up(mass), 0.0), above(arb(infinite)))
        if np.isfinite(proof.level).all() and np.isfinite(proof.mass).all():
            return proof
    return Losses(np.zeros(1), np.zeros(1), 1.0)


def ends(pair: LossPair, t: Numbers) -> tuple[Numbers, Numbers, Any]:
    """(mass at each node's level, level = ln P/Q at each node, infinite mass).

    A part with P-mass a, Q-mass b and losses in [l, r] goes to l and r with masses low + high = a and
    low e^{-l} + high e^{-r} = b. Beyond the last node the loss is unbounded for Gaussian noise, constant for Laplace.
    """
    level = log_mixture(pair, t, pair.up, 1) - log_mixture(pair, t, pair.down, -1)
    exceeds = remembered(pair, t)
    P = np.asarray(sum(q * exceeds(x) for x, q in shifts(pair, pair.up, t)))
    Q = np.asarray(sum(q * exceeds(-x) for x, q in shifts(pair, pair.down, t)))
    a, b = P[:-1] - P[1:], Q[:-1] - Q[1:]
    rise = np.exp(level if t.dtype == object else np.minimum(level, 700.0))
    high = moved_up(a, rise[:-1] * b, level[1:] - level[:-1])
    mass = np.zeros_like(P)
    mass[0] = 1 - P[0]
    mass[:-1] += a - high
    mass[1:] += high
    if pair.gaussian:
        return mass, level, P[-1]
    mass[-1] += P[-1]
    return mass, level, 0.0


def moved_up(a: Numbers, least: Numbers, width: Numbers) -> Numbers:
    """The mass (a - e^l b)/(1 - e^{l-r}) of the upper end; all of a where l and r cannot be told apart (ii)."""
    if a.dtype == object:
        apart = np.array([bool(w > 0) for w in width], dtype=bool)
        return np.asarray(np.where(apart, (a - least) / -np.expm1(-np.where(apart, width, arb(1))), a))
    return np.asarray(np.where(width > 0, (a - least) / -np.expm1(-width), a))


def shifts(pair: LossPair, atoms: Atoms, like: Numbers) -> list[tuple[Any, Any]]:
    """(x_k in units of the noise scale, q_k) in the arithmetic of `like`."""
    if like.dtype == object:
        return [(ball(x) / ball(pair.noise.size), ball(q)) for x, q in atoms]
    return [(float(x) / pair.noise.size, float(q)) for x, q in atoms]


def remembered(pair: LossPair, t: Numbers) -> Callable[[Any], Numbers]:
    """x -> P(noise > t - x) at all nodes; the shift 0, which both sides have, is computed once."""
    exceeds: Callable[[Numbers], Numbers] = TAILS[pair.noise.family, t.dtype == object]
    at_zero = np.asarray(exceeds(t))
    return lambda x: at_zero if x == 0 else np.asarray(exceeds(t - x))


def log_mixture(pair: LossPair, t: Numbers, atoms: Atoms, side: int) -> Numbers:
    """ln sum_k q_k phi(t - side x_k)/phi(t)."""
    terms = shifts(pair, atoms, t)
    if pair.gaussian:
        logs = [side * x * t - x * x / 2 for x, _ in terms]
    else:
        logs = [abs(t) - abs(t - side * x) for x, _ in terms]
    if t.dtype == object:
        return np.asarray(np.log(sum(q * np.exp(e) for e, (_, q) in zip(logs, terms, strict=True))))
    top = np.max(logs, axis=0)
    large = top + np.log(sum(q * np.exp(e - top) for e, (_, q) in zip(logs, terms, strict=True)))
    small = np.log1p(sum(q * np.expm1(np.minimum(e, 1.0)) for e, (_, q) in zip(logs, terms, strict=True)))
    return np.asarray(np.where(abs(top) < 1, small, large))


def laplace_tail(z: NDArray[np.float64]) -> NDArray[np.float64]:
    near = np.exp(-np.abs(z)) / 2
    return np.where(z > 0, near, 1 - near)


def laplace_tail_ball(z: arb) -> arb:
    if not (z > 0 or z <= 0):  # the sign is open: between the values at the two ends
        return laplace_tail_ball(z.lower()).union(laplace_tail_ball(z.upper()))
    return (-z).exp() / 2 if z > 0 else 1 - z.exp() / 2


erfc_balls = np.frompyfunc(arb.erfc, 1, 1)
TAILS: dict[tuple[str, bool], Any] = {
    ("gaussian", False): lambda z: ndtr(-z),
    ("gaussian", True): lambda z: erfc_balls(z / arb(2).sqrt()) / 2,
    ("laplace", False): laplace_tail,
    ("laplace", True): np.frompyfunc(laplace_tail_ball, 1, 1),
}


def rounded_up(balls: Numbers) -> NDArray[np.float64]:
    return np.array([above(x) for x in balls])


def dense_nodes(pair: LossPair, lost: float) -> NDArray[np.float64]:
    """Increasing thresholds, STEP apart wherever P has mass; the first and the last bound what is kept."""
    up, down = (shifts(pair, atoms, np.zeros(0)) for atoms in (pair.up, pair.down))
    if pair.gaussian:
        reach = [x - float(ndtri(min(0.5, lost / (len(up) * max(q, 1e-300))))) for x, q in up]
        low, high = min(x for x, _ in up) - LEFT, max(reach)
        inner = spread([(x - LEFT, r) for (x, _), r in zip(up, reach, strict=True)])
    else:
        low, high = -max(x for x, _ in down), max(x for x, _ in up)
        centres = [*(x for x, _ in up), *(-x for x, _ in down)]
        inner = spread([(max(low, x - 40), min(high, x + 40)) for x in centres])
    return np.unique(np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]]))


def spread(intervals: list[tuple[float, float]]) -> NDArray[np.float64]:
    """POINTS/5 to POINTS points, at distance STEP where that allows, that cover all intervals."""
    stretches: list[list[float]] = []
    for a, b in sorted(intervals):
        if stretches and a <= stretches[-1][1]:
            stretches[-1][1] = max(b, stretches[-1][1])
        else:
            stretches.append([a, b])
    span = sum(b - a for a, b in stretches)
    step = max(min(STEP, span / (POINTS // 5)), span / POINTS)
    return np.concatenate([np.linspace(a, b, 2 + int((b - a) / step)) for a, b in stretches])


def level_nodes(pair: LossPair, width: float, lost: float, cut: float, theta: float) -> NDArray[np.float64]:
    """Thresholds whose losses are about `width` apart in mean square, plus the two ends.

    Cells of width w cost the mean of w^2 under the losses tilted by e^{theta L}; of all choices with as many nodes,
    w proportional to (tilted density)^(-1/3) costs least. Any nodes are sound.
    """
    t = dense_nodes(pair, lost)
    with np.errstate(all="ignore"):
        mass, level, _ = ends(pair, t)
    rise = np.maximum(np.diff(np.maximum.accumulate(level)), 1e-300)
    log_mass = np.log(np.clip(np.nan_to_num(mass[1:]), 1e-300, 1.0)) + theta * level[1:]
    top = log_mass[level[1:] <= cut].max(initial=log_mass[0])
    weight = np.exp(np.clip(log_mass - top, -69.0, 0.0))
    cells = np.maximum((weight / rise) ** (-1 / 3), 1e-100)
    cells *= width / math.sqrt(float(np.sum(weight * cells**2) / np.sum(weight)))
    cells = np.minimum(cells, min(8 * width, max(width, 0.2 / (theta + 1))))
    steps = np.minimum(rise / cells, 1.0) * (level[1:] <= cut)
    count = np.concatenate([[0.0], np.cumsum(steps)])
    inner = np.interp(np.arange(1, math.ceil(count[-1])), count, t)
    if level[0] < cut < level[-1]:
        inner = np.append(inner, float(np.interp(cut * (1 - 1e-9), level, t)))
    nodes = np.unique(np.concatenate([t[:1], inner, t[-1:]]))
    keep = np.diff(nodes, append=np.inf) > 1e-6 * np.median(
        np.diff(t)
    )  # nodes that all but coincide would divide 0 by 0
    keep[0] = keep[-1] = True
    return nodes[keep]
