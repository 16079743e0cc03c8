"""Reference numbers: every formula of validation/golden.json, the function that computes it, and which way it rounds.

A result that rounds up may not lie below its 17-digit reference minus one unit of the last digit; one that rounds
down may not lie above it plus one unit; none may be further off than its relative tolerance.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any, Literal

from flint import arb

from absentia.law.reachlaw import ReachLaw
from absentia.query import sensitivity
from absentia.theory import blackbox, channel, paper, relaxed
from absentia.theory.bound import proved_above
from absentia.theory.hybrid import hybrid_delta
from absentia.theory.noise import Gaussian, Laplace, Noise
from absentia.theory.pair import KnownMask, dominating_pair
from absentia.theory.pure import Atoms, log_mgf, pure_epsilon

__all__ = ["FORMULAS", "Formula", "cases", "misses"]

Inputs = Mapping[str, Any]
Outputs = Mapping[str, Any]
Direction = Literal["up", "down", "near"]


@dataclass(frozen=True)
class Formula:
    """Which result a formula is, the function that computes its outputs, and the outputs that do not round up."""

    result: str
    evaluate: Callable[[Inputs], Outputs]
    tolerance: float = 1e-12
    down: frozenset[str] = frozenset()
    near: frozenset[str] = frozenset()

    def direction(self, output: str) -> Direction:
        return "down" if output in self.down else "near" if output in self.near else "up"


def cases() -> list[dict[str, Any]]:
    """All reference cases, from the installed package or from the source tree."""
    installed = Path(__file__).with_name("golden.json")
    source = Path(__file__).parents[3] / "validation" / "golden.json"
    listed: list[dict[str, Any]] = json.loads((installed if installed.exists() else source).read_text("utf-8"))["cases"]
    return listed


def misses(case: Mapping[str, Any]) -> list[str]:
    """What of one case the code does not reproduce: empty when all is well."""
    formula = FORMULAS[case["formula"]]
    found = formula.evaluate(case["inputs"])
    if found.keys() != case["expected_str"].keys():
        return [f"{case['id']}: outputs {sorted(found)}"]
    wrong = []
    for name, text in case["expected_str"].items():
        given, wanted = (x if isinstance(x, list) else [x] for x in (found[name], text))
        agree = [_agrees(g, w, formula.direction(name), formula.tolerance) for g, w in zip(given, wanted, strict=True)]
        if not all(agree):
            wrong.append(f"{case['id']}.{name}: {found[name]!r}, reference {text}")
    return wrong


def _agrees(value: float, text: str, direction: Direction, tolerance: float) -> bool:
    reference, given = Fraction(text), Fraction(value)
    last_digit = abs(reference) / 10**16  # one unit of the 17th significant digit, or a little more
    if (direction == "up" and given < reference - last_digit) or (
        direction == "down" and given > reference + last_digit
    ):
        return False
    return abs(given - reference) <= Fraction(tolerance) * abs(reference)


def _atoms(reaches: Sequence[float], masses: Sequence[float]) -> Atoms:
    return tuple((x, Fraction(q)) for x, q in zip(reaches, masses, strict=True) if q > 0)


def _two(p: float, reach: float) -> Atoms:
    return ((0.0, 1 - Fraction(p)), (reach, Fraction(p)))


def _once(noise: Noise, distance: float) -> KnownMask:
    """The noise's own profile at one distance."""
    return KnownMask(noise, ((distance, Fraction(1)),), stretch=1)


def _pure(atoms: Atoms, scale: float) -> float:
    return dominating_pair(Laplace(scale), atoms).epsilon(Fraction(0))


def _fwl(i: Inputs) -> Outputs:
    return {"C": paper.sensitivity(i["L"]), "C_tilde": paper.sensitivity(i["L"], i["k"])}


def _paper_laplace(i: Inputs) -> Outputs:
    release = paper.laplace(i["eps"], i["p_star"], i["L"], i["k"])
    return {"eps_tilde": release.epsilon_tilde, "eps_out": release.epsilon}


def _paper_gaussian(i: Inputs) -> Outputs:
    release = paper.gaussian(i["eps"], i["delta"], i["p_star"], i["L"], i["k"])
    return {
        "c": release.c,
        "sigma": release.sigma,
        "eps_tilde": release.epsilon_tilde,
        "eps_out": release.epsilon,
        "delta_out": release.delta,
    }


