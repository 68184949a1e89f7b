"""The browser of hosted stories: it behaves like a real one for story formats and jQuery."""

from __future__ import annotations

import json

import pytest

from storytest.hosted.browser import add_browser, load, prepare
from storytest.hosted.engine import Isolate

PAGE = """<!doctype html><html><head><title>A  page</title><style>
  .secret { display: none } #ghost { visibility: hidden } @media (max-width: 600px) { .wide { display: none } }
  @media screen and (min-width: 600px) { .phone { display: none } } p.loud { display: block !important }
</style></head><body><div id=main class="one two"><p>Hello <b>you</b></p></div></body></html>"""


@pytest.fixture(scope="module")
def isolate():
    with Isolate() as isolate:
        add_browser(isolate)
        load(isolate, PAGE)
        yield isolate


@pytest.fixture
def run(isolate):
    """Function that evaluates an expression on an empty page."""
    isolate.evaluate("document.body.innerHTML = ''")

    def evaluate(expression):
        return json.loads(isolate.evaluate(f"JSON.stringify({expression})") or "null")

    return evaluate


def write_page(run, markup):
    run(f"document.body.innerHTML = {json.dumps(markup)}")


MARKUP = [
    ("<ul><li>one<li>two</ul>", "<ul><li>one</li><li>two</li></ul>"),
    ("<b>bold <i>both</b> slanted</i>", "<b>bold <i>both</i></b><i> slanted</i>"),
    ("<b>bold<p>both</b>plain</p>", "<b>bold</b><p><b>both</b>plain</p>"),
    ("<a href=x>one<a href=y>two</a>", '<a href="x">one</a><a href="y">two</a>'),
    ("<table><tr><td>x</table>", "<table><tbody><tr><td>x</td></tr></tbody></table>"),
    (
        "<table>stray<tr><td>x</td></tr></table>",
        "stray<table><tbody><tr><td>x</td></tr></tbody></table>",
    ),
    (
        "<select><option>a<option selected>b</select>",
        '<select><option>a</option><option selected="">b</option></select>',
    ),
    ("<br/>text<img src=a.png alt='A&amp;B'>", '<br>text<img src="a.png" alt="A&amp;B">'),
    (
        "&lt;&eacute;&#8212;&#x41;&nbsp;&unknown; &copy 1 < 2",
        "&lt;é—A&nbsp;&amp;unknown; © 1 &lt; 2",
    ),
    ("<script>if (1 < 2) '<p>'</script>", "<script>if (1 < 2) '<p>'</script>"),
    ("<textarea>\n<b>", "<textarea><b></textarea>"),
    ("<!-- a --><tw-link a=1 A=2>x</tw-link>", '<!-- a --><tw-link a="1">x</tw-link>'),
    ("</p>stray</div>", "<p></p>stray"),
    (
        "<svg viewBox='0 0 1 1'><path d='M0'/></svg>after",
        '<svg viewbox="0 0 1 1"><path d="M0"></path></svg>after',
    ),
]


@pytest.mark.parametrize(("markup", "repaired"), MARKUP)
def test_invalid_markup_is_repaired_as_by_browsers(run, markup, repaired):
    write_page(run, markup)
    expected = repaired.replace("<textarea><b>", "<textarea>&lt;b&gt;")
    assert run("document.body.innerHTML") == expected


SELECTORS = [
    ("ul > .odd", ["a", "c"]),
    ("#a ~ li", ["b", "c"]),
    ("li:first-child, li:last-child", ["a", "c"]),
    ("li:nth-child(2n+1)", ["a", "c"]),
    ("li:not(.odd)", ["b"]),
    ("[data-name^='two' i]", ["b"]),
    ("li:has(em)", ["c"]),
    ("ul li:is(#a, #c):not(:empty)", ["a", "c"]),
]


@pytest.mark.parametrize(("selector", "ids"), SELECTORS)
def test_selectors_match_elements_in_document_order(run, selector, ids):
    first = "<li id=a class=odd>1"
    second = '<li id=b data-name="two words">2'
    write_page(run, f'<ul>{first}{second}<li id=c class="x odd"><em>3</em></ul>')
    matches = f"[...document.querySelectorAll({json.dumps(selector)})]"
    assert run(f"{matches}.map((element) => element.id)") == ids


def test_events_are_captured_and_then_bubble(run):
    write_page(run, "<div id=outer><span id=inner></span></div>")
    run("""(globalThis.events = [],
        document.addEventListener("ping", () => events.push("document, down"), true),
        outer = document.getElementById("outer"), inner = document.getElementById("inner"),
        outer.addEventListener("ping", () => events.push("outer, up")),
        outer.addEventListener("ping", () => events.push("outer, down"), true),
        inner.addEventListener("ping", (event) => events.push("inner", event.target.id)),
        inner.dispatchEvent(new CustomEvent("ping", { bubbles: true })), 0)""")
    assert run("events") == ["document, down", "outer, down", "inner", "inner", "outer, up"]


def test_a_listener_can_stop_propagation_and_the_default_action(run):
    write_page(run, "<form id=form><input type=checkbox id=box></form>")
    run("""(globalThis.events = 0, $ = (id) => document.getElementById(id), box = $("box"),
        $("form").onclick = () => events++,
        box.addEventListener("click", (event) => { event.stopPropagation(); event.preventDefault(); }), box.click())""")
    assert run("[events, box.checked]") == [0, False]


