"""Report and dashboard of a real small run in a real browser: nothing fails, news arrive without a reload."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from evonorm.journal import Reader, leaderboard
from evonorm.report import write_report, write_training_report
from tests.report.kept_training import answer, keep, question

sync_playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright (pip install playwright)")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-quic", "--disable-background-networking"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
COMMAND = [sys.executable, "-c", "from evonorm.cli import main; main()"]
RECIPE = """
seed = 5
evaluate = "tests.runner.fake_fitness:by_hash"
[fitness]
seconds = 0.05
[search]
window = 20
smallest_tournament = 4
[workers]
kind = "inline"
"""
WORDS_CUT_OFF = """() => Array.from(document.querySelectorAll('svg.chart text')).filter((word) => {
  const a = word.getBoundingClientRect(), b = word.closest('svg.chart').getBoundingClientRect();
  const inside = a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
  return a.width && !inside;
}).map((word) => word.textContent)"""
WIDTHS, SCHEMES = (1280, 420), ("light", "dark")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (apt-get install chromium)"),
]


@pytest.fixture(scope="module")
def browser():
    with sync_playwright.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)  # a fresh profile each time
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A real search with a fitness that only looks at a hash: real driver, real journal."""
    runs = tmp_path_factory.mktemp("runs")
    (runs / "recipe.toml").write_text(RECIPE)
    search(runs, "search", runs / "recipe.toml", "--name", "real", "--candidates", "40")
    return runs


def search(runs, *arguments):
    subprocess.run(
        [*COMMAND, *map(str, arguments), "--runs", str(runs)], check=True, env=ENVIRONMENT, capture_output=True
    )