def _promise(promise: tuple[float, float]) -> Outputs:
    return {"eps_out": promise[0], "delta_out": promise[1]}


def _radius(i: Inputs) -> Outputs:
    e = Fraction(i["eps_tilde"])
    return {
        "eps_out": channel.radius_diameter(e / 2, e, i["p_bar"]),
        "eps_paper": paper.mar(e, 0, i["p_bar"]).epsilon,
    }


def _radius_approx(i: Inputs) -> Outputs:
    found = channel.radius_diameter_approx(i["r"], i["D"], i["p"], i["delta_r"], i["delta_D"])
    return {"eps_out": found.epsilon, "delta_mar": found.delta_mar, "delta_mnar": found.delta}


def _channel(i: Inputs) -> Outputs:
    found = channel.channel_exact(i["eps"], i["delta"], i["Q"], i["Q_prime"], i["eps_out"])
    return {"delta_out": found.delta, "tv": found.tv, "eps_pure": found.epsilon_pure, "eps_theoremG": found.epsilon_tv}


def _mgf_mnar(i: Inputs) -> Outputs:
    laws = [_atoms(i["S"], law) for law in i["laws"]]

    def loss() -> arb:
        up, down = ([log_mgf(law, t, Fraction(i["b"])) for law in laws] for t in (1, -1))
        return reduce(arb.max, up) - reduce(arb.min, down)

    return {"eps_out": proved_above(loss)}


def _envelope(i: Inputs) -> Outputs:
    law = ReachLaw.envelope([ReachLaw(i["S"], masses) for masses in i["laws"]])
    mass = {x: float(q) for x, q in law.atoms}
    return {"values": list(i["S"]), "pmf": [mass.get(x, 0.0) for x in i["S"]], "p_bar": law.p_star}


def _noise_bounds(i: Inputs) -> Outputs:
    noise: Noise = Gaussian(1) if i["noise"] == "gaussian" else Laplace(1)
    atoms, epsilon = _atoms(i["s"], i["w"]), Fraction(i["eps"])
    return {
        "c3": KnownMask(noise, atoms).delta(epsilon),
        "c4": hybrid_delta(noise, atoms, epsilon),
        "pair": dominating_pair(noise, atoms).delta(epsilon),
    }


def _composition(i: Inputs) -> Outputs:
    once = blackbox.amplified(i["eps"], 0, i["p"]).epsilon
    sound = blackbox.amplified(i["T"] * Fraction(i["eps"]), 0, i["p"]).epsilon
    return {"naive_unsound": i["T"] * once, "sound": sound}


def _shared_gaussian(i: Inputs) -> Outputs:
    root = proved_above(lambda: arb(i["T"]).sqrt() * arb(i["r_over_sigma"]))
    return {"delta": dominating_pair(Gaussian(1), _two(i["p"], root)).delta(Fraction(i["eps"]))}


def _shared_laplace(i: Inputs) -> Outputs:
    T, r = i["T"], i["r_over_b"]
    return {"true_eps": _pure(_two(i["p"], T * r), 1), "naive_unsound": T * _pure(_two(i["p"], r), 1)}


def _separable(i: Inputs) -> Outputs:
    columns = [_two(p, L) for p, L in zip(i["p"], i["L"], strict=True)]
    return {"eps_out": proved_above(lambda: sum((pure_epsilon(c, Fraction(i["b"])) for c in columns), arb(0)))}


def _sensitivities(found: Callable[[Literal[1, 2]], sensitivity.Sensitivity]) -> Outputs:
    l1, l2 = found(1), found(2)
    return {"l1": l1.sensitivity, "l2": l2.sensitivity, "radius_l1": l1.reach, "radius_l2": l2.reach}


NEAR = frozenset({"naive_unsound", "values", "pmf"})