def test_clicks_have_the_default_actions_of_forms_and_links(run):
    write_page(
        run,
        """<form id=form><label id=label>Tick <input type=checkbox id=box></label><input type=radio name=r id=r1
        checked><input type=radio name=r id=r2><button id=send>Go</button></form>
        <a id=link href="javascript:events.push('link')">x</a>""",
    )
    run("""(globalThis.events = [], $ = (id) => document.getElementById(id),
        $("box").addEventListener("change", () => events.push("change")), $("label").click(), $("r2").click(),
        $("form").addEventListener("submit", (event) => events.push("submit by " + event.submitter.id)),
        $("send").click(), $("link").click())""")
    assert run("events") == ["change", "submit by send", "link"]
    assert run('[$("box").checked, $("r1").checked, $("r2").checked]') == [True, False, True]


@pytest.mark.parametrize(
    ("markup", "display"),
    [
        ("<p id=x hidden>", "none"),
        ("<span id=x class=secret style='display: flex'>", "flex"),
        ("<p id=x class=loud style='display: none'>", "block"),
        ("<p id=x class=wide>", "block"),
        ("<p id=x class=phone>", "none"),
        ("<input id=x type=hidden>", "none"),
        ("<tw-hook id=x>", "inline"),
    ],
)
def test_display_follows_the_style_sheets_of_the_page(run, markup, display):
    write_page(run, markup)
    assert run('getComputedStyle(document.getElementById("x")).display') == display


def test_a_style_sheet_that_a_script_adds_counts(run):
    write_page(run, "<p id=x>text</p>")
    assert run('getComputedStyle(document.getElementById("x")).display') == "block"
    run('void (sheet = document.body.appendChild(document.createElement("style")))')
    run('void (sheet.textContent = "#x { display: none }")')
    assert run('getComputedStyle(document.getElementById("x")).display') == "none"


def test_inserted_scripts_run_but_not_those_of_inner_html(run):
    write_page(run, "<script>globalThis.events = 'markup'</script>")
    assert run("globalThis.events === 'markup'") is False
    run('void (s = document.createElement("script"), s.text = "globalThis.events = 7")')
    run("void document.head.appendChild(s)")
    assert run("events") == 7


def test_custom_elements_are_upgraded_in_markup_and_in_scripts(run):
    run("""(customElements.define("x-box", class extends HTMLElement {
        static get observedAttributes() { return ["kind"]; }
        connectedCallback() { this.textContent = "box " + (this.kind || ""); }
        attributeChangedCallback(name, old, value) { this.kind = value; } }), 0)""")
    write_page(run, "<x-box kind=blue></x-box>")
    run('document.body.appendChild(document.createElement("x-box")).nodeType')
    assert run("document.body.textContent") == "box bluebox "


def test_mutation_observers_are_called_between_scripts(run, isolate):
    write_page(run, "<p id=x></p>")
    run("""(globalThis.events = [], new MutationObserver((records) => events.push(records.length)).observe(document.body,
        { childList: true, subtree: true }), document.getElementById("x").append("a", "b"), 0)""")
    assert run("events") == [2]


def test_storage_history_and_addresses_exist(run):
    run('(localStorage.setItem("a", 1), localStorage.b = 2)')
    assert run('[localStorage.getItem("a"), localStorage.length, localStorage.b]') == ["1", 2, "2"]
    assert run(
        """(history.pushState({ page: 1 }, "", "#one"), [location.hash, history.state.page])"""
    ) == ["#one", 1]
    assert run('new URL("../x?y=1#z", "https://a.b/c/d/e").href') == "https://a.b/c/x?y=1#z"
    assert run('[new URLSearchParams("a=1&b=c+d").get("b"), atob(btoa("Hi!"))]') == ["c d", "Hi!"]


def test_scripts_share_their_names_and_see_only_the_page_before_them():
    page = """<body><script>let mine = 1; var count = document.querySelectorAll('p').length</script>
        <p><script>globalThis.sum = mine + count</script>"""
    with Isolate() as isolate:
        add_browser(isolate)
        load(
            isolate,
            page
            + "<script>throw new Error('not so fast')</script><script>globalThis.last = true</script>",
        )
        assert isolate.evaluate("[sum, last, document.readyState].join()") == "1,true,complete"


def test_a_prepared_page_loads_no_files_and_jquery_draws_no_random_number():
    text = prepare(
        '<script src="https://x.y/z.js"></script><link rel="stylesheet" href="a.css">h=E+=null==p?1:Math.random()||.1'
    )
    assert text == "h=E+=null==p?1:0.1"


def test_code_of_a_story_that_looks_like_a_die_of_chapbook_is_not_rewritten():
    own = "setup.level=function(max){return 1+Math.round(difficulty()*(max-1))}"
    assert prepare(f'<script role="script">{own}</script>').count(own) == 1
    old = 'e("random.d".concat(t),(function(){return 1+Math.round(Ua()*(t-1))}))'
    new = "_(`random.d${n}`,()=>{const e=1+Math.round(ye()*(n-1));return Ge(),e})"
    text = prepare(f"<script>{old};{new};{own}</script>")
    assert "1+Math.round(__drrn.chance.inPassage(2*(t-1))*(t-1))" in text
    assert "1+Math.round(__drrn.chance.inPassage(2*(n-1))*(n-1))" in text
    assert own in text
