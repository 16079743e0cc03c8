"""What a card says in words: who is promised what against whom, what it rests on, what it leaves out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from absentia.card.text import chance, even_bet, left, percent
from absentia.exact import shown, shown_below
from absentia.missing.complete import Complete
from absentia.missing.text import written

if TYPE_CHECKING:
    from absentia.planning.planned import Plan

__all__ = ["READINGS", "words_of"]

READINGS = ("with_missingness", "without_missingness", "if_mask_known")
NAMES = ("With the missingness law", "Without missingness", "If the mask is known")
RESULTS = {
    "T1": "holes hide whole rows",
    "T2": "exact worst case of the law",
    "T3": "exact worst case, pure",
    "T5": "mean over the masks",
    "T6": "rows that show little",
    "T8": "dependent rows",
    "T9": "independent blocks",
    "T10": "forms",
    "T10K": "forms",
    "base": "the noise alone",
}
KINDS = {
    "design": "known by design: whoever made the survey decided who is asked what",
    "declared": "declared: somebody stands for it; it was not tested on these data",
    "certified": "certified: bounded from these data, and paid for from the budget",
}
PROCESSES = {
    "patterns": "a list of patterns (such as the forms of a survey), one drawn for each record",
    "independent": "columns, or blocks of them, go missing independently of one another",
    "counts": "bounds on how many columns a record shows",
    "matrix sampling": "each record is asked so many items, drawn by chance",
    "mixture": "a mixture of several laws, one drawn for each record",
    "product": "several laws on different columns, or one on top of another",
    "gamma": "a law that values may change, by bounded odds",
    "pattern model": "patterns whose probabilities depend on values",
    "column model": "columns that go missing with probabilities that depend on values",
}
INDEPENDENT = "Of missing entries it needs only that no record decides which entries of other records go missing."
Words = dict[str, Any]


def words_of(document: Mapping[str, Any], plan: Plan) -> Words:
    """Every sentence of the page that depends on the release."""
    release = document["release"]
    return {
        "lead": lead(document, plan),
        "promise": promise(release, plan),
        "meaning": meaning(release, plan),
        "not_protected": not_protected(plan),
        "law": law(document, plan),
        "gamma": gamma(document, plan),
        "mask": mask(release, plan),
        "budget": budget(release),
        "noise": noise(document, plan),
    }


def figures(release: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The three figures of a release, in the order of the readings."""
    g = release["guarantee"]
    return [g, g["without_missingness"], g["if_mask_known"]]


def whose(plan: Plan) -> str:
    """Who is protected: a person, where the schema says which column names one; else a record."""
    return "person" if plan.schema.unit or plan.schema.long else "record"


def plural(one: str) -> str:
    return "people" if one == "person" else f"{one}s"


def lead(document: Mapping[str, Any], plan: Plan) -> str:
    rows, asked = document["release"]["rows"], len(plan.queries)
    known = sum(row["estimate"] is not None for row in rows)
    of = f" about {plan.n:,} {plural(whose(plan))}" if plan.n else ""
    numbers = _many(len(rows), "number") if known == len(rows) else f"{known:,} of {_many(len(rows), 'number')}"
    text = f"{numbers} answering {_many(asked, 'question')}{of}"
    if not rows:
        text = f"{_many(asked, 'question')}{of}, answered by whoever runs them"
    text += f", each with noise that limits what can be learned about any one {whose(plan)}."
    text += f" The promise is epsilon {shown(plan.budget.epsilon)}"
    text += (
        f", with an allowance (delta) of {chance(plan.budget.delta)}." if plan.budget.delta else ", without any delta."
    )
    if document["saving"] and document["saving"] > 1.0005:
        text += f" Without using the missing entries it would take {document['saving']:.2f} times this noise."
    return text + " Numbers without an estimate are hidden by the noise." * (known < len(rows))


