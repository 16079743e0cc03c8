"""The law of every process against brute force over all observed sets, in exact rationals."""

from __future__ import annotations

import json
import math
import time
from fractions import Fraction
from functools import partial
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absentia import missing
from absentia.errors import InputError
from absentia.law.blocks import Blocks
from absentia.law.forms import Forms
from absentia.law.reachlaw import ReachLaw
from absentia.missing.events import Event, worst
from absentia.missing.sampled import Sampled
from absentia.planning.schema import Schema
from absentia.query.reach import Reach, Term

COLUMNS = ("a", "b", "c", "d", "e")
SUBSETS = [frozenset(s) for k in range(6) for s in combinations(COLUMNS, k)]

masses = st.lists(st.integers(1, 9), min_size=1, max_size=6).map(lambda w: [Fraction(x, sum(w)) for x in w])
rates = st.fractions(0, 1, max_denominator=20)
subsets = st.sampled_from(SUBSETS)


@st.composite
def reaches(draw: st.DrawFn, columns: tuple[str, ...] = COLUMNS) -> Reach:
    term = st.builds(
        lambda c, w, some: Term(frozenset(c), w / 8, some),
        st.sets(st.sampled_from(columns), min_size=1, max_size=3),
        st.integers(1, 40),
        st.booleans(),
    )
    return Reach(draw(st.sampled_from([1, 2])), tuple(draw(st.lists(term, min_size=1, max_size=6))))


@st.composite
def listed(draw: st.DrawFn) -> missing.Patterns:
    mass = draw(masses)
    return missing.patterns(COLUMNS, [draw(subsets) for _ in mass], mass)


@st.composite
def factored(draw: st.DrawFn) -> missing.Independent:
    factors = tuple((draw(subsets), draw(rates)) for _ in range(draw(st.integers(0, 6))))
    return missing.Independent(columns=COLUMNS, factors=factors)


@st.composite
def sampled(draw: st.DrawFn) -> Sampled:
    home = [draw(st.integers(0, 3)) for _ in COLUMNS]
    clusters = [[c for c, h in zip(COLUMNS, home, strict=True) if h == i] for i in range(1, 4)]
    return missing.matrix_sampling(COLUMNS, clusters, draw(st.integers(1, 3)))


mcar = st.one_of(listed(), factored(), sampled())


def shown(process: missing.Process) -> dict[frozenset[str], Fraction]:
    """The distribution of the observed set, by the definition of each process (nothing of the library's own law)."""
    out: dict[frozenset[str], Fraction] = {}

    def add(seen: frozenset[str], q: Fraction) -> None:
        out[seen] = out.get(seen, Fraction(0)) + q

    match process:
        case missing.Patterns():
            for seen, q in zip(process.observed, process.mass, strict=True):
                add(seen, q)
        case missing.Independent():
            for on in product([False, True], repeat=len(process.factors)):
                q = math.prod(
                    (p if x else 1 - p for x, (_, p) in zip(on, process.factors, strict=True)), start=Fraction(1)
                )
                hidden = [held for x, (held, _) in zip(on, process.factors, strict=True) if not x]
                add(frozenset(process.columns).difference(*hidden), q)
        case Sampled():
            choices = list(combinations(process.clusters, process.asked))
            core = frozenset(process.columns).difference(*process.clusters)
            for chosen in choices:
                add(core.union(*chosen), Fraction(1, len(choices)))
        case missing.Mixture():
            for part, q in zip(process.parts, process.mass, strict=True):
                for seen, p in shown(part).items():
                    add(seen, p * q)
        case missing.Product():
            together = {frozenset(process.columns): Fraction(1)}
            for part in process.parts:
                last, together = together, {}
                for (x, p), (y, q) in product(last.items(), shown(part).items()):
                    together[x & y] = together.get(x & y, Fraction(0)) + p * q
            return together
    return out


Exact = dict[float, Fraction]


def truth(process: missing.Process, reach: Reach) -> Exact:
    out: Exact = {}
    for seen, q in shown(process).items():
        out[reach(seen)] = out.get(reach(seen), Fraction(0)) + q
    return out


def dominates(law: ReachLaw, exact: Exact) -> bool:
    """Every exact survival probability is at most the law's, compared in rationals."""
    pairs = [(x, sum(q for y, q in exact.items() if y >= x)) for x in exact]
    return all(s <= sum(q for y, q in law.atoms if y >= x) for x, s in pairs)


