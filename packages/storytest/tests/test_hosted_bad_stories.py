"""Bad and hostile hosted stories: one error each, and the process continues."""

from __future__ import annotations

from html import escape

import pytest

import textgames
from storytest.hosted import browser, session
from tests.stories import open_hosted
from tests.tiny_engine import tiny_story
from textgames.errors import InputError

WALK = {"Hall": "A hall.<p>[[go on->Cave]]</p>", "Cave": "A cave.<p>[[go back->Hall]]</p>"}
LOOP = "it loops (no page after 0.5 seconds)"
MEMORY = "it needs more than 256 MB of memory"
NOTHING = "shows no text and no links"
CHANGED = "scripts replace functions that are needed to read its page"


pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def half_a_second(monkeypatch):
    """Limit the time for a page to half a second."""
    monkeypatch.setitem(session.Session.__init__.__kwdefaults__, "seconds", 0.5)


@pytest.fixture
def open_page(tmp_path):
    """Function that opens a page as a game; the games are closed after the test."""
    games = []

    def open_file(page):
        path = tmp_path / "tale.html"
        path.write_text(page, encoding="utf-8")
        games.append(open_hosted(path))
        return games[-1]

    yield open_file
    for game in games:
        game.close()


def error_of(game, steps=1):
    """Return the error of a game within some steps."""
    with pytest.raises(InputError) as error:
        game.reset(0)
        for _ in range(steps):
            game.step(0)
    assert "\n" not in str(error.value)
    return str(error.value)


def hostile(script, passages=WALK):
    return tiny_story(passages, script=script)


# Time


@pytest.mark.parametrize(
    "script",
    [
        "for (;;);",
        "setTimeout(() => { for (;;); }, 100)",
        "(async () => { for (;;) await 0; })()",
        "Object.defineProperty(story, 'state', { get() { for (;;); } })",
        "story.state = { get gold() { for (;;); } }",
        "Object.prototype.toJSON = () => { for (;;); }",
        "while (prompt('The password?') !== 'xyzzy');",
        "function f() { document.write('<script>f()<' + '/script>') } f()",
        "/^(a+)+$/.test('a'.repeat(40) + 'b')",
    ],
)
def test_a_story_that_loops_at_its_start_is_rejected(half_a_second, open_page, script):
    message = error_of(open_page(hostile(script)), steps=0)
    assert "tale.html, at its start: the story " in message and message.endswith(LOOP)


@pytest.mark.parametrize(
    "click", ["for (;;);", "(async () => { for (;;) await 0; })()", "setTimeout('for (;;);')"]
)
def test_the_error_for_a_click_that_loops_names_its_passage(half_a_second, open_page, click):
    game = open_page(
        tiny_story({"Hall": f'A hall. <button onclick="{escape(click)}">press</button>'})
    )
    error = error_of(game)
    assert 'tale.html, after passage "Hall"' in error and LOOP in error
    assert game.reset(0).actions == ("press",)  # another episode can start


TOLERATED = [
    "const again = () => { setTimeout(again); setTimeout(again); }; again()",
    "setInterval(() => document.body.setAttribute('data-time', Math.random()), 1)",
    "for (let i = 0; i < 1000; i++) { alert(i); confirm(i); prompt(i); print(); open('x'); close(); }",
    "for (let i = 0; i < 100; i++) document.body.appendChild(document.createElement('iframe')).src = 'file:///'",
    "throw null",
    "setTimeout(() => { throw Object.create(null) })",
    "setTimeout(() => { throw { get message() { throw this } } })",
    "(function deeper() { deeper() })()",
    "Object.prototype.x = 1; Object.prototype.get = 1",
    "Math.random = () => { for (;;); }",
    "story.state.itself = story.state",
    "let deep = story.state; for (let i = 0; i < 1e5; i++) deep = deep.next = {}",
    "story.state.odd = [NaN, Infinity, 10n, Symbol('x'), () => 1, new Date(NaN)]",
    "let e = document.body; for (let i = 0; i < 1e4; i++) e = e.appendChild(document.createElement('i'))",
]


def test_scripts_that_a_browser_tolerates_are_played(open_page):
    for script in TOLERATED:
        game = open_page(hostile(script))
        assert game.reset(0) == textgames.Observation("A hall.", ("go on",)), script
        assert game.step(0).text == "A cave.", script
        game.stage.close()


# Memory


@pytest.mark.parametrize(
    "script",
    [
        "const kept = []; for (;;) kept.push(new Array(1000).fill(0.5))",
        "const kept = []; for (let i = 0; ; i++) { kept.push('x'.repeat(1e6) + i); /^y/.test(kept[i]); }",
    ],
)
def test_a_story_that_needs_too_much_memory_is_rejected(open_page, script):
    assert MEMORY in error_of(open_page(hostile(script)), steps=0)