FORMULAS: dict[str, Formula] = {
    "paper_mar": Formula("P2", lambda i: _promise(paper.mar(i["eps"], i["delta"], i["p_star"]))),
    "paper_mnar_pair": Formula(
        "P1", lambda i: _promise(paper.mnar_pair(i["eps"], i["delta"], i["p"], i["p_prime"], i["lam"]))
    ),
    "fwl_sensitivity": Formula("P4, P5", _fwl),
    "paper_laplace_fwl": Formula("P6", _paper_laplace),
    "paper_gaussian_fwl": Formula("P7", _paper_gaussian),
    "paper_corollary": Formula(
        "P6, P7 corollary", lambda i: {"eps_bound": paper.corollary(i["eps"], i["p_star"], i["rho"])}
    ),
    "c1_any_missingness": Formula("T1", lambda i: _promise(blackbox.amplified(i["eps"], i["delta"], i["p_bar"]))),
    "amplification_inverse": Formula(
        "T1 inverse", lambda i: {"eps_base": blackbox.inverse(i["eps_out"], i["p_bar"])}, down=frozenset({"eps_base"})
    ),
    "pair_exact_pure": Formula(
        "T1 optimal", lambda i: {"eps_out": channel.pair_exact_pure(i["eps"], i["p"], i["p_prime"])}
    ),
    "class_exact_pair": Formula(
        "T1 optimal",
        lambda i: {"delta_out": channel.class_exact_pair(i["eps"], i["delta"], i["p"], i["p_prime"], i["eps_out"])},
    ),
    "class_exact_profile": Formula(
        "T1 optimal",
        lambda i: {"delta_out": channel.class_exact_profile(i["eps"], i["delta"], i["p_bar"], i["eps_out"])},
    ),
    "channel_exact": Formula("T1 channel", _channel),
    "gaussian_hockey_stick": Formula(
        "noise",
        lambda i: {"delta": _once(Gaussian(1), i["sens_over_sigma"]).delta(Fraction(i["eps"]))},
        tolerance=1e-10,
    ),
    "gaussian_eps": Formula(
        "noise", lambda i: {"eps": _once(Gaussian(1), i["sens_over_sigma"]).epsilon(Fraction(i["delta"]))}
    ),
    "laplace_hockey_stick": Formula(
        "noise", lambda i: {"delta": _once(Laplace(1), i["sens_over_b"]).delta(Fraction(i["eps"]))}
    ),
    "c2_laplace_radius": Formula("T3 one level", _radius),
    "radius_diameter_pure": Formula(
        "T3 one level", lambda i: {"eps_out": channel.radius_diameter(i["r"], i["D"], i["p_bar"])}
    ),
    "radius_diameter_approx": Formula("T3 one level", _radius_approx),
    "mgf_pure_eps": Formula("T3", lambda i: {"eps_out": _pure(_atoms(i["S"], i["pi"]), i["b"])}),
    "mgf_pure_eps_mnar": Formula("T3", _mgf_mnar),
    "envelope": Formula("reach law", _envelope, near=NEAR),
    "noise_c3_c4_pair": Formula("T5, hybrid, T2", _noise_bounds),
    "pair_gaussian_eps": Formula(
        "T2", lambda i: {"eps": dominating_pair(Gaussian(1), _atoms(i["s"], i["w"])).epsilon(Fraction(i["delta"]))}
    ),
    "c5_relaxed_row": Formula(
        "T6", lambda i: _promise(relaxed.relaxed(i["eps_tilde"], i["delta"], i["p_bar"], i["r_bar"]))
    ),
    "c5_relaxed_laplace_improved": Formula(
        "T6", lambda i: _promise(relaxed.relaxed_laplace(i["eps"], i["eps_tilde"], i["p_bar"], i["r_bar"]))
    ),
    "c6_composition": Formula("T7", _composition, near=NEAR),
    "c6_shared_gaussian": Formula("T7, T2", _shared_gaussian),
    "c6_shared_laplace": Formula("T7, T3", _shared_laplace, near=NEAR),
    "c8_separable": Formula("T3 blocks", _separable),
    "c9_quadratic": Formula(
        "sensitivity",
        lambda i: _sensitivities(lambda norm: sensitivity.second_moments(i["k"], i["d"], i["n"], norm, i["B"])),
    ),
    "c9_mean_count": Formula(
        "sensitivity",
        lambda i: _sensitivities(
            lambda norm: sensitivity.mean_count(i["k"], i["d"], norm, i["half_width"], i["count_weight"])
        ),
    ),
    "c11_dependent_rows": Formula(
        "T8", lambda i: _promise(blackbox.dependent_rows(i["eps"], i["delta"], i["g"], i["eta"]))
    ),
}