def close_above(law: ReachLaw, exact: Exact) -> bool:
    """The law dominates, and exceeds by no more than the rounding of its masses."""
    gaps = [law.survival(x) - float(sum(q for y, q in exact.items() if y >= x)) for x in law.reach]
    return dominates(law, exact) and max(gaps) < 1e-12


@given(st.one_of(listed(), sampled(), st.lists(listed(), min_size=1, max_size=3).map(missing.mixture)), reaches())
@settings(max_examples=200, deadline=None)
def test_law_is_exact_on_listed_supports(process: missing.Process, reach: Reach) -> None:
    assert close_above(process.law(reach), truth(process, reach))


@given(factored(), reaches())
@settings(max_examples=200, deadline=None)
def test_law_of_independent_switches(process: missing.Independent, reach: Reach) -> None:
    """Exact when every column has one switch at most (or no "any" term); dominating in every case."""
    law, exact = process.law(reach), truth(process, reach)
    assert dominates(law, exact)
    alone = all(sum(column in held for held, _ in process.factors) <= 1 for column in COLUMNS)
    if alone or not any(term.any for term in reach.terms):
        assert close_above(law, exact)


@given(st.lists(mcar, min_size=1, max_size=3), reaches())
@settings(max_examples=150, deadline=None)
def test_products_are_dominated_and_exact_from_listed_parts(parts: list[missing.Process], reach: Reach) -> None:
    whole = missing.Product(columns=COLUMNS, parts=tuple(parts))
    exact = truth(whole, reach)
    assert dominates(missing.product(*parts).law(reach), exact)
    if all(isinstance(part, missing.Patterns) for part in parts):
        assert close_above(missing.product(*parts).law(reach), exact)


@given(mcar, rates, reaches())
@settings(max_examples=100, deadline=None)
def test_unit_nonresponse_scales_what_is_shown(process: missing.Process, q: Fraction, reach: Reach) -> None:
    law, base = missing.unit_nonresponse(process, q).law(reach), process.law(reach)
    for x in base.reach[1:]:
        assert law.survival(x) == pytest.approx(float(1 - q) * base.survival(x), abs=1e-14)


@given(mcar, st.sets(st.sampled_from(COLUMNS), min_size=1), st.data())
@settings(max_examples=150, deadline=None)
def test_restriction_keeps_the_law_of_queries_inside(
    process: missing.Process, kept: set[str], data: st.DataObject
) -> None:
    columns = tuple(sorted(kept))
    reach = data.draw(reaches(columns))
    small = process.restricted(columns)
    assert small.columns == columns
    assert dominates(small.law(reach), truth(process, reach))
    assert small.law(reach).dominated_by(process.law(reach))


@given(mcar, reaches(), st.integers(1, 100))
@settings(max_examples=60, deadline=None)
def test_bounded_weights_scale_the_reach(process: missing.Process, reach: Reach, maximum: int) -> None:
    heavy, light = process.law(reach.scaled(maximum)), process.law(reach)
    for x, q in zip(light.reach, light.mass, strict=True):
        near = [m for y, m in zip(heavy.reach, heavy.mass, strict=True) if math.isclose(y, maximum * x, rel_tol=1e-12)]
        assert near == pytest.approx([q]) or q < 1e-13


@given(st.lists(st.integers(0, 20), min_size=6, max_size=6).filter(sum), reaches(), st.randoms())
@settings(max_examples=150, deadline=None)
def test_counts_dominate_every_process_with_these_counts(weights: list[int], reach: Reach, random) -> None:  # type: ignore[no-untyped-def]
    mass = [Fraction(w, sum(weights)) for w in weights]
    law = missing.counts(COLUMNS, mass).law(reach)
    seen = [random.choice([s for s in SUBSETS if len(s) == k]) for k in range(6)]
    assert dominates(law, truth(missing.patterns(COLUMNS, seen, mass), reach))


@given(reaches(), st.integers(0, 5))
@settings(max_examples=300, deadline=None)
def test_worst_is_at_least_the_true_worst(reach: Reach, k: int) -> None:
    places = {column: i for i, column in enumerate(COLUMNS)}
    events = [Event(frozenset(places[c] for c in t.columns), Fraction(t.weight), t.any) for t in reach.terms]
    true = max(
        sum((Fraction(t.weight) for t in reach.terms if t.holds(s)), Fraction(0)) for s in SUBSETS if len(s) == k
    )
    assert worst(events, k) >= true
    if all(len(t.columns) == 1 for t in reach.terms):
        assert worst(events, k) == true


