"""The page, in a browser: what it says, what people can do there, and what it says when something is missing."""

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from latentbandits.serve.page import FOLDER
from tests.browser import PATIENCE, Site, Visit, browser, confirmed, number, said, wait_until
from tests.services import ADMIN

HOSTILE = '<img src=x onerror="window.hacked=1">'
TEXTS = "(asked) => asked.map((one) => document.querySelector(one).textContent)"
Open = Callable[..., Visit]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE)
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def site(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    found = Site(tmp_path_factory.mktemp("page"))
    yield found
    found.process.kill()
    found.http.close()


@pytest.fixture
def visit(chromium: Browser, site: Site) -> Iterator[Open]:
    """Open pages; none may say anything on the console or ask another address, unless a test expects it and clears it."""
    made: list[Visit] = []

    def begin(**settings: Any) -> Visit:
        made.append(Visit(chromium, site.url, **settings))
        return made[-1]

    yield begin
    for one in made:
        one.context.close()
        assert one.said == []
        assert all(address.startswith(f"{site.url}/") for address in one.asked)


def test_the_key_is_asked_for_once_and_stays_in_the_tab(visit: Open, site: Site) -> None:
    one = visit()
    page = one.page
    page.goto(site.url)
    expect(page.locator("#key")).to_be_focused()
    page.fill("#key", "lb_wrong000_" + "x" * 43)
    page.press("#key", "Enter")
    expect(page.locator("#refused")).to_contain_text("This key is not known")
    assert all("401" in line for line in one.said)
    one.said.clear()
    page.fill("#key", ADMIN)
    page.press("#key", "Enter")
    expect(page.locator("#best")).to_contain_text("Best now: ")
    assert ADMIN not in page.content()
    page.reload()
    expect(page.locator("#best")).to_contain_text("Best now: ")
    page.goto("about:blank")
    page.goto(f"{site.url}/#key={ADMIN}")
    expect(page.locator("#best")).to_contain_text("Best now: ")
    assert ADMIN not in page.url
    page.click("#leave")
    expect(page.locator("#key")).to_be_visible()
    assert page.evaluate("sessionStorage.length + localStorage.length + document.cookie.length") == 0
    assert not any(ADMIN in address for address in one.asked)


def test_the_top_says_what_is_best_now_the_gain_and_the_pipe(visit: Open, site: Site) -> None:
    page = visit().enter()

    def says_what_is_told() -> bool:
        """Compare both anew: windows that close may change all of it between two reads."""
        now = site.send("GET", "/experiments/demo-offers/now")
        best = rf"Best now: {now['best']['arm']}, belief {said(now['best']['belief'])}, since (\d+ \w+ )?\d\d:\d\d"
        regime = f"belief {said(now['regime']['probability'])}" in page.locator("#regime").inner_text()
        whole = regime and number(page, "rewards") == now["health"]["rewarded"]
        return whole and re.fullmatch(best, page.locator("#best").inner_text()) is not None

    wait_until(says_what_is_told)
    expect(page.locator("#seen")).to_have_text(re.compile(r"^(Seen before: \d+(st|nd|rd|th) visit|First visit)"))
    gain = site.send("GET", "/experiments/demo-offers/gain")
    low, high = gain["low"] or 0, gain["high"] or 0
    verdict = "Yes" if low > 0 else "No, less" if high < 0 else "Not clear yet"
    expect(page.locator("#gain")).to_have_text(re.compile(rf"^{verdict}: [+\u2212][\d.]+ per decision$"))
    expect(page.locator("#gain-more")).to_contain_text("95 % interval")
    expect(page.locator("#pipe")).to_have_text("Healthy")
    assert "winner" not in page.locator("body").inner_text().lower()


def test_charts_have_tables_with_the_numbers_of_the_service(visit: Open, site: Site) -> None:
    page = visit().enter()
    lines = page.locator("#belief-chart line.change")

    def drawn_as_told() -> bool:
        """Compare both anew: windows that close may change the present regime between two reads."""
        minutes = site.send("GET", "/experiments/demo-offers/timeline")["minutes"]
        changes = sum(bool(a["current"] != b["current"]) for a, b in itertools.pairwise(minutes))
        return changes > 0 and lines.count() == changes

    wait_until(drawn_as_told)
    page.click("#visits-table summary")
    wait_until(lambda: page.locator("#visits-table tbody tr").count() == 1 + lines.count())
    page.click("#allocation-table summary")
    counts = page.locator("#allocation-table tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].slice(1).map(cell => Number(cell.textContent)))"
    )
    assert all(row[0] == sum(row[1:]) for row in counts)
    assert sum(row[0] for row in counts) == site.send("GET", "/experiments/demo-offers/now")["health"]["decided"]
    for name in ("belief", "reward", "delay"):
        page.click(f"#{name}-table summary")
        expect(page.locator(f"#{name}-table tbody tr").first).to_be_visible()
    regimes = site.send("GET", "/experiments/demo-offers/regimes")["regimes"]
    expect(page.locator("article.regime")).to_have_count(len(regimes))
    expect(page.locator("article.regime tbody tr")).to_have_count(sum(len(one["arms"]) for one in regimes))
    colours = page.locator("article.regime tbody th").evaluate_all(
        "cells => [...new Set(cells.map(cell => cell.textContent + ' ' + cell.firstChild.className))]"
    )
    assert len(colours) == 3  # the same colour for the same arm in all regimes
    page.locator("#belief-chart svg").hover(position={"x": 400, "y": 80})
    expect(page.locator("#belief-chart output")).to_have_text(re.compile(r"^\d\d:\d\d: .+ [01]\.\d\d"))


def test_numbers_move_while_the_page_is_open(visit: Open, site: Site) -> None:
    site.play(site.make("moving"), 3)
    page = visit().enter("moving")
    expect(page.locator("#tail tbody tr")).to_have_count(8)  # with the making of it, and its status
    assert number(page, "rewards") == 3
    site.play("moving", 4)
    expect(page.locator("#health")).to_contain_text("7 since the start")
    expect(page.locator("#tail tbody tr")).to_have_count(16)
    page.click("#pause")
    site.play("moving", 2)
    expect(page.locator("#health")).to_contain_text("9 since the start")
    expect(page.locator("#tail tbody tr")).to_have_count(16)
    page.click("#pause")
    expect(page.locator("#tail tbody tr")).to_have_count(20)


def test_freeze_resume_and_kill_ask_first_and_are_recorded(visit: Open, site: Site) -> None:
    site.play(site.make("stopping"))
    page = visit().enter("stopping")
    status = page.locator("#status")
    page.get_by_role("button", name="Freeze").click()
    expect(page.locator("#dialog-cancel")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#dialog")).to_be_hidden()
    assert site.send("GET", "/experiments/stopping")["status"] == "live"
    confirmed(page, "Freeze")
    expect(status).to_have_text("frozen")
    expect(page.locator("#standing")).to_contain_text("learns nothing new")
    expect(page.locator("#standing")).to_contain_text("by environment")
    confirmed(page, "Resume")
    expect(status).to_have_text("live")
    expect(page.locator("#standing")).to_be_hidden()
    confirmed(page, "Kill")
    expect(status).to_have_text("killed")
    expect(page.locator("#standing")).to_contain_text("Killed: everybody gets red")
    assert site.send("GET", "/experiments/stopping")["status"] == "killed"
    expect(page.locator("#changes tbody tr").first).to_contain_text("status: killed")
    expect(page.locator("#changes tbody tr")).to_have_count(5)


def test_a_key_to_read_needs_an_admin_key_for_changes(visit: Open, site: Site) -> None:
    site.play(site.make("guarded"))
    one = visit()
    page = one.enter("guarded", site.key("read"))
    confirmed(page, "Freeze")
    expect(page.locator("#dialog-problem")).to_contain_text("this needs admin")
    assert site.send("GET", "/experiments/guarded")["status"] == "live"
    page.fill("#dialog-key", ADMIN)
    page.press("#dialog-key", "Enter")
    expect(page.locator("#status")).to_have_text("frozen")
    confirmed(page, "Resume")  # the admin key was used once and is not kept
    expect(page.locator("#dialog-problem")).to_contain_text("this needs admin")
    assert all("403" in line for line in one.said)
    one.said.clear()


def test_any_decision_is_explained(visit: Open, site: Site) -> None:
    made = site.play(site.make("why", "state-library"), 5)
    page = visit().enter("why")
    page.fill("#decision", made[0])
    page.press("#decision", "Enter")
    found = site.send("GET", f"/experiments/why/decisions/{made[0]}")
    explained = page.locator("#explained")
    expect(explained).to_contain_text(f"Decision {made[0]}")
    expect(explained).to_contain_text(found["reason"])
    expect(explained).to_contain_text("Propensity: ")
    expect(explained.locator("table").first.locator("tbody tr")).to_have_count(2)
    expect(explained.locator("table").last.locator("tbody tr")).to_have_count(2)
    expect(explained).to_be_focused()
    page.fill("#decision", "no id")
    page.press("#decision", "Enter")
    expect(explained).to_contain_text("25 characters")
    page.locator("#tail button.link").last.press("Enter")
    expect(explained).to_contain_text(f"Decision {made[0]}")
    page.select_option("#experiments", "demo-offers")
    expect(explained).to_be_hidden()
    events = site.send("GET", "/experiments/demo-offers/tail?most=200")["events"]
    page.fill("#decision", next(event["decision"] for event in reversed(events) if event["kind"] == "decide"))
    page.press("#decision", "Enter")
    expect(explained).to_contain_text("Belief before it (end of ")
    expect(explained).to_contain_text("Belief after it (end of ")


def test_hostile_names_are_text(visit: Open, site: Site) -> None:
    """Mutation that must make it fail: `insertAdjacentHTML` instead of `append` in `filled` of dom.js."""
    arms = [HOSTILE, "</script><script>window.hacked=2</script>", "x" * 200]
    site.make("hostile", "state-library", arms, holdback=0.5)
    for reward in (0.2, 0.8):
        made = site.play("hostile", 40, reward, subject=HOSTILE)
    one = visit(viewport={"width": 375, "height": 800})
    page = one.enter("hostile")
    expect(page.locator("#best")).to_contain_text("Best now: ")
    expect(page.locator("article.regime").first).to_contain_text(HOSTILE)
    expect(page.locator("#allocation-chart .legend")).to_contain_text(HOSTILE)
    page.fill("#decision", made[0])
    page.press("#decision", "Enter")
    expect(page.locator("#explained")).to_contain_text(f"subject {HOSTILE}")
    page.wait_for_selector("#changes table")
    assert page.locator("img, #content script, #content b").count() == 0
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.documentElement.scrollWidth") == 375


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_without_scrolling_sideways(visit: Open, scheme: str) -> None:
    page = visit(viewport={"width": 375, "height": 800}, color_scheme=scheme).enter()
    for chart in ("belief", "allocation", "reward", "delay"):
        page.wait_for_selector(f"#{chart}-chart svg")
        width = page.locator(f"#{chart}-chart").evaluate(
            "box => box.querySelector('svg').getBoundingClientRect().width"
        )
        assert 280 <= width <= 355
    page.wait_for_selector("#changes table")
    for details in page.locator("details").all():
        details.locator("summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    ground, ink = page.evaluate(
        "(({backgroundColor, color}) => [backgroundColor, color])(getComputedStyle(document.body))"
    )
    brightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ground, ink)]
    assert (brightness[0] > brightness[1]) == (scheme == "light")