def _many(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


# -- the promise -----------------------------------------------------------------------------------------------------


def promise(release: Mapping[str, Any], plan: Plan) -> list[Words]:
    one = whose(plan)
    unaware = f"as long as they do not know which entries of the {one} are missing, and the law below is true."
    against = (
        f"Holds against anybody who reads these answers, whatever they know about everybody else, {unaware}",
        f"Holds against anybody. {INDEPENDENT}",
        f"Holds against somebody who knows which entries of the {one} were observed; the law must be true.",
    )
    if isinstance(plan.missing, Complete):
        against = (against[1],) * 3
    elif plan.dependent_rows:
        first = f"Holds although masks of up to {plan.dependent_rows} other rows may follow the {one}'s record."
        against = (first, "What one row alone would give, were its holes nobody else's matter.", first)
    return [
        {"reading": key, "name": name, "epsilon": shown(f["epsilon"]), "result": f["result"],
         "because": RESULTS.get(f["result"], ""), "against": text, "even_bet": percent(even_bet(f["epsilon"])),
         "assumes": list(f["assumptions"])}
        for key, name, f, text in zip(READINGS, NAMES, figures(release), against, strict=True)
    ]  # fmt: skip


def meaning(release: Mapping[str, Any], plan: Plan) -> list[str]:
    first, one = figures(release)[0], whose(plan)
    d, e = Fraction(first["delta"]), first["epsilon"]
    if plan.relation == "substitute":
        worlds = f"two worlds, one with a {one}'s real entries and one with any other entries in their place"
    else:
        worlds = f"two worlds, one in which a {one} takes part and one in which it does not"
    text = f"Think of {worlds}. How sure can these answers make anybody of which of the two they live in?"
    if e is None:
        return [text, "For this release no finite figure can be given: nothing is promised."]
    bet = f"A sceptic for whom both are equally likely ends at most {percent(even_bet(e))} sure of one."
    bet += f" Delta is an allowance of {chance(d)} on the chance of every such conclusion." if d else ""
    power = min(1.0, 0.05 * math.exp(min(e, 50.0)) + float(d))
    test = f"A test for one {one} that raises a false alarm in 5% of all cases is right in a real case with a chance of"
    return [text, bet, f"{test} at most {percent(power)}; guessing blindly would give 5%."]


def not_protected(plan: Plan) -> list[str]:
    one = whose(plan)
    said = [
        "Facts about groups. If a habit goes with an illness, these answers may show it, for everybody who has it.",
        "What other publications tell. Only releases that stand in the budget book below are counted.",
        "The table itself, where it is kept: a promise about answers is none about stolen files.",
    ]
    if plan.relation == "substitute":
        said.append(f"The number of {plural(one)}, which is public.")
    if not isinstance(plan.missing, Complete):
        said.append("Whether an entry is missing, as well as its value: for that the figure without missingness holds.")
    if plan.missing.data_dependent:
        said.append("What a known mask tells by itself: masks may depend on values, and no noise can mend that.")
    return said


# -- what it rests on ------------------------------------------------------------------------------------------------


def law(document: Mapping[str, Any], plan: Plan) -> list[list[str]]:
    """Label and text: what is said about missing entries, who says so, why, and how it is known."""
    m, seen = plan.missing, document["observed"]
    if isinstance(m, Complete):
        return [["What", "Nothing is used about missing entries: the promise is that of the noise alone."]]
    lines = [["What", f"{PROCESSES.get(m.name, m.name)}; {_many(len(m.columns), 'column')}"]]
    if seen is not None:
        text = f"A record shows at most {seen['most']:g} of the {_many(seen['columns'], 'column')} that are read here,"
        text += f" about {seen['mean']:.3g} on average"
        text += f", and nothing at all with probability at least {shown_below(1 - seen['anything'], 3)}" * (
            seen["anything"] < 1
        )
        lines.append(["How much", text + "."])
    lines += [["Why", m.because], ["Who says so", m.by or "nobody is named"], ["How it is known", KINDS[m.kind]]]
    if m.confidence:
        lines.append(["Confidence", f"{m.confidence} that the bounds hold, stated apart from delta"])
    values = "may depend on values (MAR or MNAR)" if m.data_dependent else "do not depend on values (MCAR)"
    return [*lines, ["Masks", values]]


def gamma(document: Mapping[str, Any], plan: Plan) -> str:
    without = shown(figures(document["release"])[1]["epsilon"])
    if isinstance(plan.missing, Complete):
        return f"No law was used, so none can be wrong: epsilon {without} holds whatever is missing. {INDEPENDENT}"
    if plan.dependent_rows:
        told = f"Masks of up to {plan.dependent_rows} other rows may follow a record, so no law lowers the figure (T8)."
        return f"{told} What must be true is that it is not more rows."
    if not document["gamma"]:
        return f"For this law no curve can be given. However wrong it is, epsilon {without} holds. {INDEPENDENT}"
    text = "Gamma 1 is the law as stated. At Gamma 2, a record's own values may double or halve the odds that it shows"
    text += " at least a given part of what was asked, for every part and for each block of columns; and so on. However"
    text += " wrong the law is, epsilon never passes"
    return f"{text} {without}, the figure that needs no law. {INDEPENDENT}"


def mask(release: Mapping[str, Any], plan: Plan) -> str:
    known = shown(figures(release)[2]["epsilon"])
    text = f"Somebody who was told which entries of a {whose(plan)} were observed, but not what was in them, faces"
    text += f" epsilon {known} at delta {written(plan.budget.delta)}."
    if plan.dependent_rows:
        text += " The masks of other rows may tell them something by themselves; no mechanism can mend that."
    elif plan.missing.data_dependent:
        text += " The mask may tell them something by itself, before any answer is read; no mechanism can mend that."
    elif not isinstance(plan.missing, Complete):
        text += " The mask alone tells them nothing, because it does not depend on values."
    return text


def budget(release: Mapping[str, Any]) -> str:
    book = release["ledger"]
    e, spent = book["budget"]["epsilon"], shown(book["spent"][book["binding"]])
    text = f"Of a budget of epsilon {e} at delta {book['budget']['delta']}, {spent} is spent"
    text += f" ({book['binding'].replace('_', ' ')} is the reading that the budget limits);"
    text += f" {left(book['remaining'][book['binding']])} is left. Totals are recomputed from all releases together,"
    return text + " never by adding amplified figures."


def noise(document: Mapping[str, Any], plan: Plan) -> str:
    drawn = document["release"]["noise"]
    text = f"{plan.noise_family.capitalize()} noise on {_many(len(plan.scales), 'exact sum')}; every number above is"
    text += " computed from the noisy sums alone. Sums are in units of values rescaled to [-1, 1], scales are rounded"
    text += " up, and what is drawn is rounded to a public grid"
    if drawn["backend"] == "absentia":
        return text + " from random bits of the operating system, without floating-point error."
    return text + f" by {drawn['backend']}, with {drawn['times_planned']:.3g} times the noise that the plan asked for."