def test_symmetric_pair_tables_are_exact_by_counts() -> None:
    """18 columns and all their pairs: one component too large to enumerate, exact through symmetry."""
    columns = [f"c{i}" for i in range(18)]
    terms = [Term(frozenset({x}), 1.0) for x in columns] + [Term(frozenset(p), 0.5) for p in combinations(columns, 2)]
    law = missing.independent(columns, dict.fromkeys(columns, "0.3")).law(Reach(1, terms))
    for k, (level, mass) in enumerate(law.atoms):
        p = Fraction(3, 10)
        assert level == k + k * (k - 1) / 4
        assert float(mass) == pytest.approx(float(math.comb(18, k) * p**k * (1 - p) ** (18 - k)), rel=1e-12)


def test_a_large_component_is_never_below_the_truth() -> None:
    """A chain of 17 columns (too long to enumerate) against its exact law, by a transfer matrix over the chain."""
    n, p = 17, Fraction(2, 5)
    columns = [f"c{i}" for i in range(n)]
    reach = Reach(1, [Term(frozenset({columns[i], columns[i + 1]}), float(i + 1)) for i in range(n - 1)])
    state: dict[tuple[bool, int], Fraction] = {(True, 0): p, (False, 0): 1 - p}
    for i in range(n - 1):
        after: dict[tuple[bool, int], Fraction] = {}
        for (last, total), q in state.items():
            for now, share in ((True, p), (False, 1 - p)):
                key = (now, total + (i + 1) * (last and now))
                after[key] = after.get(key, Fraction(0)) + q * share
        state = after
    totals: dict[int, Fraction] = {}
    for (_, total), q in state.items():
        totals[total] = totals.get(total, Fraction(0)) + q
    exact = {float(x): q for x, q in totals.items()}
    law = missing.independent(columns, dict.fromkeys(columns, p)).law(reach)
    assert dominates(law, exact)
    assert law.max == max(exact)


def test_many_different_columns_stay_close_above_their_mean_and_tail() -> None:
    """300 columns of different weights and rates: a grid law, never below exact moments, within 0.2 % of the mean."""
    n = 300
    columns = [f"c{i}" for i in range(n)]
    p = [Fraction(1 + i % 37, 100) for i in range(n)]
    w = [1 + (i * 7 % 101) / 64 for i in range(n)]
    process = missing.independent(columns, dict(zip(columns, p, strict=True)))
    law = process.law(Reach(1, [Term(frozenset({c}), x) for c, x in zip(columns, w, strict=True)]))
    mean = float(sum(q * Fraction(x) for q, x in zip(p, w, strict=True)))
    assert mean <= law.mean <= mean * 1.002
    for order in (-0.25, 0.25):  # exponential moments, exact for a sum of independent parts
        exact = sum(math.log1p(float(q) * math.expm1(order * x)) for q, x in zip(p, w, strict=True))
        ours = math.log(sum(float(q) * math.exp(order * x) for x, q in law.atoms))
        assert (ours - exact) * order >= 0
        assert ours == pytest.approx(exact, rel=0.005)
    assert len(law.reach) <= 1024


def test_rotation_of_thirteen_booklets_is_balanced() -> None:
    columns = [f"q{i}" for i in range(13)]
    design = missing.rotation(columns, [[c] for c in columns])
    met = [sum({x, y} <= seen for seen in design.observed) for x, y in combinations(columns, 2)]
    assert set(met) == {1}
    assert {len(seen) for seen in design.observed} == {4}
    assert design.kind == "design"


def test_rotating_panel_gives_each_wave_its_groups() -> None:
    waves = [[f"w{t}a", f"w{t}b"] for t in range(6)]
    panel = missing.rotating_panel([c for wave in waves for c in wave], waves, stay=4)
    law = panel.law(Reach(1, [Term(frozenset({"w0a"}), 1.0)]))
    assert len(panel.observed) == 9
    assert law.p_exact == pytest.approx(Fraction(4, 9))
    ends = panel.law(Reach(1, [Term(frozenset({"w0a", "w5b"}), 1.0)]))
    assert ends.p_star == 0.0


