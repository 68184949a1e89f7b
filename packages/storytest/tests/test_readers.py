"""Readers: the same story in four notations and many encodings is the same game."""

from __future__ import annotations

import codecs
import html

import pytest

import textgames
from storytest.twine.reading import read_story

PASSAGES = {
    "StoryTitle": ("Tiny", ()),
    "Start": (
        "Café “Ünder”, 5 < 6 & \\o/.\n\n<<set $x = 'a\"b'>>[[Go on|The end]]\n[[Stay|Start]]",
        (),
    ),
    "The end": ("You said <<$x>>.\tDone.", ("dark", "wet")),
}

TWEE_1 = "\n\n".join(
    f":: {name}{' [' + ' '.join(tags) + ']' if tags else ''}\n{text}"
    for name, (text, tags) in PASSAGES.items()
)
TWEE_3 = (
    ':: StoryData\n{"ifid": "D674C58C", "format": "Sugarcane", "start": "Start"}\n\n'
    + "\n\n".join(
        f':: {name} [{" ".join(tags)}] {{"position":"1,2"}}\n{text}'
        for name, (text, tags) in PASSAGES.items()
    )
)


def stored(text):
    """A passage's text as Twine 1 writes it into its store."""
    escaped = html.escape(text, quote=False)
    return escaped.replace("\\", "\\s").replace("\n", "\\n").replace("\t", "\\t")


def twine_1(passages, settings=""):
    divs = "".join(
        f'<div tiddler="{html.escape(name)}" tags="{" ".join(tags)}" created="1">{stored(text)}</div>'
        for name, (text, tags) in {"StorySettings": (settings, ()), **passages}.items()
    )
    return (
        "<html><head><script>x = document.getElementById('storeArea'); y = '<div>';</script></head>"
        f'<body><div id="storeArea" data-size="3" hidden>{divs}</div></body></html>'
    )


def twine_2(passages, start=2):
    data = "\n".join(
        f'<tw-passagedata pid="{pid}" name="{html.escape(name)}" tags="{" ".join(tags)}" position="1,2">'
        f"{html.escape(text)}</tw-passagedata>"
        for pid, (name, (text, tags)) in enumerate(passages.items(), 1)
    )
    return f'<html>\n<tw-storydata name="Tiny" startnode="{start}" format="">{data}</tw-storydata></html>'


@pytest.fixture
def open_game(tmp_path):
    def game(content, name="tale.twee", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return textgames.make(path, shuffle=False, **options)

    return game


def play_two_pages(game):
    first = game.reset(0)
    return game.title, first, game.step(0), dict(game.script.tags)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (TWEE_1, "tale.tw"),
        (TWEE_3, "tale.twee"),
        (twine_1(PASSAGES), "tale.html"),
        (twine_2(PASSAGES), "tale.html"),
        (twine_2(PASSAGES), "tale"),
        (TWEE_1.replace("\n", "\r"), "tale.twee"),
        (codecs.BOM_UTF8 + TWEE_1.encode(), "tale.twee"),
        (TWEE_1.encode("utf-16"), "tale.twee"),
        (codecs.BOM_UTF16_BE + TWEE_1.encode("utf-16-be"), "tale.twee"),
        (
            twine_1(PASSAGES)
            .replace("<head>", '<head><meta charset="windows-1252">')
            .encode("cp1252"),
            "tale.html",
        ),
        (twine_2(PASSAGES).replace("tw-", "TW-"), "tale.html"),
    ],
)
def test_all_notations_and_encodings_give_the_same_game(open_game, content, name):
    title, first, second, tags = play_two_pages(open_game(content, name))
    assert title == "Tiny"
    assert (first.text, first.actions) == ("Café “Ünder”, 5 < 6 & \\o/.", ("Go on", "Stay"))
    assert (second.text, second.actions) == ('You said a"b. Done.', ())
    assert tags == {"Start": (), "The end": ("dark", "wet")}


def test_an_encoding_can_be_named(open_game):
    game = open_game(TWEE_1.encode("cp1252"), encoding="cp1252")
    assert play_two_pages(game)[1].text.startswith("Café “")


@pytest.mark.parametrize("encoding", ["nonsense", "rot13", "a b\0"])
def test_an_unknown_encoding_is_rejected(open_game, encoding):
    with pytest.raises(textgames.InputError, match=r"tale\.twee: unknown encoding "):
        open_game(TWEE_1, encoding=encoding)


def test_an_obfuscated_story_is_refused(open_game):
    with pytest.raises(textgames.InputError, match="obfuscated"):
        open_game(twine_1(PASSAGES, "Obfuscate: ROT13"), "tale.html")


@pytest.mark.parametrize(
    ("header", "name", "tags"),
    [
        (":: Hall", "Hall", ()),
        ("::Hall", "Hall", ()),
        ("::Hall[a b]", "Hall", ("a", "b")),
        (':: Hall [a] {"size":"1,2"}', "Hall", ("a",)),
        (':: Hall {"deep":{"x":1}}', "Hall", ()),
        (r":: Hall \[old\] [a]", "Hall [old]", ("a",)),
        (r":: Hall \{x\}", "Hall {x}", ()),
        (":: Hall [unclosed", "Hall [unclosed", ()),
        (":: Hall  of   echoes   [a]", "Hall  of   echoes", ("a",)),
    ],
)
def test_headers_name_passages_and_tags(tmp_path, header, name, tags):
    path = tmp_path / "tale.twee"
    path.write_text(f":: Start\nx\n\n{header}\nText.\n", encoding="utf-8")
    passage = read_story(path).passages[name]
    assert (passage.text, passage.tags, passage.line) == ("Text.", tags, 5)


INCLUDES = '<div tiddler="StoryIncludes" tags="">other.tw</div>'


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (':: StoryData\n{"start": "Other"}\n\n:: Start\nHere.\n\n:: Other\nThere.\n', "There."),
        (twine_2({"Here": ("Here.", ()), "There": ("There.", ())}), "There."),
        (f'<div id="storeArea"><div tiddler="Start">Here.</div>{INCLUDES}</div>', "Here."),
        (":: Start\n\\:: no header\n", ":: no header"),
        (":::  Start  \nHere.\n\n:: Code [script]\nif (a << b) {}\n", "Here."),
    ],
)
def test_a_story_starts_where_it_says_so(open_game, content, text):
    name = "tale.html" if content[0] == "<" else "tale.twee"
    assert open_game(content, name).reset(0).text == text


def test_the_later_of_two_passages_with_one_name_is_used(open_game):
    game = open_game(":: Start\nFirst.\n\n:: Start\nSecond.\n\n:: Look [stylesheet]\na {}\n")
    assert game.reset(0).text == "Second."
    assert game.script.story.duplicates == (("Start", 5),)
    assert set(game.script.nodes) == {"Start"}  # a style sheet is not a page
