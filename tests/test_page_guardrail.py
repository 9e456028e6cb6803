"""The page says which arm breaks the guardrail, and that somebody was forgotten; and it follows the height of its window."""

from pathlib import Path

from playwright.sync_api import expect

from tests.browser import PATIENCE, Site, Visit, browser, wait_until


def test_what_breaks_the_guardrail_and_who_was_forgotten_is_said(tmp_path: Path) -> None:
    expect.set_options(timeout=PATIENCE)
    with browser() as chromium:
        site = Site(tmp_path)
        try:
            place = f"/experiments/{site.make('failing', guardrail=0.9, control='red')}"
            for _ in range(3):
                made = site.send("POST", f"{place}/decide/batch", {"rounds": [{"subject": "ann"}] * 100})["decisions"]
                told = [{"id": one["id"], "reward": 0.5, "guard": float(one["arms"] == ["red"])} for one in made]
                site.send("POST", f"{place}/reward/batch", {"rewards": told})
            found = site.send("POST", f"{place}/erase", {"subject": "ann"})
            page = Visit(chromium, site.url).enter("failing")
            expect(page.locator("#pipe-why")).to_contain_text("blue breaks the guardrail and is not offered there: 0")
            said = f"a subject forgotten: {found['pseudonym']} stands for it in 300 decisions"
            expect(page.locator("#changes tbody tr").first).to_contain_text(said)
            chart = page.locator("#allocation-chart")
            drawn = "(box) => box.querySelector('svg').viewBox.baseVal.width === box.clientWidth"
            for height in (600, 700):  # mutation: draw again only if the window's width has changed
                page.set_viewport_size({"width": 1280, "height": height})
                wait_until(lambda: chart.evaluate(drawn) is True)
            assert page.evaluate("document.documentElement.scrollHeight") == 700
        finally:
            site.process.kill()
            site.http.close()
