"""A browser, and a server of its own with an experiment that has a past, for tests of the page."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from latentbandits.serve import demo
from latentbandits.store import Create, Decide, Ledger, Reward, Spec, SQLite
from tests.services import ADMIN, Process

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]  # fmt: skip
PATIENCE = 30_000  # milliseconds: machines can be busy
MINUTE = 60_000_000  # microseconds
# Ten times as often as users have it: messages of the live view, and what the page reads and tries again
FIRST = "from latentbandits.serve import monitor; monitor.EVERY = 0.1"
OFTEN = """const later = window.setTimeout;
window.setTimeout = (work, ms, ...given) => later(work, [500, 1000, 2000, 4000, 5000].includes(ms) ? ms / 10 : ms, ...given);"""


@contextmanager
def browser() -> Iterator[Browser]:
    """Start a browser; where there is none tests are skipped, but not in continuous integration."""
    if BROWSER is None:
        if os.environ.get("CI") == "true":
            pytest.fail("Chromium is missing")
        pytest.skip("no Chromium on this machine; CI has one")
    with sync_playwright() as tools:
        found = tools.chromium.launch(executable_path=BROWSER, args=FLAGS)
        try:
            yield found
        finally:
            found.close()


class Site:
    """A server with the experiment of the demonstration, a short past, and `old`, of which nothing was heard for long."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        storage = SQLite(folder / "page.db")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(demo, "PAST_MINUTES", 14)
            patch.setattr(demo, "PAST_PER_MINUTE", 12)
            patch.setattr(demo, "PAST_STAY", 5)
            demo.past(storage, compiled=False)
        _old(storage)
        storage.close()
        self.process = Process(folder, "--store", "page.db", "--port", "0", first=FIRST)
        self.url = self.process.url
        self.http = httpx.Client(base_url=f"{self.url}/v1", timeout=30)

    def again(self) -> None:
        """Start a server that was killed, at the same address."""
        self.process = Process(self.folder, "--store", "page.db", "--port", self.url.rpartition(":")[2], first=FIRST)

    def send(self, method: str, path: str, body: Any = None, secret: str = ADMIN) -> Any:
        found = self.http.request(method, path, json=body, headers={"authorization": f"Bearer {secret}"})
        assert found.is_success, found.text
        return found.json()

    def make(self, name: str, policy: str = "ucb1", arms: Any = ("red", "blue"), **given: Any) -> str:
        """Make an experiment that is live, and return its name."""
        self.send(
            "POST", "/experiments", {"name": name, "policy": policy, "arms": list(arms), "status": "live", **given}
        )
        return name

    def play(self, name: str, rounds: int = 1, reward: float = 0.5, subject: str = "u") -> list[str]:
        """Decide and tell; return the ids."""
        made = self.send("POST", f"/experiments/{name}/decide/batch", {"rounds": [{"subject": subject}] * rounds})[
            "decisions"
        ]
        told = [{"id": one["id"], "reward": reward} for one in made]
        self.send("POST", f"/experiments/{name}/reward/batch", {"rewards": told})
        return [one["id"] for one in made]

    def key(self, *roles: str, **given: Any) -> str:
        return str(self.send("POST", "/keys", {"name": "-".join(roles), "roles": list(roles), **given})["secret"])


def wait_until(true: Callable[[], bool]) -> None:
    """Wait for what is read from the page and the service at once."""
    end = time.monotonic() + PATIENCE / 1000
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


def _old(storage: SQLite) -> None:
    """Make an experiment whose last event is 40 minutes old."""
    now = time.time_ns() // 1000 - 40 * MINUTE
    ledger = Ledger(storage, lambda: now, compiled=False)
    ledger.call(Create("old", Spec.of("ucb1", ("red", "blue")), "live", "test"))
    made = ledger.call(Decide("old"))
    ledger.call(Reward("old", made.id, 1.0))


class Visit:
    """A page that somebody opens; what the console says is kept, and so is every address that is asked."""

    def __init__(self, found: Browser, url: str, **settings: Any) -> None:
        self.context = found.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings})
        self.context.add_init_script(OFTEN)
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.url, self.said = url, list[str]()
        self.asked = list[str]()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda problem: self.said.append(str(problem)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.said.append(message.text)

    def enter(self, experiment: str = "demo-offers", secret: str = ADMIN) -> Page:
        """Open an experiment with a key."""
        self.page.goto(f"{self.url}/#{experiment}")
        self.page.fill("#key", secret)
        self.page.press("#key", "Enter")
        return self.page


def number(page: Page, name: str) -> int:
    """Return a number of the reward pipe."""
    text = page.locator("#health div", has=page.get_by_text(name, exact=True)).locator("dd").inner_text()
    return int(text.split()[0].replace(",", ""))


def said(belief: float) -> str:
    """Return how the page says a belief: never as certain, unless it is."""
    return "over 0.99" if 0.995 <= belief < 1 else "under 0.01" if 0 < belief < 0.005 else f"{belief:.2f}"


def confirmed(page: Page, button: str) -> None:
    page.locator("#actions").get_by_role("button", name=button).click()
    page.locator("#dialog-do").click()