@pytest.fixture(scope="module")
def served(runs):
    command = [*COMMAND, "dashboard", "--port", "0", "--runs", str(runs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        yield process.stdout.readline().split(" at ")[1].split(" ")[0].rstrip("/")
        process.terminate()


@pytest.fixture
def open_page(browser):
    """Opens an address; at the end of the test nothing may have failed in the browser."""
    contexts, trouble = [], []

    def opened(address, width=1280, scheme="light"):
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme))
        page = contexts[-1].new_page()
        page.on(
            "console", lambda message: trouble.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("requestfailed", lambda request: trouble.append(f"{request.url} failed"))
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert trouble == []


def best_of(runs):
    with Reader(runs / "real" / "journal.sqlite") as reader:
        return leaderboard(reader, 1)[0].candidate.proposal.index


def check_fits(page, width):
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "the page is cut off at the right"
    assert page.evaluate(WORDS_CUT_OFF) == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_report_opens_offline_at_any_width(runs, open_page, width, scheme):
    path = write_report(runs, "real")
    page = open_page(path.as_uri(), width, scheme)
    assert page.title() == "Run real"
    assert page.locator("svg.chart").count() > 8
    check_fits(page, width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_report_of_trainings_opens_offline_at_any_width(tmp_path, open_page, width, scheme):
    layers = ("bn-relu", "evonorm-b0", "x / max(std_bwh(x), v1 * x + std_wh(x)) * sigmoid(v1 * x)")
    file = keep(tmp_path, *((question(layer, seed), answer()) for layer in layers for seed in range(3)))
    page = open_page(write_training_report(file).as_uri(), width, scheme)
    for folded in page.locator("summary").all():
        folded.click()
    assert page.locator("svg.chart").count() == 3
    check_fits(page, width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_live_page_opens_at_any_width(runs, served, open_page, width, scheme):
    for address in (
        "/",
        "/runs/real",
        "/runs/real/candidates",
        f"/runs/real/candidates/{best_of(runs)}",
        "/compare?a=real&b=real",
    ):
        page = open_page(served + address, width, scheme)
        check_fits(page, width)


def test_clicking_a_candidate_shows_its_drawing(runs, served, open_page):
    page = open_page(f"{served}/runs/real")
    best = best_of(runs)
    page.locator("#top table a").get_by_text(f"#{best}", exact=True).first.click()
    page.wait_for_url(f"**/candidates/{best}")
    assert page.locator("h1").inner_text() == f"Candidate {best}"
    box = page.locator(".pictures svg.evonorm-graph").bounding_box()
    assert box["width"] > 30
    assert box["height"] > 60
    assert page.locator("math").first.bounding_box()["height"] > 10
    assert "create_layer(" in page.locator("#use").inner_text()


def test_a_new_outcome_shows_up_without_a_reload(runs, served, open_page):
    page = open_page(f"{served}/runs/real")
    page.evaluate("window.neverReloaded = true")
    with Reader(runs / "real" / "journal.sqlite") as reader:
        before = f"{reader.proposed():,} candidates"
    assert before in page.locator("#summary").inner_text()
    search(runs, "resume", "real", "--candidates", "60")
    with Reader(runs / "real" / "journal.sqlite") as reader:
        after = f"{reader.proposed():,} candidates"
    assert after != before
    page.locator("#summary").get_by_text(after).wait_for(timeout=30_000)
    assert page.evaluate("window.neverReloaded")
    best = page.locator("#top table a").get_by_text(f"#{best_of(runs)}", exact=True)
    best.first.wait_for(timeout=10_000)


def test_a_new_run_and_a_training_show_up_on_the_first_page_without_a_reload(runs, served, open_page):
    page = open_page(served)
    page.evaluate("window.neverReloaded = true")
    search(runs, "search", runs / "recipe.toml", "--name", "another", "--candidates", "3")
    page.locator("#searches").get_by_text("another").wait_for(timeout=30_000)
    keep(runs / "train", (question("bn-relu"), answer()))
    page.locator("#trainings a").wait_for(timeout=30_000)
    assert page.evaluate("window.neverReloaded")


def test_a_chart_tells_its_values_to_mouse_and_keyboard_alike(open_page, runs):
    """Without any script: the report has none."""
    page = open_page(write_report(runs, "real").as_uri())
    visible = "(words) => words.map((each) => getComputedStyle(each).visibility)"
    assert set(page.eval_on_selector_all("svg .value", visible)) == {"hidden"}
    page.locator("#figure-cost a circle").last.hover()
    shown = page.locator("#figure-cost .tip:hover .value")
    assert shown.evaluate("(each) => getComputedStyle(each).visibility") == "visible"
    assert re.match(r"#\d+ [\d.]+", shown.text_content())
    page.locator("#figure-progress_candidates .tip rect").nth(3).hover()
    strip = page.locator("#figure-progress_candidates .tip:hover .value")
    assert re.match(r"\d+ scored candidates: [\d.]+ \([\d.]+ to [\d.]+\)", strip.text_content())
    page.locator("#figure-cost a").first.focus()
    page.keyboard.press("Tab")
    focused = "() => getComputedStyle(document.activeElement.querySelector('.value')).visibility"
    assert page.evaluate(focused) == "visible"
    page.keyboard.press("Enter")
    assert re.search(r"#function-\d+$", page.url)
    assert page.locator("tr:target").count() == 1


def test_the_live_table_sorts_finds_and_lights_up(open_page, served):
    page = open_page(f"{served}/runs/real")
    column = "(cells) => cells.map((each) => parseFloat(each.textContent))"
    nodes = "#functions tbody tr:not([hidden]) td:nth-child(5)"
    page.get_by_role("button", name="nodes").click()
    found = page.eval_on_selector_all(nodes, column)
    assert found == sorted(found, reverse=True)
    page.get_by_role("button", name="nodes").click()
    assert page.eval_on_selector_all(nodes, column) == sorted(found)
    assert page.locator("#functions th[aria-sort=ascending]").count() == 1
    page.locator("#functions input.find").fill("sqrt")
    formulas = page.locator("#functions tbody tr:not([hidden])").all_text_contents()
    assert 0 < len(formulas) < len(found)
    assert all("sqrt" in each for each in formulas)
    page.locator("#functions tbody tr:not([hidden]) a").first.hover()
    assert page.locator("svg .lit, svg a.lit").count() >= 1
    chart = page.locator("#figure-progress_candidates svg.chart")
    chart.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#figure-progress_candidates .tip.on").count() == 1
    assert "scored candidates" in chart.get_attribute("aria-label")
    page.locator("#figure-cost a circle").last.click()
    page.wait_for_url("**/candidates/*")
