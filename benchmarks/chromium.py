"""A story played in Chromium by Playwright, with the clock, random draws and page reader of our own driver."""

from __future__ import annotations

from types import TracebackType

from playwright.sync_api import BrowserContext, Page, Route, sync_playwright

from storytest.hosted.browser import DRIVER, prepare, scripts
from storytest.hosted.session import HostedPage, read_page

ADDRESS = "http://story.test/"
QUIET = (
    "--no-sandbox",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--autoplay-policy=no-user-gesture-required",
)

# Animations and history navigation use a clock that cannot be replaced: finish them at once, or await them.
STILL = """
let travelling = false;
for (const name of ["back", "forward", "go"]) {
  const travel = history[name].bind(history);
  history[name] = (...steps) => { travelling = true; travel(...steps); };
}
globalThis.__drrn.still = async () => {
  let finished = 0;
  if (travelling) {
    await new Promise((done) => { addEventListener("popstate", done, { once: true }); realTimeout(done, 500); });
    travelling = false;
    finished = 1;
  }
  for (const animation of document.getAnimations()) {
    try { animation.finish(); finished += 1; } catch { /* an endless one has no end */ }
  }
  for (let frame = 0; finished && frame < 2; frame += 1) await new Promise((done) => realFrame(done));
  return finished > 0;
};
delete Document.prototype.startViewTransition;  // it waits for real frames; engines do without where it is missing
navigation.addEventListener("navigate", (event) => {
  if (event.destination.sameDocument) return;
  event.preventDefault();
  if (event.downloadRequest === null) globalThis.__drrn.restarted = true;  // the story reloads itself
});
"""
SETUP = """
Object.defineProperty(globalThis, "__drrn", { value: {} });
const realFrame = requestAnimationFrame.bind(window), realTimeout = setTimeout.bind(window);
"""


class Chromium:
    """A browser: `open` starts an episode on a new page, `press` clicks a link of the current page."""

    def __init__(self, executable: str) -> None:
        self.playwright = sync_playwright().start()
        self.browser = self.playwright.chromium.launch(executable_path=executable, args=list(QUIET))
        self.context: BrowserContext | None = None
        self.page: Page | None = None

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.browser.close()
        self.playwright.stop()

    def open(self, html: str, seed: int) -> HostedPage:
        if self.context is not None:
            self.context.close()
        size = {"width": 1280, "height": 800}
        self.context = self.browser.new_context(viewport=size, timezone_id="UTC", locale="en-US")  # type: ignore[arg-type]
        self.context.add_init_script(_script(seed))
        self.page = self.context.new_page()
        text = prepare(html)

        def answer(route: Route) -> None:
            route.fulfill(body=text, content_type="text/html; charset=utf-8")

        self.page.route(ADDRESS, answer)
        self.page.goto(ADDRESS, wait_until="networkidle")
        first = read_page(self.page.evaluate(f"__drrn.openStory({seed})"))
        if first.links:
            return first
        self.page.wait_for_timeout(1000)  # it may wait until a sound fails to load
        return read_page(self.page.evaluate(f"__drrn.openStory({seed})"))

    def press(self, index: int) -> HostedPage:
        assert self.page is not None
        return read_page(self.page.evaluate("index => __drrn.step(index)", index))


def _script(seed: int) -> str:
    """Return the script that runs before the story's own: the driver, and the start of the episode."""
    begin = f"globalThis.__drrn.begin({{}}, {seed});"
    return "\n".join((SETUP, scripts(tuple(DRIVER)), STILL, begin))
