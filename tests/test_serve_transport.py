"""Answers leave whole: what is written within one turn of the event loop is sent at once."""

import asyncio
from typing import Any

import pytest

from latentbandits.serve.transport import MOST, Joined


class Line:
    """A transport that notes what is sent."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.sent.append(data)

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


async def after(*acts: Any) -> list[bytes]:
    """Do something with a transport, let the loop turn once, and return what was sent."""
    line = Line()
    joined = Joined(line)
    for act in acts:
        act(joined)
    await asyncio.sleep(0)
    return line.sent


@pytest.mark.parametrize(
    ("acts", "sent"),
    [
        pytest.param([lambda t: t.write(b"head"), lambda t: t.write(b"body")], [b"headbody"], id="one answer"),
        pytest.param([lambda t: t.write(b"last"), lambda t: t.close()], [b"last"], id="closed in the same turn"),
        pytest.param([lambda t: t._transport.close()], [], id="nothing"),
        pytest.param([lambda t: t.write(b"x"), lambda t: t._transport.close()], [], id="whoever asked is gone"),
        pytest.param(
            [lambda t: t.write(b"x" * MOST), lambda t: t.write(b"y"), lambda t: t.write(b"z")],
            [b"x" * MOST + b"y", b"z"],
            id="a long one does not wait in memory",
        ),
    ],
)
def test_what_is_written_in_one_turn_is_sent_at_once(acts: list[Any], sent: list[bytes]) -> None:
    assert asyncio.run(after(*acts)) == sent


def test_turns_do_not_wait_for_each_other() -> None:
    async def main() -> list[bytes]:
        line = Line()
        joined = Joined(line)
        for part in (b"a", b"b"):
            joined.write(part)
            await asyncio.sleep(0)
        return line.sent

    assert asyncio.run(main()) == [b"a", b"b"]
    assert not Line().is_closing()  # everything else is the transport's own
