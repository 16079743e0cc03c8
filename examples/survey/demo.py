"""The whole job on the bundled survey: plan, budget book, release, card. Takes seconds.

python3 dev.py demo                              (or: python examples/survey/demo.py DIRECTORY)
"""

from __future__ import annotations

import sys
from pathlib import Path

import absentia as ab

HERE = Path(__file__).resolve().parent


def main(directory: str) -> None:
    out = unused(Path(directory))

    title("1. The plan: promise, noise and errors, before any data is opened")
    plan = ab.Plan.load(HERE / "plan.toml")
    print(plan)
    print("\n" + compared(plan))

    title("2. The budget book, and the release: charged first, then drawn")
    ledger = out / "study.ledger"
    with ab.Ledger.create(ledger, plan) as book:
        release = plan.release(HERE / "people.csv", book, purpose="Table 2 of the demo")
        print(release)
        print("\n" + book.show())
    written = release.save(out)

    title("3. Where to look")
    for path in written:
        print(f"  {path}")
    print(f"  {ledger}")
    print("\nEvery run of this demo opens a book of its own, because nobody in the survey exists.")
    print("Real data have one book for good: opening a second one would spend their budget twice.")
    page = out / "card.html"
    if page in written:
        print(f"\nOpen {page} in a browser.")
    print("\nFor your own table: `source .venv/bin/activate`, then `absentia --help` (see the README).")


def compared(plan: ab.Plan) -> str:
    """The same queries and the same budget, without using the missingness."""
    everything = ab.missing.without(plan.schema)
    plain = ab.plan(plan.schema, plan.queries, everything, budget=plan.budget)
    lines = [f"{'noise in a count, standard deviation':<44}{'rows':>8}{'people for the same mean':>27}"]
    for name, p, more in (("using the missingness", plan, 1.0), ("the same plan, not using it", plain, plan.saving)):
        lines.append(f"  {name:<42}{min(p.noise_sd.values()):>8.1f}{more * (plan.n or 1):>27,.0f}")
    return "\n".join(lines)


def unused(directory: Path) -> Path:
    """The directory, or a run-2, run-3, ... inside it: no release is written over another."""
    places = (directory, *(directory / f"run-{i}" for i in range(2, 10**6)))
    found = next(place for place in places if not (place / "study.ledger").exists())
    found.mkdir(parents=True, exist_ok=True)
    return found


def title(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "demo-out")