def test_three_form_and_split_designs_have_a_core() -> None:
    columns = ["age", "x", "y", "z"]
    three = missing.three_form(columns, [["x"], ["y"], ["z"]])
    assert three.observed == (frozenset({"age", "x", "y"}), frozenset({"age", "x", "z"}), frozenset({"age", "y", "z"}))
    assert missing.planned(columns, [["x", "y"], ["x", "z"], ["y", "z"]]).observed == three.observed


def test_thousand_clusters_are_never_listed() -> None:
    columns = [f"q{i}" for i in range(1000)]
    design = missing.matrix_sampling(columns, [[c] for c in columns], 10)
    asked = design.observed_count(columns[:3])
    hypergeometric = [Fraction(math.comb(3, k) * math.comb(997, 10 - k), math.comb(1000, 10)) for k in range(4)]
    assert asked.reach == (0.0, 1.0, 2.0, 3.0)
    assert [float(q) for _, q in asked.atoms] == pytest.approx([float(q) for q in hypergeometric], rel=1e-12)


def test_subsampling_and_bounds_read_as_declared() -> None:
    assert (
        missing.subsampling(COLUMNS, "0.3").observed_count().atoms
        == missing.bounds(COLUMNS, "0.3").observed_count().atoms
    )
    law = missing.bounds(COLUMNS, "0.72", rho="0.5", eta="0.01").observed_count()
    assert law.reach == (0.0, 2.0, 5.0)
    assert law.data_dependent
    assert missing.bounds([f"c{i}" for i in range(100)], 1, rho=0.29).observed_count().max == 29.0


def every_process() -> list[missing.Process]:
    three = missing.planned(COLUMNS, [["a", "b"], ["a", "c"], ["b", "c"]], because="three forms", by="office")
    items = missing.independent(COLUMNS, {"a": "0.7", "d": "1/3"})
    score = {"intercept": "0.5", "c": "-1.25"}
    domain = {"c": [10, 60], "e": ["no", "yes"]}
    mar = missing.mar(COLUMNS, [{"missing": ["a", "b"], "mass": "0.5", "score": score}], domain)
    logit = missing.mnar_logistic(COLUMNS, {"a": {"intercept": "0", "e": {"yes": "2"}, "c": "1"}}, domain)
    return [
        three,
        missing.rotation([f"q{i}" for i in range(13)], [[f"q{i}"] for i in range(13)]),
        missing.matrix_sampling(COLUMNS, [["a"], ["b", "c"], ["d"]], 2),
        items,
        missing.independent_blocks(COLUMNS, [["a", "b"], ["c"]], ["0.2", "0.9"]),
        missing.counts(COLUMNS, ["0.1", "0.2", "0.3", "0.4"]),
        missing.bounds(COLUMNS, "0.72", k=2, eta="0.001"),
        mar,
        logit,
        missing.mnar_censoring(COLUMNS, {"c": ("50", "1", "0.1")}, domain),
        missing.mnar_self_masking(COLUMNS, {"a": ("-1", "2")}),
        missing.classes(COLUMNS, [{"a": "0.9"}, {"a": "0.1", "b": "0.2"}], ["0.25", "0.75"]),
        missing.unit_nonresponse(three, "0.3"),
        missing.product(three, items),
        missing.product(items, logit),
        missing.nonresponse_on(three),
        missing.without(COLUMNS),
        missing.without(),
        missing.gamma(mar, "1.5"),
    ]


@pytest.mark.parametrize("process", every_process(), ids=lambda p: p.name)
def test_every_process_is_rebuilt_from_plain_text(process: missing.Process) -> None:
    text = json.dumps(process.to_dict())
    again = missing.from_dict(json.loads(text))
    assert again == process
    assert hash(again) == hash(process)
    assert "None" not in text
    assert "null" not in text


@pytest.mark.parametrize("process", every_process(), ids=lambda p: p.name)
def test_every_process_obeys_the_laws_of_nature(process: missing.Process) -> None:
    """A smaller query never has the larger law; the law knows who claimed it; the text names p*."""
    if not process.columns:
        return
    small = Reach(2, [Term(frozenset({process.columns[0]}), 1.0)])
    large = Reach(2, [Term(frozenset({c}), 2.0) for c in process.columns])
    law = process.law(large)
    assert all(process.law(small).survival(x) <= law.survival(x) + 1e-15 for x in law.reach)
    assert law.full_reach >= law.max
    assert (law.because, law.by, law.kind, law.data_dependent) == (
        process.because,
        process.by,
        process.kind,
        process.data_dependent,
    )
    assert "p* = " in process.describe()
    assert process.believed(because="said so").law(small).because == "said so"


