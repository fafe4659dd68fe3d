"""Check the built documentation: ``python -m tests.site build/site``.

Links and anchors between pages lead somewhere, nothing is requested from the network, and every
page is in the search index. Where there is a browser: pages opened as files load without errors,
nothing is wider than the window of a desktop or of a phone, and the search finds what is asked for.
``--shots FOLDER`` keeps a picture of each page at both widths.
"""

import argparse
import contextlib
import json
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

WIDTHS = (1440, 390)  # of a desktop and of a phone
#: What is searched for, and a page that the search has to find.
QUESTIONS = {"DirectionPreserving": "calibration", "minDCF": "metrics", "Brier": "scores"}
#: Attributes that make a browser load what they name.
_LOADED = {"src", "srcset", "data", "poster"}
_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
_REMOTE = re.compile(r"(?:https?:|wss?:)?//", re.I)


#: Elements that reach beyond the window, and do not scroll by themselves.
_CUT = """
const scrolls = (element) =>
  element.tagName !== "ARTICLE" && (/auto|scroll/.test(getComputedStyle(element).overflowX) ||
  scrolls(element.parentElement));
return [...document.querySelectorAll("article *:not(.headerlink)")].filter((element) => {
  const box = element.getBoundingClientRect();
  return box.width && box.right > arguments[0] + 1 && !scrolls(element.parentElement);
}).map((element) => element.outerHTML.slice(0, 80));
"""


class Page(HTMLParser):
    """Anchors, links, and what is loaded, of a page."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded, self._style = set(), [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif "href" in given and given.get("rel") not in ("canonical", "next", "prev", "search"):
            self.loaded.append(given["href"])
        self.loaded += [given[name] for name in _LOADED if name in given]
        self.loaded += urls(given.get("style", ""))
        self._style = tag == "style"

    def handle_data(self, data):
        if self._style:
            self.loaded += urls(data)


def urls(style):
    """Return what a style sheet loads."""
    return [one or other for one, other in _URL.findall(style)]


def files(folder, ending):
    """Return the files with an ending, without those that the theme makes its own pages of."""
    macros = folder / "_static" / "webpack-macros.html"
    return [path for path in sorted(folder.rglob(f"*.{ending}")) if path != macros]


def pages_of(folder):
    """Return the pages by path."""
    return {path: Page(path.read_text("utf-8")) for path in files(folder, "html")}


def broken(pages):
    """Return links to files or anchors that are not there."""
    wrong = []
    for path, page in pages.items():
        for link in page.links + page.loaded:
            if re.match(r"[a-z]+:|//", link, re.I):
                continue
            name, _, anchor = unquote(link).partition("#")
            target = (path.parent / name.partition("?")[0]).resolve() if name else path
            there = target.exists() and (
                not anchor or target not in pages or anchor in pages[target].anchors
            )
            if not there:
                wrong.append(f"{path.name}: {link}")
    return wrong


def remote(folder, pages):
    """Return what pages and style sheets would load from the network."""
    loaded = [(path, each) for path, page in pages.items() for each in page.loaded]
    for path in files(folder, "css"):
        loaded += [(path, each) for each in urls(path.read_text("utf-8"))]
    return [f"{path.name}: {each}" for path, each in loaded if _REMOTE.match(each)]


def unfindable(folder, pages):
    """Return pages that the search index has not."""
    index = (folder / "searchindex.js").read_text("utf-8")
    (listed,) = re.findall(r'"?docnames"?:\s*\[(.*?)\]', index)
    found = set(re.findall(r'"(.*?)"', listed))
    names = {path.relative_to(folder).with_suffix("").as_posix() for path in pages}
    made = {name for name in names if not name.startswith(("genindex", "py-modindex", "search"))}
    return sorted(made - found - {"index"})


@contextlib.contextmanager
def browser(width):
    """Start a browser with a window of a width, or yield None if there is none."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        yield None
        return
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    # windows have a least width, a phone has not
    options.add_experimental_option(
        "mobileEmulation", {"deviceMetrics": {"width": width, "height": 900, "pixelRatio": 1.0}}
    )
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield started
    finally:
        started.quit()


def seen(driver, pages, width, shots=None):
    """Return what a browser finds wrong with pages: errors, requests, and what is too wide."""
    wrong = []
    for path in pages:
        driver.get(path.as_uri())
        needed = driver.execute_script("return document.documentElement.scrollWidth")
        if needed > width:
            wrong.append(f"{path}: {needed} pixels wide in a window of {width}")
        cut = driver.execute_script(_CUT, width)
        wrong += [f"{path}: cut off at the side: {each}" for each in cut[:3]]
        said = [each for each in driver.get_log("browser") if each["level"] != "INFO"]
        wrong += [f"{path}: {each['message']}" for each in said]
        if shots:
            name = "_".join((*path.parts[-3:-1], path.stem, str(width)))
            driver.save_screenshot(str(shots / f"{name}.png"))
    sent = (json.loads(each["message"])["message"] for each in driver.get_log("performance"))
    asked = [
        each["params"]["request"]["url"]
        for each in sent
        if each["method"] == "Network.requestWillBeSent"
    ]
    return wrong + [f"requested: {each}" for each in asked if _REMOTE.match(each)]


def not_found(driver, folder, seconds=20):
    """Return questions to which the search, opened as a file, has not the right answer."""
    from selenium.common.exceptions import TimeoutException
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    wrong = []
    for question, page in QUESTIONS.items():
        driver.get(f"{(folder / 'search.html').as_uri()}?q={question}")
        answer = f"#search-results a[href*='/{page}.html']"
        try:
            WebDriverWait(driver, seconds).until(
                lambda shown, answer=answer: shown.find_elements(By.CSS_SELECTOR, answer)
            )
        except TimeoutException:
            wrong.append(f"the search for {question!r} does not find the page {page!r}")
    return wrong


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m tests.site", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shots", type=Path, metavar="FOLDER")
    parser.add_argument("--no-browser", action="store_true", help="do not open the pages")
    given = parser.parse_args(arguments)
    folder = given.folder.resolve()
    pages = pages_of(folder)
    wrong = broken(pages) + remote(folder, pages) + unfindable(folder, pages)
    for width in () if given.no_browser else WIDTHS:
        with browser(width) as driver:
            if driver is None:
                print("no chromium: pages are not opened", file=sys.stderr)
                break
            wrong += seen(driver, pages, width, given.shots)
            wrong += not_found(driver, folder) if width == WIDTHS[0] else []
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
