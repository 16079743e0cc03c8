"""Shared by all tests: where the real datasets are, and no silent skip where CI runs."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import matplotlib
import pytest
from hypothesis import HealthCheck, settings

matplotlib.use("Agg")

settings.register_profile("absentia", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("absentia")

DATA = Path(os.environ.get("ABSENTIA_DATA", Path(__file__).parents[1].parent / "shared" / "data"))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real datasets that are not bundled (variable ABSENTIA_DATA, default ../shared/data)."""
    if not DATA.is_dir():
        pytest.skip(f"the real datasets are not bundled; name their folder in ABSENTIA_DATA (looked in {DATA.name}/)")
    return DATA


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, None, None]:
    """With ABSENTIA_NO_SKIPS set, a skipped test is a failed one."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if os.environ.get("ABSENTIA_NO_SKIPS") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be skipped: {report.longrepr}"
