"""An interrupt or a failing engine ends the pass at once, leaves no file, and says nothing about cells."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from absentia.errors import InputError
from absentia.planning.schema import Schema
from absentia.table.aggregate import profile_counts
from absentia.table.source import Source

ENDLESS = """
import itertools, sys
import pyarrow as pa
from absentia.planning.schema import Schema
from absentia.table import units
from absentia.table.aggregate import profile_counts
from absentia.table.source import Source
units.HELD = 10_000
schema = Schema.from_dict({"unit": "p", "columns": {"a": {"kind": "boolean"}}})
batch = pa.table({"p": list(range(500)), "a": [True] * 500})
def streams(columns):
    for i in itertools.count():
        if i == 20:
            print("running", flush=True)
        yield [batch]
profile_counts(Source(("p", "a"), streams), schema)
"""


def test_interrupt_leaves_nothing_behind(tmp_path: Path) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    child = subprocess.Popen([sys.executable, "-c", ENDLESS], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip # noqa: E501
    assert child.stdout is not None
    assert child.stdout.readline() == b"running\n"
    time.sleep(0.2)
    assert list(tmp_path.iterdir())
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode != 0
    assert errors.rstrip().endswith(b"KeyboardInterrupt")
    assert not list(tmp_path.iterdir())


def test_a_failing_engine_is_ours_and_stops_the_other_thread() -> None:
    taken = 0

    def slow() -> Iterator[pa.Table]:
        nonlocal taken
        for _ in range(10_000):
            taken += 1
            time.sleep(0.001)
            yield pa.table({"a": [True]})

    def failing() -> Iterator[pa.Table]:
        time.sleep(0.05)
        raise pl.exceptions.ComputeError("could not parse SECRET")
        yield

    source = Source(("a",), lambda columns: iter([slow(), failing()]))
    with pytest.raises(InputError, match="E-READ") as refused:
        profile_counts(source, Schema.from_dict({"columns": {"a": {"kind": "boolean"}}}))
    assert "SECRET" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert taken < 5_000
