"""Reports in a real browser: nothing fails, nothing is requested, everything is seen and works."""

import json
import shutil

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
webdriver = pytest.importorskip("selenium.webdriver")

from fastpsr.report import write_report  # noqa: E402
from tests import reports  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None or DRIVER is None, reason="needs Debian's chromium and chromium-driver"
    ),
]
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--window-size=1200,900",
)  # fmt: skip


@pytest.fixture(scope="module")
def start():
    """Start browsers that log the console and the network; close them in the end."""
    started = []

    def one(**experimental):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in OPTIONS:
            options.add_argument(argument)
        for name, value in experimental.items():
            options.add_experimental_option(name, value)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
        started.append(driver)
        return driver

    yield one
    for driver in started:
        driver.quit()


@pytest.fixture(scope="module")
def browser(start):
    return start()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Reports by name, as addresses."""
    folder = tmp_path_factory.mktemp("reports")
    hostile = {name: reports.llrs(60, seed=i) for i, name in enumerate(reports.NAMES) if name}
    usual = {"raw.txt": reports.llrs(scale=2.0), "cal.txt": reports.llrs(seed=1),
             "bad.txt": reports.no_targets()}  # fmt: skip
    words = {"read": ["key: 300 trials"], "command": "fastpsr evaluate " + "long/" * 60}
    contents = {
        "usual": reports.report(
            usual, conditions=("pooled", "gender=f"), n_resamples=40, title="Two systems", **words
        ),
        "hostile": reports.report(
            hostile, conditions=reports.NAMES[:3], title=reports.MARKUP[0],
            read=reports.NAMES, text=reports.NAMES, command=" ".join(reports.NAMES),
        ),
        "many": reports.report({"k": reports.many_classes()}),
        "grid": reports.grid(),
    }  # fmt: skip
    for name, content in contents.items():
        write_report(folder / f"{name}.html", content)
    return {name: (folder / f"{name}.html").as_uri() for name in contents}


def visit(driver, address):
    driver.get_log("browser")
    driver.get_log("performance")
    driver.get(address)


def requested(driver):
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return {
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    }


def run(driver, script, *arguments):
    return driver.execute_script(script, *arguments)


SEEN = """
return [...document.querySelectorAll(arguments[0])].map((element) => {
  const box = element.getBoundingClientRect();
  return element.checkVisibility({opacityProperty: true, visibilityProperty: true})
    && box.width > 100 && box.height > 30;
});
"""
COLUMN = """
return [...document.querySelector("#calibration ~ .scroll table").tBodies[0].rows].map(
  (row) => row.cells[arguments[0]].firstChild.textContent);