def test_a_desktop_has_one_screen_with_a_line_per_arm(visit: Open, site: Site) -> None:
    """What is now does not scroll away, and headline, board and cards agree (mutation: paint the cards when all is read alone)."""
    page = visit(viewport={"width": 1280, "height": 800}).enter()
    page.wait_for_selector("#changes table")
    assert page.evaluate("document.documentElement.scrollHeight") == 800
    expect(page.locator("#board tbody tr")).to_have_count(3)

    asked = ["#best strong", "#board strong", "#regime", "#board-note", ".regime.here h3"]
    for _ in range(20):
        best, bold, regime, note, here = page.evaluate(TEXTS, asked)
        assert (best, regime.split(",")[0].lower()) == (bold, note.split(";")[0][3:])
        assert here.startswith(note.split(";")[0][3:])
    assert page.locator("#board-note").bounding_box()["y"] < 400


def test_the_keyboard_reaches_everything_and_focus_is_seen(visit: Open) -> None:
    page = visit().enter()
    page.wait_for_selector("#changes table")
    page.locator("h1").click()
    page.keyboard.press("Shift+Tab")
    expect(page.locator("#skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    assert page.url.endswith("#demo-offers")
    page.locator("h1").click()
    reached = set()
    for _ in range(22):
        page.keyboard.press("Tab")
        found = page.evaluate(
            "(e => [e.id || e.dataset.key || e.tagName, getComputedStyle(e).outlineStyle])(document.activeElement)"
        )
        assert found[1] != "none", found
        reached.add(found[0])
    assert {"experiments", "frozen", "killed", "leave", "range", "SUMMARY"} <= reached


def test_states_are_said_in_words(visit: Open, site: Site) -> None:
    page = visit().enter("nothing", site.key("read", experiments=["nothing"]))
    expect(page.locator("#empty")).to_contain_text("No experiment yet")
    site.make("nothing", holdback=0.5)  # and appears without a new visit
    expect(page.locator("#empty")).to_contain_text("No decisions yet")
    expect(page.locator("#empty pre")).to_contain_text("/decide")
    made = site.send("POST", "/experiments/nothing/decide", {})
    expect(page.locator("#pipe")).to_have_text("No rewards yet")
    expect(page.locator("#best")).to_have_text("Best now: nothing learned yet")
    expect(page.locator("#gain")).to_have_text("Cannot be said yet")
    site.send("POST", "/experiments/nothing/reward", {"id": made["id"], "reward": 1})
    expect(page.locator("#pipe")).to_have_text("Healthy")
    expect(page.locator("#best")).to_have_text(f"Best now: {made['arms'][0]}")  # of the only arm that was tried
    expect(page.locator("#regime")).to_contain_text("The policy ucb1 keeps no belief over regimes. It expects 1")
    expect(page.locator("#regimes-note")).to_contain_text("No regimes are known")
    site.send("PUT", "/experiments/nothing/status", {"status": "shadow"})
    expect(page.locator("#standing")).to_contain_text("Shadow: everybody gets red")
    site.send("PUT", "/experiments/nothing/status", {"status": "archived"})
    expect(page.locator("#standing")).to_contain_text("Archived: no decisions are made any more")
    expect(page.locator("#actions button")).to_have_count(0)


def test_silence_is_said_and_another_experiment_can_be_chosen(visit: Open, site: Site) -> None:
    page = visit().enter("old")
    expect(page.locator("#pipe")).to_have_text("Needs a look")
    expect(page.locator("#pipe-why")).to_contain_text("Nothing has happened for 4")
    expect(page.locator("#pipe-why")).to_contain_text("min: nobody asks")
    page.select_option("#experiments", "demo-offers")
    expect(page.locator("#best")).to_contain_text("Best now: ")
    expect(page.locator("#pipe")).to_have_text("Healthy")
    assert page.url.endswith("#demo-offers")
    page.evaluate("location.hash = 'old'")
    expect(page.locator("#pipe")).to_have_text("Needs a look")


def test_an_arm_whose_rewards_are_lost_is_named(visit: Open, site: Site) -> None:
    """Its mean says nothing then (mutation: look at the share of all arms together, which is 0.75 here)."""
    site.make("lossy", window=3600, learn="at_once")
    rounds = [{"available": ["blue" if number % 2 else "red"]} for number in range(40)]
    made = site.send("POST", "/experiments/lossy/decide/batch", {"rounds": rounds})["decisions"]
    for one in made[1::4]:  # every other one of blue
        site.send("POST", "/experiments/lossy/censor", {"id": one["id"]})
    told = [{"id": one["id"], "reward": 1} for number, one in enumerate(made) if number % 4 != 1]
    site.send("POST", "/experiments/lossy/reward/batch", {"rewards": told})
    page = visit().enter("lossy")
    expect(page.locator("#pipe")).to_have_text("Needs a look")
    expect(page.locator("#pipe-why")).to_contain_text(
        "Rewards are lost more often for blue (50.0 % arrive) than for red (100 %)"
    )


def test_rewards_that_were_too_many_to_wait_are_not_said_to_be_after_a_window(visit: Open, site: Site) -> None:
    site.make("crowded", max_open=1)
    made = [site.send("POST", "/experiments/crowded/decide", {}) for _ in range(2)]
    for one in made:
        site.send("POST", "/experiments/crowded/reward", {"id": one["id"], "reward": 1})
    page = visit().enter("crowded")
    expect(page.locator("#pipe-why")).to_contain_text("50.0 % of the rewards come after their decision has ended")
    expect(page.locator("#pipe-why")).to_contain_text("at most 1 may wait (max_open), too few")
    expect(page.locator("#pipe-why")).not_to_contain_text("window")


def test_the_server_goes_and_comes_back(visit: Open, site: Site) -> None:
    site.play(site.make("lasting"))
    one = visit()
    page = one.enter("lasting")
    expect(page.locator("#tail tbody tr")).to_have_count(4)
    expect(page.locator("#tail .chip.a0")).to_have_count(
        2
    )  # mutation: drawn before the arms are known, and grey ever since
    site.process.kill()
    expect(page.locator("#connection")).to_contain_text("The server does not answer, since")
    expect(page.locator("#tail tbody tr")).to_have_count(4)  # what was known is still there
    site.again()
    expect(page.locator("#connection")).to_be_hidden()
    site.play("lasting", 2)
    expect(page.locator("#health")).to_contain_text("3 since the start")
    assert all("net::ERR" in line for line in one.said)
    one.said.clear()


def test_files_name_no_outside_address_and_each_is_served() -> None:
    """They are all there, small enough to read, and nothing is built."""
    names = {path.name for path in FOLDER.iterdir()}
    for path in FOLDER.iterdir():
        content = path.read_text()
        assert not re.findall(r"(?:https?:)?//(?!www\.w3\.org/)[a-z0-9-]+\.[a-z]", content), path.name
        assert set(re.findall(r"""(?:/files/|from "\./)([\w.]+)""", content)) <= names
        assert "innerHTML" not in content
        assert len(content.splitlines()) <= 400
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 100_000
    assert Path(FOLDER, "index.html").read_text().count("<script") == 1


def test_no_card_of_the_top_is_half_empty(visit: Open) -> None:
    """Mutation: three cards in one row, of which one has nine numbers."""
    page = visit().enter()
    for read in ("#health div", "#gain-more", "article.regime"):  # each comes with an answer of its own
        expect(page.locator(read).first).to_contain_text(re.compile("."))
    filled = "all => all.map(a => (a.lastElementChild.offsetTop + a.lastElementChild.offsetHeight - a.offsetTop) / a.offsetHeight)"
    shares = page.eval_on_selector_all(".heads > article", filled)
    assert [share > 0.55 for share in shares] == [True] * 3


def test_cards_and_strip_count_the_same_visits(site: Site) -> None:
    """Mutation: the visits that the policy counts, by another rule."""
    for _ in range(5):  # a minute may end between two reads
        shown = [site.send("GET", f"/experiments/demo-offers/{path}") for path in ("timeline", "regimes")]
        stays = [stay["regime"] for stay in shown[0]["stays"]]
        cards = {one["number"]: one["visits"] for one in shown[1]["regimes"]}
        if cards == {number: stays.count(number) for number in cards}:
            break
    assert cards == {number: stays.count(number) for number in cards}