def test_a_query_on_unknown_columns_is_refused() -> None:
    with pytest.raises(InputError):
        missing.without(COLUMNS).law(Reach(1, [Term(frozenset({"zz"}), 1.0)]))
    assert missing.without().law(Reach(1, [Term(frozenset({"zz"}), 1.0)])).p_star == 1.0


def test_a_plan_says_only_what_its_schema_does_not() -> None:
    """Columns, bounds and values come from the schema; `planned` and `bounds` are spelled as in Python."""
    schema = Schema.from_dict(
        {
            "columns": {
                "x": {"kind": "number", "bounds": [0, 10]},
                "y": {"kind": "number", "bounds": [0, 1]},
                "sex": {"kind": "category", "values": ["f", "m"]},
                "ill": {"kind": "boolean"},
            }
        }
    )
    read = partial(missing.from_dict, schema=schema)
    asked = [["x"], ["y", "sex"]]
    assert read({"process": "planned", "asked": asked, "because": "b"}) == missing.planned(schema, asked, because="b")
    assert read({"process": "bounds", "p_star": "0.7", "k": 2}) == missing.bounds(schema, "0.7", k=2)
    assert read({"process": "independent", "observed": {"x": "0.5"}}) == missing.independent(schema, {"x": "0.5"})
    censored = read(
        {"process": "column model", "missing": [{"of": "x", "column": "x", "at": "0.5", "high": 1, "low": 0}]}
    )
    assert censored == missing.mnar_censoring(schema, {"x": ("7.5", 1, 0)})
    model = missing.mnar_logistic(schema, {"x": {"intercept": 0, "sex": {"f": 1}, "ill": {True: "0.5"}}})
    assert missing.from_dict(model.to_dict()) == model


def test_many_columns_stay_fast() -> None:
    """1,000 self-masking columns: one block each, the law of the total, both in seconds."""
    columns = [f"c{i}" for i in range(1000)]
    process = missing.mnar_self_masking(columns, dict.fromkeys(columns, ("1", "0.5")))
    reach = Reach(2, [Term(frozenset({c}), 1.0) for c in columns])
    start = time.perf_counter()
    blocks, law = process.joint(reach), process.law(reach)
    assert time.perf_counter() - start < 30
    assert isinstance(blocks, Blocks)
    assert len(blocks.blocks) == 1000
    assert law.max <= math.sqrt(1000) * (1 + 1e-12)


def test_the_whole_says_what_its_parts_say() -> None:
    design = missing.planned(COLUMNS, [["a"], ["b"]], because="two forms", by="office")
    answers = missing.independent(COLUMNS, {"a": "0.9"}, because="last wave", by="office")
    both = missing.product(design, answers)
    assert (both.because, both.by, both.kind) == ("two forms; last wave", "office", "declared")
    assert missing.nonresponse_on(design).because == "two forms"


def test_a_part_without_a_reason_leaves_the_whole_without_one() -> None:
    """A reason for the forms is none for who answers: the plan is then refused (H13) until somebody gives it."""
    design = missing.planned(COLUMNS, [["a"], ["b"]], because="two forms", by="office")
    unsaid = missing.independent(COLUMNS, {"a": "0.9"})
    for whole in (
        missing.product(design, unsaid),
        missing.mixture([design, unsaid]),
        missing.unit_nonresponse(design, "0.1"),
    ):
        assert (whole.because, whole.by) == ("", "")
    assert missing.unit_nonresponse(design, "0.1", because="log of visits").because == "log of visits"
    assert missing.mixture([design, design]).because == "two forms"


def test_patterns_that_depend_on_values_are_no_design() -> None:
    """T10 and mixing form by form need forms drawn independently of the record."""
    patterns = missing.planned(COLUMNS, [["a"], ["b"]])
    steered = missing.from_dict({**patterns.to_dict(), "data_dependent": True})
    reach = Reach(2, [Term(frozenset({c}), 1.0) for c in COLUMNS])
    assert isinstance(patterns.joint(reach), Forms)
    assert isinstance(steered.joint(reach), ReachLaw)
    hidden = missing.independent(COLUMNS, {"a": 0})
    by_form = missing.product(patterns, hidden).law(reach)
    steered_law = missing.product(steered, hidden).law(reach)
    assert by_form.dominated_by(steered_law)
    assert steered_law.mean > by_form.mean
