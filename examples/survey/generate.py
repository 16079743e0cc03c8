"""The bundled survey, from nothing: 9,000 invented people, the same bytes every time.

    python examples/survey/generate.py [people.csv]

Nobody in it exists. Everybody is asked age, sex and region; of three blocks of health questions each person is asked
two, and which two is drawn by chance, apart from everything else. That draw is the whole reason for the empty cells.
"""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path

import numpy as np

PEOPLE = 9000
SEED = 20_260_101
AGE_GROUPS = ((18, "18-34"), (35, "35-49"), (50, "50-64"), (65, "65-79"), (80, "80+"))
REGIONS = ("north", "east", "south", "west")
CORE = ("age", "age_group", "sex", "region")
BLOCKS = {
    "A": ("bmi", "waist", "activity"),
    "B": ("systolic", "cholesterol", "diabetes"),
    "C": ("smoker", "sleep", "wellbeing"),
}
FORMS = (("A", "B"), ("A", "C"), ("B", "C"))
Person = dict[str, str]


def people(count: int = PEOPLE, seed: int = SEED) -> list[Person]:
    """Complete answers of `count` people. RandomState: its stream is frozen, so the file never changes."""
    rng = np.random.RandomState(seed)
    return [person(rng) for _ in range(count)]


def person(rng: np.random.RandomState) -> Person:
    """One set of answers; health gets worse with age and weight, so that there is something to find."""
    age = int(18 + 77 * rng.beta(1.3, 1.7))
    sex = "f" if rng.uniform() < 0.52 else "m"
    bmi = within(rng.normal(25.2 + 0.04 * (age - 45) + (0.6 if sex == "m" else 0.0), 4.2), 15, 45)
    waist = within(2.3 * bmi + (36 if sex == "m" else 29) + rng.normal(0, 5.5), 50, 150)
    systolic = within(rng.normal(124 + 0.5 * (age - 45) + 1.2 * (bmi - 25), 12), 90, 190)
    cholesterol = within(rng.normal(190 + 0.5 * (age - 45) + 1.6 * (bmi - 25), 32), 90, 330)
    diabetic = rng.uniform() < 1 / (1 + math.exp(2.6 - 0.04 * (age - 45) - 0.16 * (bmi - 25)))
    activity = within(rng.gamma(2.0, max(40.0, 95 - 0.5 * (age - 45) - 3 * (bmi - 25))), 0, 1500)
    sleep = within(rng.normal(7.1 - 0.006 * (age - 45), 1.1), 3, 12)
    wellbeing = within(rng.normal(60 + 3 * (sleep - 7) - 1.6 * (bmi - 25), 14), 0, 100)
    return {
        "age": str(age),
        "age_group": next(name for start, name in reversed(AGE_GROUPS) if age >= start),
        "sex": sex,
        "region": REGIONS[int(rng.choice(4, p=(0.22, 0.18, 0.34, 0.26)))],
        "bmi": f"{bmi:.1f}",
        "waist": f"{waist:.0f}",
        "activity": f"{activity:.0f}",
        "systolic": f"{systolic:.0f}",
        "cholesterol": f"{cholesterol:.0f}",
        "diabetes": "yes" if diabetic else "no",
        "smoker": "yes" if rng.uniform() < 0.24 - 0.002 * (age - 45) else "no",
        "sleep": f"{sleep:.1f}",
        "wellbeing": f"{wellbeing:.0f}",
    }


def within(value: float, low: float, high: float) -> float:
    return float(min(max(value, low), high))


def asked(answers: list[Person], seed: int = SEED + 1) -> list[Person]:
    """The answers that the form of each person asks for; the others are left empty."""
    rng = np.random.RandomState(seed)
    forms = [FORMS[int(i)] for i in rng.choice(len(FORMS), size=len(answers))]
    return [shown(answer, form) for answer, form in zip(answers, forms, strict=True)]


def shown(answer: Person, form: tuple[str, ...]) -> Person:
    kept = {*CORE, *(column for block in form for column in BLOCKS[block])}
    return {column: value if column in kept else "" for column, value in answer.items()}


def write(path: Path, rows: list[Person]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("people.csv")
    write(target, asked(people()))
