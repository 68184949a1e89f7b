"""The page of `drrn serve` in a real browser: upload, play, test, train; keyboard, phone, dark."""

from __future__ import annotations

import re

import pytest

from tests.browser import (
    AGENT,
    DROP_FILES,
    LOW_CONTRAST_TEXTS,
    UNNAMED_CONTROLS,
    PageServer,
    chromium,
    small_story,
)
from tests.source_code import ROOT

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
full = pytest.mark.full

ROUNDS = 3
REPLICAS = 2
TINY = {"Games per round": 60, "Agents at once": REPLICAS, "Units per layer": 8}
VIEWS = (
    "#/",
    "#/people",
    "#/tour",
    "#/game/GAME/play",
    "#/game/GAME/test",
    "#/game/GAME/learn",
    "#/game/GAME/people",
)


@pytest.fixture(scope="module")
def browser():
    with chromium() as chromium_browser:
        yield chromium_browser


@pytest.fixture(scope="module")
def server(tmp_path_factory, browser):
    page_server = PageServer(tmp_path_factory.mktemp("served"))
    yield page_server
    page_server.close()


@pytest.fixture
def open_page(browser, server):
    """Function that opens the page in a new window; script errors fail the test."""
    contexts = []
    errors = []

    def record_violation(line):
        if "Content Security Policy" in line.text:
            errors.append(line.text)

    def open_window(address="", width=1280, height=900, scheme="light"):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        contexts.append(context)
        context.set_default_timeout(60_000)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", record_violation)
        page.goto(server.link + address)
        return page

    yield open_window
    for context in contexts:
        context.close()
    assert errors == []


@pytest.fixture(scope="module")
def game(browser, server):
    """The id of a story that was dropped on the page."""
    page = browser.new_page()
    page.goto(server.link)
    page.locator(".card").first.wait_for()
    page.evaluate(DROP_FILES, small_story())
    page.wait_for_url("**/test")  # it is tested at once
    id_ = page.url.split("/")[-2]
    page.locator(".map-view svg").wait_for(timeout=60_000)
    page.close()
    return id_


@pytest.fixture(scope="module")
def trained_game(browser, server, game):
    """The story, with a run of three rounds: stopped, resumed after the server was killed."""
    page = browser.new_page()
    page.goto(f"{server.link}#/game/{game}/learn")
    page.get_by_label("Rounds", exact=True).fill(str(ROUNDS))
    page.get_by_label("Name of the run").fill("first try")
    page.get_by_text("Other settings").click()
    for group in ("How much it plays", "The network"):
        page.get_by_text(group, exact=True).click()
    for label, value in TINY.items():
        page.get_by_label(label, exact=True).fill(str(value))
    page.get_by_role("button", name="Start", exact=True).click()
    page.locator(".curve .none").wait_for(timeout=2_000)  # a sign of life before the first round
    page.locator(".curve circle").first.wait_for(timeout=60_000)
    if (stop := page.get_by_role("button", name="Stop")).count():  # unless it has finished
        stop.click()
    server.kill()
    server.start()
    page.reload()
    over = page.locator(".run .tag", has_text=re.compile("stopped|finished"))
    over.wait_for(timeout=60_000)
    if over.inner_text() == "stopped":
        page.get_by_role("button", name="Resume").click()
    page.locator(".run .tag", has_text="finished").wait_for(timeout=60_000)
    assert "3 of 3 rounds" in page.locator(".run").inner_text()
    page.locator(".curve circle").nth(2).wait_for()
    page.close()
    return game


def test_a_dropped_story_is_played_and_undone_by_keys(open_page, game):
    page = open_page(f"#/game/{game}/play")
    # A request of a view that was left is no error: `open_page` asserts that there are none.
    cancel = "const c = new AbortController(); fetch('/api/games', { signal: c.signal }); c.abort()"
    page.evaluate(f"() => {{ {cancel}; }}")
    page.locator("button.action").first.wait_for()
    page.keyboard.press(key_of(page, "Go out."))
    page.get_by_text("You are out on the water.").wait_for()
    page.keyboard.press(key_of(page, "Row on."))
    page.get_by_role("heading", name="The end: Island").wait_for()
    assert "Final reward 10" in page.locator(".the-end").inner_text()
    page.locator(".the-end", has_text="of random games end here").wait_for()
    assert "One of 2 endings; none pays more. 33.3 %" in page.locator(".the-end").inner_text()
    page.keyboard.press("u")
    page.locator("button.action", has_text="Row on.").wait_for()
    assert page.locator(".story-text").inner_text() == "You are out on the water."
    assert "1 undone" in page.locator(".play-bar").inner_text()
    page.reload()
    page.locator(".story-text", has_text="You are out on the water.").wait_for()


def key_of(page, words):
    """Return the key of an action."""
    return page.locator("button.action", has_text=words).locator(".key").inner_text()


