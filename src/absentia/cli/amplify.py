"""absentia amplify, absentia calibrate: a guarantee or a noise scale from a law, with its two companions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from absentia import amplification, calibration
from absentia.cli.text import echo, echo_json, load_spec, wrapped
from absentia.errors import InputError
from absentia.exact import exact, number, probability, shown, shown_below
from absentia.guarantee import Guarantee, finite
from absentia.law.reachlaw import ReachLaw
from absentia.theory.noise import BlackBox, Gaussian, Laplace

__all__ = ["amplify", "calibrate"]


def law_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The flags that state a law, shared by both commands."""
    for option in (
        click.option(
            "--relation", type=click.Choice(["substitute", "add_remove"]), default="substitute", show_default=True
        ),
        click.option("--data-dependent", is_flag=True, help="Masks may depend on values (MAR, MNAR)."),
        click.option("--full-reach", metavar="R", help="Reach of a row with nothing missing [default: the largest]."),
        click.option(
            "--law", "law_file", metavar="FILE", help="JSON or TOML: reach, mass, full_reach, ... ('-': stdin)."
        ),
        click.option("--sensitivity", metavar="S", help="Only the distance between two rows is known (T1, T3)."),
        click.option("--reach", metavar="R", help="How far a shown row moves the query from the all-missing row."),
        click.option("--p-star", metavar="P", help="P(a row shows something)."),
    ):
        command = option(command)
    return command


def stated_law(
    p_star: str | None, reach: str | None, law_file: str | None, full: str | None, data_dependent: bool
) -> ReachLaw | None:
    """The law that the flags or the file state; None when only p* (with a sensitivity) is known."""
    if law_file is not None:
        if p_star is not None or reach is not None:
            raise InputError("--law", law_file, "either a law file, or --p-star with --reach")
        spec = load_spec(law_file, "--law")
        if data_dependent:
            spec["data_dependent"] = True
        if full is not None:
            spec["full_reach"] = full
        return ReachLaw.from_dict(spec)
    if reach is None:
        if full is not None or data_dependent:
            raise InputError("--full-reach" if full is not None else "--data-dependent", full, "only beside a law")
        return None
    if p_star is None:
        raise InputError("--p-star", None, "P(a row shows something), in [0, 1]")
    p = probability(exact(p_star, "--p-star"), "--p-star")
    return ReachLaw(
        [0, exact(reach, "--reach")], [1 - p, p], exact(full, "--full-reach") if full else None, data_dependent
    )


@click.command()
@click.option("--noise", type=click.Choice(["gaussian", "laplace", "blackbox"]), required=True)
@click.option("--sigma", metavar="S", help="Standard deviation of the Gaussian noise.")
@click.option("--scale", metavar="B", help="Scale of the Laplace noise.")
@click.option("--base-epsilon", metavar="E", help="What the black box guarantees on masked data.")
@click.option("--base-delta", metavar="D", default="0", show_default=True)
@law_options
@click.option("--delta", metavar="D", help="Give epsilon at this delta [default: 0 for laplace].")
@click.option("--epsilon", metavar="E", help="Give delta at this epsilon instead.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, numbers at full precision.")
def amplify(
    noise: str,
    sigma: str | None,
    scale: str | None,
    base_epsilon: str | None,
    base_delta: str,
    p_star: str | None,
    reach: str | None,
    sensitivity: str | None,
    law_file: str | None,
    full_reach: str | None,
    data_dependent: bool,
    relation: str,
    delta: str | None,
    epsilon: str | None,
    as_json: bool,
) -> None:
    """The guarantee of a noise or of a black box on data masked by a law.

    \b
    absentia amplify --noise gaussian --sigma 2 --p-star 0.72 --reach 0.5 \\
                     --delta 1e-6
    absentia amplify --noise blackbox --base-epsilon 8 --base-delta 1e-6 \\
                     --p-star 0.72 --delta 1e-6
    """
    law = stated_law(p_star, reach, law_file, full_reach, data_dependent)
    if reach is not None and sensitivity is not None:
        raise InputError("--sensitivity", sensitivity, "--reach or --sensitivity, not both")
    for family, flag, value in (
        ("gaussian", "--sigma", sigma),
        ("laplace", "--scale", scale),
        ("blackbox", "--base-epsilon", base_epsilon),
    ):
        if value is not None and family != noise:
            raise InputError(flag, value, f"only with --noise {family}")
    mechanism = _mechanism(noise, sigma, scale, base_epsilon, base_delta)
    if noise != "blackbox" and law is None and sensitivity is None:
        raise InputError("--reach", None, "--reach (row to all-missing row), --sensitivity (row to row), or --law")
    guarantee = amplification.amplify(
        mechanism,
        law,
        p_star=None if law is not None else exact(_needed(p_star, "--p-star"), "--p-star"),
        sensitivity=exact(sensitivity, "--sensitivity") if sensitivity is not None else None,
        relation=relation,
    )
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
        print_three(guarantee, asked)