@pytest.mark.parametrize(
    "expression",
    [
        "new Array(1e9).fill(0)",
        "Array.from({ length: 1e9 })",
        "[...'x'.repeat(5e8)]",
        "new Array(2 ** 32 - 1).reverse()",
        "(() => { let text = 'x'; for (;;) text += text; })()",
        "(() => { const kept = []; for (;;) kept.push(new Uint8Array(1e7)); })()",
        "new WebAssembly.Memory({ initial: 1000 })",
        "Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0)",
    ],
)
def test_a_huge_allocation_is_a_script_error_and_the_process_continues(open_page, expression):
    game = open_page(hostile(expression))
    assert game.reset(0).text == "A hall."
    assert game.problems[0].what.partition(":")[0] in ("RangeError", "ReferenceError")


# Changed built-in functions


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "for (const name of Object.getOwnPropertyNames(__drrn)) delete __drrn[name]",
            "cannot be played",
        ),
        ("Object.defineProperty(__drrn, 'result', { get: () => '{}', set() {} })", CHANGED),
        (
            "Object.defineProperty(__drrn, 'result', { get: () => '[['.repeat(1e5), set() {} })",
            CHANGED,
        ),
        ("JSON.stringify = () => '{}'", CHANGED),
        ("JSON.stringify = () => '{\"passage\": 7}'", CHANGED),
        ("window.JSON = null", "never settles"),
        ("Array.prototype.push = () => { throw new Error('mine') }", "mine"),
        (
            "document.querySelector = () => { throw new Error('mine') }",
            "Error: mine: the page cannot be read",
        ),
        ("window.getComputedStyle = null", "cannot be read"),
        ("story.state = new Proxy({}, { ownKeys() { throw new Error('mine') } })", "mine"),
    ],
)
def test_a_story_that_replaces_built_in_functions_is_rejected(
    half_a_second, open_page, script, message
):
    assert message in error_of(open_page(hostile(script)), steps=0)


# Pages without a playable story


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (
            tiny_story(WALK).replace("const data", "nothing.here(); const data"),
            f"{NOTHING} (its script threw: Reference",
        ),
        (tiny_story(WALK)[:-400], f"{NOTHING} (its script threw: SyntaxError: "),
        (tiny_story({"Hall": "", "Cave": ""}), NOTHING),
        (
            tiny_story({"Hall": ""}, body='<script src="Engine.js"></script>'),
            f"{NOTHING}: it needs Engine.js, but other files are not read",
        ),
        (hostile("location.reload()"), "reloads itself at once"),
        (hostile("location.href = 'https://story.example'"), "reloads itself at once"),
    ],
)
def test_a_page_that_does_not_start_is_rejected(open_page, page, message):
    error = error_of(open_page(page), steps=0)
    assert "tale.html, at its start: " in error and message in error


def test_a_truncated_page_is_rejected(open_page):
    page = tiny_story(WALK)
    with pytest.raises(InputError, match=r"tale\.html: the file is truncated"):
        open_page(page[: page.index("A cave") + 3])


@pytest.mark.parametrize("page", [tiny_story({}), "", "<p>Hello.<script>1</script>"])
def test_a_page_without_passages_is_rejected(open_page, page):
    with pytest.raises(InputError, match=r"tale\.html: .*no (passages|Twine story)"):
        open_page(page)


# Unusual pages that can be played


def test_links_without_words_are_named_after_their_target_and_web_links_are_ignored(open_page):
    text = 'Here. [[->Cave]] <button></button> <a href="https://story.example">away</a>'
    assert open_page(tiny_story({"Hall": text, "Cave": "A cave."})).reset(0).actions == ("Cave",)


def test_half_a_surrogate_pair_becomes_the_replacement_character(open_page):
    half = "{{String.fromCharCode(0xd83d)}}"
    page = open_page(tiny_story({"Hall": f"half {half}<p>[[on {half}->Hall]]</p>"})).reset(0)
    assert (page.text, page.actions) == ("half \ufffd", ("on \ufffd",))


# Large pages

PICTURE = "data:image/png;base64," + "iVBORw0KGgo" * 100_000


@pytest.mark.parametrize(
    "page",
    [
        tiny_story(WALK, style=f"b {{ background: url({PICTURE}) }}"),
        tiny_story({**WALK, "Song": PICTURE.replace("image/png", "audio/mpeg;codecs=mp3")}),
        tiny_story(
            WALK,
            script=f'const font = "{PICTURE.replace("image/png", "application/x-font-woff;charset=utf-8")}"',
        ),
    ],
)
def test_embedded_pictures_sounds_and_fonts_do_not_count_as_text(open_page, page):
    browser.check_size(browser.without_media(page), "tale.html", most=20_000)
    game = open_page(page)
    assert game.reset(0).text == "A hall." and game.step(0).text == "A cave."
    assert len(browser.prepare(page)) < 20_000


def test_a_page_that_is_too_large_is_rejected_before_it_is_read(open_page):
    with pytest.raises(InputError, match=r"tale\.html: 17 MB of text and scripts.* 16 MB"):
        open_page(tiny_story(WALK, body="word " * 3_500_000))


@pytest.mark.parametrize(
    "part", ["<script src= ", "<link rel= ", "data:image/png;", "random()*", " "]
)
def test_preparing_a_page_takes_linear_time(part):
    assert "<body>" in browser.prepare("<body>" + part * 200_000)