@full
def test_actions_show_the_agents_q_values_and_the_agent_plays_to_the_end(open_page, trained_game):
    page = open_page(f"#/game/{trained_game}/play")
    page.locator(".thought .q").first.wait_for()
    actions = page.locator("button.action")
    assert actions.count() == 2 and page.locator(".thought .dot").count() == 2 * REPLICAS
    assert all(text.endswith(" %") for text in page.locator(".thought .share").all_inner_texts())
    page.get_by_label("Mark important words").check()
    page.locator(".story-text mark").first.wait_for()
    assert "this action" in page.locator(".story-text mark").first.get_attribute("title")
    page.get_by_label("Show Q-values").uncheck()
    page.locator(".story-text mark").first.wait_for(state="detached")
    assert not page.locator(".thought").first.is_visible()
    page.get_by_label("Speed").select_option("very fast")
    page.get_by_role("button", name="Agent plays to the end").click()
    page.locator(".the-end").wait_for()
    assert "The agent:" in page.locator(".past").text_content()


@full
def test_a_play_test_shows_failures_and_its_map_can_be_searched_and_clicked(
    open_page, trained_game
):
    page = open_page(f"#/game/{trained_game}/test")
    page.locator(".tiles").wait_for()
    assert "1 of 2 expectations hold." in page.locator(".headline").inner_text()
    page.locator(".map-view svg").wait_for()
    page.locator("[data-page=Grey]").click()
    page.locator(".page-details h3", has_text="Grey").wait_for()
    details = page.locator(".page-details").inner_text()
    assert all(words in details for words in ("You are out on the water.", "agent", "Island"))
    page.get_by_label("Find a passage").fill("with figs")  # words of a page
    assert "Island" in page.locator(".map-results").inner_text()
    page.get_by_label("Find a passage").fill("isl")
    page.keyboard.press("Enter")
    page.locator(".page-details h3", has_text="Island").wait_for()
    before = page.locator(".map-view svg").get_attribute("viewBox")
    page.get_by_role("button", name="Zoom in").click()
    assert page.locator(".map-view svg").get_attribute("viewBox") != before


@full
def test_a_game_is_played_from_a_place_of_the_map_and_an_ending_gets_its_worth(
    open_page, server, game
):
    page = open_page(f"#/game/{game}/test")
    page.locator(".map-view svg").wait_for()
    page.get_by_label("Find a passage").fill("Grey")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="▶ Play from here").click()
    page.locator(".story-text", has_text="You are out on the water.").wait_for()
    words = page.locator("button.action .action-words").all_inner_texts()
    assert words == ["Row on.", "Turn back."]  # as the author wrote them
    page.go_back()
    page.locator(".rules summary").click()
    page.get_by_label("worth: Island").fill("30")
    page.locator(".rules tr", has_text="Home").get_by_role("button", name="+ expect").click()
    page.get_by_role("button", name="Save to the TOML and test again").click()
    page.get_by_text("Saved as sea.toml.").wait_for()
    page.get_by_text('ending "Home" can be reached').first.wait_for()
    page.locator("#endings", has_text="30").wait_for()
    toml = next((server.folder / "home" / "serve" / "games").glob("*/sea.toml")).read_text()
    assert toml.count("[[ending]]") == 2 and "reward = 30" in toml and "reward = -10" in toml
    assert toml.endswith('[[expect]]\nending = "Home"\n') and "odds" in toml  # all else stays


@pytest.fixture
def own_story(browser, tmp_path):
    """The test of a story whose file was given to `drrn serve`, in a window; and that file."""
    story = tmp_path / "cellar.html"
    story.write_bytes((ROOT / "examples" / "cellar.html").read_bytes())
    page_server = PageServer(tmp_path, str(story))
    page = browser.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"{page_server.link}#/game/cellar/test")
    page.locator(".map-view svg").wait_for()
    yield page, story
    page.close()
    page_server.close()


@full
def test_a_story_is_tested_at_every_save_and_rules_need_numbers(own_story):
    page, story = own_story
    assert "1 error" in page.locator(".headline").inner_text()
    page.get_by_role("button", name="Show the whole map").click()
    page.locator("[data-page=Attic]").click()  # which no link leads to
    page.locator(".page-details").get_by_role("button", name="+ expect").click()
    page.get_by_label("worth: Found").fill("")
    page.get_by_role("button", name="Save to the TOML and test again").click()
    assert page.get_by_label("worth: Found").evaluate("input => input.matches(':invalid:focus')")
    assert not story.with_suffix(".toml").exists()
    page.get_by_label("worth: Found").fill("7")
    page.get_by_role("button", name="Save to the TOML and test again").click()
    page.locator(".headline", has_text="0 of 1 expectation").wait_for()
    toml = story.with_suffix(".toml").read_text()
    assert "reward = 7\n" in toml and toml.endswith('[[expect]]\nreachable = "Attic"\n')
    text = story.read_text()
    story.write_text(text.replace("[[Look for matches.|Matches]]", "[[Go up.|Attic]]"))
    page.locator(".headline", has_text="1 of 1 expectation").wait_for()


