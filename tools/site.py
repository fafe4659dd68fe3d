"""Check the built documentation: ``python -m tools.site build/site``.

Links and anchors between pages lead somewhere, and nothing is loaded from the network. Where there
is a browser, pages that are opened as files log no errors, their header fits, and nothing is wider
than the window of a laptop or of a phone.
"""

import argparse
import contextlib
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

WIDTHS = (1280, 390)  # of a laptop and of a phone
_LOADING = {"src", "srcset", "data", "poster"}  # attributes that make a browser load what they name
_URL = re.compile(r"(?:url\(|@import)\s*['\"]?([^'\")]+)")
_REMOTE = re.compile(r"(?:https?:|wss?:)?//", re.I)

#: Elements that reach beyond the window, and do not scroll by themselves.
_TOO_WIDE = """
const scrolls = (element) =>
  element.tagName !== "ARTICLE" && (/auto|scroll/.test(getComputedStyle(element).overflowX) ||
  scrolls(element.parentElement));
return [...document.querySelectorAll("article *:not(.headerlink)")].filter((element) => {
  const box = element.getBoundingClientRect();
  return box.width && box.right > arguments[0] + 1 && !scrolls(element.parentElement);
}).map((element) => element.outerHTML.slice(0, 80));
"""

#: Whether the header is one line with a button or field of the search; pages without one pass.
_HEADER_FITS = """
const header = document.querySelector("header.bd-header");
if (!header) return true;
const { height } = header.getBoundingClientRect();
const searches = [...header.querySelectorAll("[class*=search-button]")];
return height < 100 && searches.some((element) => element.getBoundingClientRect().width);
"""


class Page(HTMLParser):
    """Anchors, links, and what is loaded, of a page."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif "href" in values and values.get("rel") not in ("canonical", "next", "prev", "search"):
            self.loaded.append(values["href"])
        self.loaded += [values[name] for name in _LOADING if name in values]


def pages_of(folder):
    """Return the pages by path, without those that the theme makes its own pages of."""
    paths = set(folder.rglob("*.html")) - {folder / "_static" / "webpack-macros.html"}
    return {path: Page(path.read_text("utf-8")) for path in sorted(paths)}


def broken_links(pages):
    """Yield links to files or anchors that do not exist."""
    for path, page in pages.items():
        for link in page.links + page.loaded:
            if re.match(r"[a-z]+:|//", link, re.I):
                continue
            name, _, anchor = unquote(link).partition("#")
            target = (path.parent / name.partition("?")[0]).resolve() if name else path
            has_anchor = not anchor or target not in pages or anchor in pages[target].anchors
            if not (target.exists() and has_anchor):
                yield f"{path.name}: {link}"


def remote_files(folder, pages):
    """Yield what pages and style sheets load from the network."""
    loaded = [(path, url) for path, page in pages.items() for url in page.loaded]
    for path in folder.rglob("*.css"):
        loaded += [(path, url) for url in _URL.findall(path.read_text("utf-8"))]
    yield from (f"{path.name}: {url}" for path, url in loaded if _REMOTE.match(url))


@contextlib.contextmanager
def browser(width):
    """Start a browser with a window of a width."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    # windows have a least width, a phone has not
    options.add_experimental_option(
        "mobileEmulation", {"deviceMetrics": {"width": width, "height": 900, "pixelRatio": 1.0}}
    )
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield driver
    finally:
        driver.quit()


def faults_in_browser(driver, pages, width):
    """Yield errors that pages log, and what is wider than the window."""
    for path in pages:
        driver.get(path.as_uri())
        needed = driver.execute_script("return document.documentElement.scrollWidth")
        if needed > width:
            yield f"{path}: {needed} pixels wide in a window of {width}"
        if not driver.execute_script(_HEADER_FITS):
            yield f"{path}: the header wraps, or the search is hidden"
        for element in driver.execute_script(_TOO_WIDE, width)[:3]:
            yield f"{path}: cut off at the side: {element}"
        for entry in driver.get_log("browser"):
            if entry["level"] != "INFO":
                yield f"{path}: {entry['message']}"


def main():
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--no-browser", action="store_true", help="do not open the pages")
    options = parser.parse_args()
    folder = options.folder.resolve()
    pages = pages_of(folder)
    faults = [*broken_links(pages), *remote_files(folder, pages)]
    has_browser = shutil.which("chromium") and shutil.which("chromedriver")
    if not (has_browser or options.no_browser):
        print("no chromium: pages are not opened", file=sys.stderr)
    for width in WIDTHS if has_browser and not options.no_browser else ():
        with browser(width) as driver:
            faults += faults_in_browser(driver, pages, width)
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
