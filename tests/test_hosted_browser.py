"""The light browser in which hosted stories run behaves as a real one where story formats and jQuery look."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("py_mini_racer")

from drrn.stories.hosted.browser import Isolate, add_browser, load, prepare

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
    """Evaluate an expression on a page whose body holds nothing yet."""
    isolate.evaluate("document.body.innerHTML = ''")
    return lambda expression: json.loads(
        isolate.evaluate(f"JSON.stringify({expression})") or "null"
    )


def page(run, markup):
    run(f"document.body.innerHTML = {json.dumps(markup)}")


MARKUP = [
    ("<p>one<p>two", "<p>one</p><p>two</p>"),
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
    ("<div><span>open", "<div><span>open</span></div>"),
    (
        "<svg viewBox='0 0 1 1'><path d='M0'/></svg>after",
        '<svg viewbox="0 0 1 1"><path d="M0"></path></svg>after',
    ),
]


@pytest.mark.parametrize(("written", "read"), MARKUP)
def test_markup_is_mended_as_browsers_mend_it(run, written, read):
    page(run, written)
    expected = read.replace("<textarea><b>", "<textarea>&lt;b&gt;")
    assert run("document.body.innerHTML") == expected


SELECTORS = [
    ("li", ["a", "b", "c"]),
    ("#b", ["b"]),
    ("ul > .odd", ["a", "c"]),
    (".odd + li", ["b"]),
    ("#a ~ li", ["b", "c"]),
    ("li:first-child, li:last-child", ["a", "c"]),
    ("li:nth-child(2n+1)", ["a", "c"]),
    ("li:not(.odd)", ["b"]),
    ('[data-name="two words"]', ["b"]),
    ("[data-name^='two' i]", ["b"]),
    ("li:has(em)", ["c"]),
    ("ul li:is(#a, #c):not(:empty)", ["a", "c"]),
]


@pytest.mark.parametrize(("selector", "found"), SELECTORS)
def test_selectors_find_elements_in_document_order(run, selector, found):
    page(
        run,
        '<ul><li id=a class=odd>1<li id=b data-name="two words">2<li id=c class="x odd"><em>3</em></ul>',
    )
    assert (
        run(f"[...document.querySelectorAll({json.dumps(selector)})].map((element) => element.id)")
        == found
    )


def test_an_invalid_selector_throws_so_that_jquery_uses_its_own_matcher(run):
    refused = "(() => { try { document.querySelector('li:eq(0)') } catch (error) { return error.name } })()"
    assert run(refused) == "SyntaxError"


def test_events_go_down_to_their_target_and_up_again(run):
    page(run, "<div id=outer><span id=inner></span></div>")
    run("""(globalThis.told = [],
        document.addEventListener("ping", () => told.push("document, down"), true),
        outer = document.getElementById("outer"), inner = document.getElementById("inner"),
        outer.addEventListener("ping", () => told.push("outer, up")),
        outer.addEventListener("ping", () => told.push("outer, down"), true),
        inner.addEventListener("ping", (event) => told.push("inner", event.target.id)),
        inner.dispatchEvent(new CustomEvent("ping", { bubbles: true })), 0)""")
    assert run("told") == ["document, down", "outer, down", "inner", "inner", "outer, up"]


def test_a_listener_can_stop_an_event_and_forbid_what_follows_it(run):
    page(run, "<form id=form><input type=checkbox id=box></form>")
    run("""(globalThis.told = 0, $ = (id) => document.getElementById(id), box = $("box"),
        $("form").onclick = () => told++,
        box.addEventListener("click", (event) => { event.stopPropagation(); event.preventDefault(); }), box.click())""")
    assert run("[told, box.checked]") == [0, False]


def test_a_listener_that_throws_stops_nobody_else(run):
    page(run, "<p id=p></p>")
    run("""(globalThis.told = [], addEventListener("error", (event) => told.push(event.error.message), { once: true }),
        p = document.getElementById("p"), p.addEventListener("x", () => { throw new Error("mine") }),
        p.addEventListener("x", () => told.push("second")), p.dispatchEvent(new Event("x")))""")
    assert run("told") == ["mine", "second"]


def test_clicks_do_what_forms_and_links_do(run):
    page(
        run,
        """<form id=form><label id=label>Tick <input type=checkbox id=box></label><input type=radio name=r id=r1
        checked><input type=radio name=r id=r2><button id=send>Go</button></form>
        <a id=link href="javascript:told.push('link')">x</a>""",
    )
    run("""(globalThis.told = [], $ = (id) => document.getElementById(id),
        $("box").addEventListener("change", () => told.push("change")), $("label").click(), $("r2").click(),
        $("form").addEventListener("submit", (event) => told.push("submit by " + event.submitter.id)),
        $("send").click(), $("link").click())""")
    assert run("told") == ["change", "submit by send", "link"]
    assert run('[$("box").checked, $("r1").checked, $("r2").checked]') == [True, False, True]


def test_selects_have_the_value_of_the_option_chosen(run):
    page(run, "<select id=s><option value=1>one<option value=2 selected>two<option>three</select>")
    assert run(
        '(s = document.getElementById("s"), [s.value, s.selectedIndex, s.options.length])'
    ) == ["2", 1, 3]
    assert run('(s.value = "three", [s.value, s.selectedIndex, s.options[2].selected, s.options[1].selected])') == [
        "three", 2, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("markup", "display"),
    [
        ("<p id=x>", "block"),
        ("<p id=x hidden>", "none"),
        ("<span id=x class=secret>", "none"),
        ("<span id=x class=secret style='display: flex'>", "flex"),
        ("<p id=x class=loud style='display: none'>", "block"),
        ("<p id=x class=wide>", "block"),
        ("<p id=x class=phone>", "none"),
        ("<template id=x>", "none"),
        ("<input id=x type=hidden>", "none"),
        ("<tw-hook id=x>", "inline"),
    ],
)
def test_display_follows_the_page_s_style_sheets(run, markup, display):
    page(run, markup)
    assert run('getComputedStyle(document.getElementById("x")).display') == display


def test_visibility_is_inherited_and_hidden_parts_have_no_box(run):
    page(run, "<div id=ghost><i id=i></i></div><div class=secret><b id=b></b></div>")
    assert run('getComputedStyle(document.getElementById("i")).visibility') == "hidden"
    assert run('["i", "b"].map((id) => document.getElementById(id).getClientRects().length)') == [
        1,
        0,
    ]


def test_a_style_sheet_that_a_script_adds_counts(run):
    page(run, "<p id=x>text</p>")
    assert run('getComputedStyle(document.getElementById("x")).display') == "block"
    run(
        'void (document.body.appendChild(document.createElement("style")).textContent = "#x { display: none }")'
    )
    assert run('getComputedStyle(document.getElementById("x")).display') == "none"


def test_inline_style_and_attribute_are_one(run):
    page(run, "<p id=x style='color: red'>")
    run(
        '(x = document.getElementById("x"), x.style.marginTop = "2px", x.style.setProperty("--own", "1"), 0)'
    )
    assert run('x.getAttribute("style")') == "color: red; margin-top: 2px; --own: 1;"
    assert run(
        """(x.setAttribute("style", "display: none"), [x.style.display, x.style.color])"""
    ) == ["none", ""]


def test_lists_of_nodes_are_live(run):
    page(run, "<i></i><i></i>")
    run(
        "void (kept = document.getElementsByTagName('i'), children = document.body.childNodes, children[0].remove())"
    )
    assert run(
        "[kept.length, children.length, kept[0] === children[0], kept[1] === undefined]"
    ) == [1, 1, True, True]


def test_classes_and_data_mirror_their_attributes(run):
    page(run, "<p id=x class='one two' data-first-word=hello>")
    run(
        '(x = document.getElementById("x"), x.classList.toggle("two"), x.classList.add("three"), x.dataset.next = 5)'
    )
    assert run("""([x.className, x.dataset.firstWord, x.getAttribute("data-next"), Object.keys(x.dataset)])""") == [
        "one three", "hello", "5", ["firstWord", "next"],
    ]  # fmt: skip


def test_scripts_run_when_they_are_inserted_but_not_out_of_markup(run):
    page(run, "<script>globalThis.told = 'markup'</script>")
    assert run("globalThis.told === 'markup'") is False
    run(
        'void (s = document.createElement("script"), s.text = "globalThis.told = 7", document.head.appendChild(s))'
    )
    assert run("told") == 7


def test_custom_elements_are_upgraded_wherever_they_come_from(run):
    run("""(customElements.define("x-box", class extends HTMLElement {
        static get observedAttributes() { return ["kind"]; }
        connectedCallback() { this.textContent = "box " + (this.kind || ""); }
        attributeChangedCallback(name, old, value) { this.kind = value; } }), 0)""")
    page(run, "<x-box kind=blue></x-box>")
    run('document.body.appendChild(document.createElement("x-box")).nodeType')
    assert run("document.body.textContent") == "box bluebox "


def test_mutation_observers_are_called_between_scripts(run, isolate):
    page(run, "<p id=x></p>")
    run("""(globalThis.told = [], new MutationObserver((records) => told.push(records.length)).observe(document.body,
        { childList: true, subtree: true }), document.getElementById("x").append("a", "b"), 0)""")
    assert run("told") == [2]


def test_storage_history_and_addresses_exist(run):
    run('(localStorage.setItem("a", 1), localStorage.b = 2)')
    assert run('[localStorage.getItem("a"), localStorage.length, localStorage.b]') == ["1", 2, "2"]
    assert run(
        """(history.pushState({ page: 1 }, "", "#one"), [location.hash, history.state.page])"""
    ) == ["#one", 1]
    assert run('new URL("../x?y=1#z", "https://a.b/c/d/e").href') == "https://a.b/c/x?y=1#z"
    assert run('[new URLSearchParams("a=1&b=c+d").get("b"), atob(btoa("Hi!"))]') == ["c d", "Hi!"]


def test_scripts_of_a_page_share_their_names_and_see_only_what_was_read_before_them():
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


def test_a_story_is_prepare_to_load_nothing_and_to_draw_no_lots_for_jquery():
    text = prepare(
        '<script src="https://x.y/z.js"></script><link rel="stylesheet" href="a.css">h=E+=null==p?1:Math.random()||.1'
    )
    assert text == "h=E+=null==p?1:0.1"