@full
def test_a_parser_game_has_a_prompt_with_verbs_and_objects(open_page):
    page = open_page("#/game/home-world/play")
    prompt = page.get_by_label("What do you do?")
    prompt.fill("fly away")
    prompt.press("Enter")
    page.get_by_text("That is not possible here.").wait_for()
    options = page.locator("#commands option")
    words = options.first.get_attribute("value")
    assert options.count() > 12 and page.locator("button.action").count() == 0
    prompt.fill(words.upper())
    prompt.press("Enter")
    page.locator(".steps", has_text="step 1").wait_for()
    verb = page.locator(".verb[aria-pressed]").first
    verb.click()
    assert verb.get_attribute("aria-pressed") == "true"
    page.locator(".object").first.click()
    page.locator(".steps", has_text="step 2").wait_for()


@full
def test_a_run_shows_how_it_learned_its_settings_and_its_agent(open_page, trained_game):
    page = open_page(f"#/game/{trained_game}/learn")
    page.locator("svg.plane").wait_for()
    assert page.locator(".plane .of-action").count() == 2
    assert f"round {ROUNDS}" in page.locator(".learning .row").inner_text()  # the last one
    page.get_by_label("Round", exact=True).fill("0")
    assert "round 1" in page.locator(".learning .row").inner_text()
    titles = page.locator(".lesson h3").all_inner_texts()
    assert {"Where its games end", "Exploring and exploiting", "Error"} <= set(titles)
    page.get_by_label("Played", exact=True).select_option(index=0)
    assert "You" in page.locator(".replay").inner_text()
    page.get_by_text("Settings of these runs").click()
    rows = page.locator(".settings-table tr", has_text="hidden")
    assert "8" in rows.first.inner_text()
    page.once("dialog", lambda dialog: dialog.accept("rowing"))
    page.get_by_role("button", name="Rename: first try").click()
    page.get_by_role("link", name="Watch it play: rowing").click()
    page.get_by_role("button", name="Stop").wait_for()  # it plays by itself


@full
def test_a_game_is_played_and_scored_by_keyboard_alone(open_page, game):
    page = open_page("", width=390, height=844)
    page.locator(".card", has_text="The Grey Sea").wait_for()
    page.locator(".card", has_text="2 endings").wait_for()  # the card says how long it is
    tab_to(page, "Play: The Grey Sea")
    page.keyboard.press("Enter")
    page.locator("button.action").first.wait_for()
    tab_to(page, "Your name, to save your score")
    page.keyboard.type("Ann")
    page.keyboard.press("Enter")
    page.get_by_text("Playing as Ann: finished games are saved.").wait_for()
    tab_to(page, re.compile(r"^\dStay in\."))
    page.keyboard.press("Enter")
    page.get_by_text("Saved to the scores of Ann.").wait_for()
    tab_to(page, "People")
    page.keyboard.press("Enter")
    page.get_by_role("rowheader", name="Ann").wait_for()


def tab_to(page, name):
    """Press Tab until the element with this name has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        words = page.evaluate(
            "(e => (e.getAttribute('aria-label') || [...(e.labels || [])].map(l => l.textContent).join('') "
            "|| e.textContent).trim())(document.activeElement)"
        )
        if name.search(words) if isinstance(name, re.Pattern) else words == name:
            return
    raise AssertionError(f"{name} cannot be reached by Tab")


@full
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1500, "light")])
def test_every_view_fits_and_has_contrast_and_names_of_controls(
    open_page, server, trained_game, width, scheme
):
    page = open_page("", width=width, height=844, scheme=scheme)
    for view in VIEWS:
        page.goto(server.link + view.replace("GAME", trained_game))
        page.wait_for_load_state("networkidle")
        page.locator(".spinner").first.wait_for(state="detached")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        assert page.evaluate(LOW_CONTRAST_TEXTS) == [], view
        assert page.evaluate(UNNAMED_CONTROLS) == [], view


@full
def test_a_bad_story_and_a_stopped_server_are_explained(open_page, server):
    page = open_page()
    page.locator(".card").first.wait_for()
    page.evaluate(
        DROP_FILES, [{"name": "odd.twee", "mimeType": "text/plain", "text": "no passage at all"}]
    )
    page.locator(".drop-state .wrong").wait_for()
    assert len(page.locator(".drop-state .wrong").inner_text()) > 20
    server.kill()
    page.goto(page.url.split("#")[0] + "#/people")
    page.get_by_text("The server does not answer").wait_for()
    server.start()
    page.get_by_role("button", name="Try again").click()
    page.locator(".body table, .body .empty").first.wait_for()


@full
def test_a_page_without_the_agent_speaks_of_stories_alone(browser, tmp_path):
    server = PageServer(tmp_path, program="storytest", missing=AGENT)
    page = browser.new_page()
    try:
        for view in ("", "#/game/long-watch/play", "#/game/long-watch/learn"):
            page.goto(server.link + view)
            page.locator(".card, button.action").first.wait_for()
            words = (page.title() + page.inner_text("body")).lower()
            assert "storytest" in words
            assert not re.search(r"\b(drrn|agents?|learn|train|tour|runs?)\b", words)
    finally:
        page.close()
        server.close()
