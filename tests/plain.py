"""A pytest plugin for `make test-plain`, where all code is interpreted, about a thousand times slower.

A test that takes longer than a limit is skipped and counted as such: nothing is judged by what was not run.
"""

import signal
from collections.abc import Generator
from types import FrameType
from typing import Any

import hypothesis
import pytest

from latentbandits.policies import bayes_imagination

SECONDS = 120
IMAGINED = 200  # rounds of the limit's imagined run


def pytest_configure() -> None:
    """Give slow tests time, and the limit a shorter imagination; only where this is a plugin, not where it is collected."""
    hypothesis.settings.register_profile("plain", deadline=None)
    hypothesis.settings.load_profile("plain")
    bayes_imagination.IMAGINED = IMAGINED


def _skip(_: int, __: FrameType | None) -> None:
    pytest.skip(f"takes longer than {SECONDS} s without compilation")


def _limited() -> Generator[None, Any, Any]:
    before = signal.signal(signal.SIGALRM, _skip)
    signal.alarm(SECONDS)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, Any, Any]:
    """Limit the time that a fixture takes."""
    return (yield from _limited())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, Any, Any]:
    """Limit the time that a test takes."""
    return (yield from _limited())