def _mechanism(noise: str, sigma: str | None, scale: str | None, epsilon: str | None, delta: str) -> Any:
    if noise == "gaussian":
        return Gaussian(exact(_needed(sigma, "--sigma"), "--sigma"))  # type: ignore[arg-type]
    if noise == "laplace":
        return Laplace(exact(_needed(scale, "--scale"), "--scale"))  # type: ignore[arg-type]
    return BlackBox(exact(_needed(epsilon, "--base-epsilon"), "--base-epsilon"), exact(delta, "--base-delta"))


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


def print_three(guarantee: Guarantee, asked: dict[str, Any]) -> None:
    """The three figures as a small table, 80 columns, rounded up."""
    ((name, at),) = asked.items()
    unknown = "epsilon" if name == "delta" else "delta"
    lines = []
    for label, g in guarantee.with_companions:
        figure = g.answer(**asked)
        lines.append(f"  {label:<26}{shown(getattr(figure, unknown)):>12}   {figure.result}")
    echo(f"{unknown} at {name} {float(at):g} ({guarantee.relation}), proved and rounded up")
    for line in lines:
        echo(line)
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
    p_star: str | None,
    reach: str | None,
    sensitivity: str | None,
    law_file: str | None,
    full_reach: str | None,
    data_dependent: bool,
    relation: str,
    as_json: bool,
) -> None:
    """The least noise that keeps (epsilon, delta), proved, beside the noise that needs no law.

    \b
    absentia calibrate --noise laplace --epsilon 1 --law law.json
    absentia calibrate --noise blackbox --epsilon 1 --delta 1e-6 --p-star 0.72
    """
    if noise == "blackbox":
        _calibrate_black_box(_needed(p_star, "--p-star"), epsilon, delta, as_json)
        return
    law = stated_law(p_star, reach, law_file, full_reach, data_dependent)
    if law is None:
        raise InputError("--law", None, "a law file, or --p-star with --reach")
    promise: Any = {"epsilon": exact(epsilon, "--epsilon"), "delta": exact(delta, "--delta"), "relation": relation}
    promise["sensitivity"] = number(exact(sensitivity, "--sensitivity"), "--sensitivity") if sensitivity else None
    found = calibration.calibrate(noise, law, **promise)
    plain = calibration.calibrate(noise, law, **promise, without_missingness=True)
    guarantee = amplification.amplify(found, law, relation=relation, sensitivity=promise["sensitivity"])
    name = "sigma" if noise == "gaussian" else "scale"
    if as_json:
        figures = three_figures(guarantee, {"delta": promise["delta"]})
        echo_json({"noise": noise, name: found.size, f"{name}_without_missingness": plain.size, **figures})
        return
    echo(f"{noise} {name} for epsilon {epsilon}, delta {delta}, proved and rounded up")
    echo(f"  {'with the missingness law':<26}{shown(found.size, 10):>16}")
    echo(f"  {'without missingness':<26}{shown(plain.size, 10):>16}   {plain.size / found.size:.2f}x as much")
    print_three(guarantee, {"delta": promise["delta"]})


def _calibrate_black_box(p_star: str, epsilon: str, delta: str, as_json: bool) -> None:
    box = calibration.calibrate_black_box(p_star, epsilon=epsilon, delta=delta)
    assert box.epsilon is not None
    if as_json:
        guarantee = amplification.amplify(box, p_star=exact(p_star, "--p-star"))
        figures = three_figures(guarantee, {"delta": exact(delta, "--delta")})
        base = {"noise": "blackbox", "base_epsilon": finite(float(box.epsilon)), "base_delta": float(box.delta)}
        echo_json({**base, **figures})
        return
    echo("a black box may spend, on masked data, before masking is counted (T1),")
    echo(f"rounded down: epsilon {shown_below(box.epsilon, 12)}, delta {shown_below(box.delta)}")
    print_three(amplification.amplify(box, p_star=exact(p_star, "--p-star")), {"delta": exact(delta, "--delta")})