"""

SCROLLS = """
return [...document.querySelectorAll(".scroll")].map((e) => e.scrollWidth - e.clientWidth);
"""
# texts of a figure that hide each other, or lie beyond it; tilted ones have no upright box
OVERLAPS = """
return [...document.querySelectorAll("figure svg")].flatMap((svg) => {
  const whole = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim());
  const boxes = texts.map((text) => {
    const turn = /rotate\\(-?([\\d.]+)/.exec(text.getAttribute("transform") || "");
    const {left, right, top, bottom} = text.getBoundingClientRect();
    const thin = (bottom - top) / 5, slim = (right - left) / 50;
    return {text: text.textContent, upright: !turn || [0, 90].includes(Number(turn[1])),
            left: left + slim, right: right - slim, top: top + thin, bottom: bottom - thin};
  });
  const beyond = boxes.filter((box) => box.left < whole.left - 1 || box.right > whole.right + 1
    || box.top < whole.top - 1 || box.bottom > whole.bottom + 1).map((box) => box.text);
  const upright = boxes.filter((box) => box.upright);
  const hidden = upright.flatMap((a, i) => upright.slice(i + 1).filter((b) => a.left < b.right
    && b.left < a.right && a.top < b.bottom && b.top < a.bottom).map((b) => [a.text, b.text]));
  return [...beyond, ...hidden];
});
"""


@pytest.mark.parametrize("name", ["usual", "hostile", "many", "grid"])
def test_everything_is_seen_nothing_fails_and_nothing_is_requested(browser, pages, name):
    visit(browser, pages[name])
    for selector in ("table", "figure svg", "section"):
        seen = run(browser, SEEN, selector)
        assert seen
        assert all(seen)
    run(browser, "document.querySelectorAll('button').forEach((button) => button.click())")
    assert browser.get_log("browser") == []
    assert {pages[name]} <= requested(browser) <= {pages[name], "data:,"}


def test_names_are_shown_and_not_executed(browser, pages):
    visit(browser, pages["hostile"])
    assert run(browser, "return window.hacked") is None
    text = run(browser, "return document.body.textContent")
    for name in reports.MARKUP:
        assert name in text
    drawn = run(browser, "return document.querySelector('figure svg').textContent")
    assert "window.hacked" in drawn
    assert run(browser, "return document.title") == reports.MARKUP[0]
    assert run(browser, "return document.images.length + document.scripts.length") == 1


def test_tables_are_sorted(browser, pages):
    visit(browser, pages["usual"])
    head = "return document.querySelectorAll('#calibration ~ .scroll th[scope=col]')[arguments[0]]"

    def click(place):
        browser.execute_script(f"{head}.querySelector('button').click()", place)
        order = browser.execute_script(f"{head}.getAttribute('aria-sort')", place)
        return order, run(browser, COLUMN, place)

    def number(shown):
        return float(shown.removesuffix(" %"))

    place = 2  # RCL
    before = run(browser, COLUMN, place)
    order, column = click(place)
    assert order == "ascending"
    assert column[-2:] == ["nan", "nan"]  # last, whichever way
    values = [number(value) for value in before if value != "nan"]
    assert [number(value) for value in column[:-2]] == sorted(values)
    order, column = click(place)
    assert order == "descending"
    assert [number(value) for value in column[:-2]] == sorted(values, reverse=True)
    assert column[-2:] == ["nan", "nan"]
    order, names = click(0)
    assert (order, names) == ("ascending", sorted(names))
    assert run(browser, "return document.querySelectorAll('[aria-sort]').length") == 1


def test_the_switch(browser, pages):
    visit(browser, pages["usual"])
    color = "return getComputedStyle(document.body).backgroundColor"
    switch = "document.getElementById('theme').click(); return document.getElementById('theme')"
    before, label = run(browser, color), run(browser, f"{switch}.textContent")
    after, other = run(browser, color), run(browser, f"{switch}.textContent")
    assert {label, other} == {"Light", "Dark"}
    assert before != after
    assert run(browser, color) == before


@pytest.mark.parametrize("name", ["usual", "hostile", "many", "grid"])
def test_a_phone_shows_all_without_scrolling_sideways(start, pages, name):
    phone = {"deviceMetrics": {"width": 390, "height": 844, "pixelRatio": 1.0}}
    driver = start(mobileEmulation=phone)
    visit(driver, pages[name])
    page = "document.documentElement"
    assert run(driver, f"return [innerWidth, {page}.scrollWidth]") == [390, 390]
    beyond = """
    return [...document.querySelectorAll("body *:not(svg *)")].filter(
      (element) => element.getBoundingClientRect().right > 390.5).map((e) => e.outerHTML);
    """
    assert run(driver, beyond) == []
    assert set(run(driver, SCROLLS)) <= {0}
    assert run(driver, OVERLAPS) == []
    named = run(driver, "return getComputedStyle(document.querySelector('td'), '::before').content")
    column = run(driver, "return document.querySelector('td').dataset.column")
    assert named == json.dumps(column, ensure_ascii=False)


def test_print_shows_all_in_light(browser, pages):
    visit(browser, pages["usual"])
    run(browser, "document.documentElement.dataset.theme = 'dark'")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        style = "return getComputedStyle(document.body).backgroundColor"
        assert run(browser, style) == "rgb(255, 255, 255)"
        assert all(run(browser, SEEN, "table, figure svg"))
        assert run(browser, "return document.getElementById('theme').checkVisibility()") is False
        filters = "return getComputedStyle(document.querySelector('figure svg')).filter"
        assert run(browser, filters) == "none"
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
