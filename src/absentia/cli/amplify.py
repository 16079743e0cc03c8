"""absentia amplify, absentia calibrate: a guarantee or a noise scale from a law, with its two companions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import wraps
from typing import Any

import click

from absentia import amplification, calibration
from absentia.amplification import Structure
from absentia.cli.lawfile import law_of
from absentia.cli.text import echo, echo_json, load_spec, wrapped
from absentia.errors import InputError
from absentia.exact import exact, probability, round_down, shown, shown_below
from absentia.guarantee import Guarantee, finite
from absentia.law.reachlaw import ReachLaw
from absentia.theory.channel import nonnegative
from absentia.theory.noise import BlackBox, Gaussian, Laplace, Noise

__all__ = ["amplify", "calibrate"]


@dataclass(frozen=True)
class LawFlags:
    """What the flags say of missing entries; one meaning for both commands."""

    relation: str
    data_dependent: bool
    full_reach: str | None
    law_file: str | None
    sensitivity: str | None
    reach: str | None
    p_star: str | None

    def arguments(self, noise: str) -> dict[str, Any]:
        """law, p_star, sensitivity and relation, as `amplify` and `calibrate` take them."""
        ways = {"--reach": self.reach, "--sensitivity": self.sensitivity, "--law": self.law_file}
        given = [flag for flag, value in ways.items() if value is not None]
        if len(given) > 1:
            raise InputError(given[1], ways[given[1]], f"{given[0]} or {given[1]}, not both")
        if noise == "blackbox" and given and given != ["--law"]:
            raise InputError(given[0], ways[given[0]], "nothing beside a black box, whose guarantee already counts it")
        if noise != "blackbox" and not given:
            raise InputError("--reach", None, "--reach (row to all-missing row), --sensitivity (row to row), or --law")
        law = self.law()
        p = None if law is not None else self.share()
        distance = exact(self.sensitivity, "--sensitivity") if self.sensitivity is not None else None
        return {"law": law, "p_star": p, "sensitivity": distance, "relation": self.relation}

    def law(self) -> Structure | None:
        """The law that the flags or the file state; None when only p* is known."""
        if self.law_file is not None:
            if self.p_star is not None:
                raise InputError("--p-star", self.p_star, "nothing beside a law file, which says it")
            spec = load_spec(self.law_file, "--law")
            if self.data_dependent:
                spec["data_dependent"] = True
            if self.full_reach is not None:
                spec["full_reach"] = self.full_reach
            return law_of(spec)
        full, depends = self.full_reach, self.data_dependent
        if self.reach is None:
            if full is not None or depends:
                raise InputError("--full-reach" if full is not None else "--data-dependent", full, "only beside a law")
            return None
        p = self.share()
        widest = exact(full, "--full-reach") if full is not None else None
        return ReachLaw([0, nonnegative(exact(self.reach, "--reach"), "--reach")], [1 - p, p], widest, depends)

    def share(self) -> Fraction:
        return probability(exact(_needed(self.p_star, "--p-star"), "--p-star"), "--p-star")


def law_options(command: Callable[..., None]) -> Callable[..., None]:
    """The flags that state a law, shared by both commands and handed over as one `known`."""

    @wraps(command)
    def bundled(**options: Any) -> None:  # Any: click hands over every option by name
        known = LawFlags(**{field.name: options.pop(field.name) for field in fields(LawFlags)})
        command(known=known, **options)

    for option in (
        click.option(
            "--relation", type=click.Choice(["substitute", "add_remove"]), default="substitute", show_default=True
        ),
        click.option("--data-dependent", is_flag=True, help="Masks may depend on values (MAR, MNAR)."),
        click.option("--full-reach", metavar="R", help="Reach of a row with nothing missing [default: the largest]."),
        click.option(
            "--law", "law_file", metavar="FILE", help="JSON or TOML: reach and mass; forms; blocks ('-': stdin)."
        ),
        click.option("--sensitivity", metavar="S", help="Only the distance between two rows is known (T1, T3)."),
        click.option("--reach", metavar="R", help="How far a shown row moves the query from the all-missing row."),
        click.option("--p-star", metavar="P", help="P(a row shows something)."),
    ):
        bundled = option(bundled)
    return bundled


@click.command()
@click.option("--noise", type=click.Choice(["gaussian", "laplace", "blackbox"]), required=True)
@click.option("--sigma", metavar="S", help="Standard deviation of the Gaussian noise.")
@click.option("--scale", metavar="B", help="Scale of the Laplace noise.")
@click.option("--base-epsilon", metavar="E", help="What the black box guarantees on masked data.")
@click.option("--base-delta", metavar="D", help="Its delta [default: 0].")
@law_options
@click.option("--delta", metavar="D", help="Give epsilon at this delta [default: 0 for laplace].")
@click.option("--epsilon", metavar="E", help="Give delta at this epsilon instead.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, numbers at full precision.")
def amplify(
    noise: str,
    sigma: str | None,
    scale: str | None,
    base_epsilon: str | None,
    base_delta: str | None,
    delta: str | None,
    epsilon: str | None,
    as_json: bool,
    known: LawFlags,
) -> None:
    """The guarantee of a noise or of a black box on data masked by a law.

    \b
    absentia amplify --noise gaussian --sigma 2 --p-star 0.72 --reach 0.5 \\
                     --delta 1e-6
    absentia amplify --noise blackbox --base-epsilon 8 --base-delta 1e-6 \\
                     --p-star 0.72 --delta 1e-6
    """
    for family, flag, value in (
        ("gaussian", "--sigma", sigma),
        ("laplace", "--scale", scale),
        ("blackbox", "--base-epsilon", base_epsilon),
        ("blackbox", "--base-delta", base_delta),
    ):
        if value is not None and family != noise:
            raise InputError(flag, value, f"only with --noise {family}")
    mechanism = _mechanism(noise, sigma, scale, base_epsilon, base_delta)
    guarantee = amplification.amplify(mechanism, **known.arguments(noise))
    if delta is None and epsilon is None and noise == "laplace":
        delta = "0"
    if (delta is None) == (epsilon is None):
        raise InputError("--delta", delta, "exactly one of --delta and --epsilon")
    asked: dict[str, Any] = (
        {"delta": exact(delta, "--delta")} if delta is not None else {"epsilon": exact(epsilon, "--epsilon")}
    )
    if as_json:
        echo_json(three_figures(guarantee, asked))
    else:
        print_three(guarantee, asked, mechanism)


def pair_of(box: BlackBox) -> str:
    """(epsilon, delta) of a black box, rounded up."""
    return f"({shown(box.epsilon)}, {shown(Fraction(box.delta))})"


def _mechanism(
    noise: str, sigma: str | None, scale: str | None, epsilon: str | None, delta: str | None
) -> Noise | BlackBox:
    if noise == "blackbox":
        stated = exact(_needed(epsilon, "--base-epsilon"), "--base-epsilon")
        return BlackBox(stated, exact(delta if delta is not None else "0", "--base-delta"))
    flag, size = ("--sigma", sigma) if noise == "gaussian" else ("--scale", scale)
    at_most = round_down(exact(_needed(size, flag), flag))  # less noise than asked is the unfavourable reading
    return Gaussian(at_most) if noise == "gaussian" else Laplace(at_most)


def _needed(value: str | None, flag: str) -> str:
    if value is None:
        raise InputError(flag, None, "a number (the option is required here)")
    return value


def three_figures(guarantee: Guarantee, asked: dict[str, Any]) -> dict[str, object]:
    """The figure and its two companions, JSON-ready."""
    return {
        **guarantee.answer(**asked).to_dict(),
        "relation": guarantee.relation,
        "without_missingness": guarantee.without_missingness.answer(**asked).to_dict(),
        "if_mask_known": guarantee.if_mask_known.answer(**asked).to_dict(),
    }


def print_three(guarantee: Guarantee, asked: dict[str, Any], mechanism: Noise | BlackBox) -> None:
    """The three figures as a small table, 80 columns, rounded up; and why there is none where there is none."""
    ((name, at),) = asked.items()
    unknown = "epsilon" if name == "delta" else "delta"
    lines = []
    for label, g in guarantee.with_companions:
        figure = g.answer(**asked)
        lines.append(f"  {label:<26}{shown(getattr(figure, unknown)):>12}   {figure.result}")
    echo(f"{unknown} at {name} {float(at):g} ({guarantee.relation}), proved and rounded up")
    for line in lines:
        echo(line)
    if any(math.isinf(getattr(g.answer(**asked), unknown)) for _, g in guarantee.with_companions):
        known = f"; on masked data it guarantees {pair_of(mechanism)}" if isinstance(mechanism, BlackBox) else ""
        echo(wrapped(f"none: no finite {unknown} can be given at {name} {float(at):g}{known}", "  "))
    if math.isinf(getattr(guarantee.answer(**asked), unknown)):
        return
    echo("assuming")
    for line in guarantee.answer(**asked).assumptions:
        echo(wrapped(f"  - {line}", "    "))


@click.command()
@click.option("--noise", type=click.Choice(["gaussian", "laplace", "blackbox"]), required=True)
@click.option("--epsilon", metavar="E", required=True)
@click.option("--delta", metavar="D", default="0", show_default=True)
@law_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object, numbers at full precision.")
def calibrate(
    noise: str,
    epsilon: str,
    delta: str,
    as_json: bool,
    known: LawFlags,
) -> None:
    """The least noise that keeps (epsilon, delta), proved, beside the noise that needs no law.

    \b
    absentia calibrate --noise laplace --epsilon 1 --law law.json
    absentia calibrate --noise gaussian --epsilon 1 --delta 1e-6 --p-star 0.72 \\
                       --sensitivity 1
    absentia calibrate --noise blackbox --epsilon 1 --delta 1e-6 --p-star 0.72
    """
    stated = known.arguments(noise)
    if noise == "blackbox":
        _calibrate_black_box(stated, epsilon, delta, as_json)
        return
    promise: dict[str, Any] = {"epsilon": exact(epsilon, "--epsilon"), "delta": exact(delta, "--delta"), **stated}
    found = calibration.calibrate(noise, **promise)
    plain = calibration.calibrate(noise, **promise, without_missingness=True)
    guarantee = amplification.amplify(found, **stated)
    name = "sigma" if noise == "gaussian" else "scale"
    if as_json:
        figures = three_figures(guarantee, {"delta": promise["delta"]})
        echo_json({"noise": noise, name: found.size, f"{name}_without_missingness": plain.size, **figures})
        return
    echo(f"{noise} {name} for epsilon {epsilon}, delta {delta}, proved and rounded up")
    echo(f"  {'with the missingness law':<26}{shown(found.size, 10):>16}")
    echo(f"  {'without missingness':<26}{shown(plain.size, 10):>16}   {plain.size / found.size:.2f}x as much")
    print_three(guarantee, {"delta": promise["delta"]}, found)


def _calibrate_black_box(stated: dict[str, Any], epsilon: str, delta: str, as_json: bool) -> None:
    p = amplification.share(stated["law"], stated["p_star"])
    box = calibration.calibrate_black_box(p, epsilon=epsilon, delta=delta)
    guarantee, asked = amplification.amplify(box, **stated), {"delta": exact(delta, "--delta")}
    spends = round_down(box.epsilon or 0)
    if as_json:
        base = {"noise": "blackbox", "base_epsilon": finite(spends), "base_delta": float(box.delta)}
        echo_json({**base, **three_figures(guarantee, asked)})
        return
    echo("a black box may spend, on masked data, before masking is counted (T1),")
    echo(f"rounded down: epsilon {shown_below(spends, 12)}, delta {shown_below(box.delta)}")
    print_three(guarantee, asked, box)
