"""The page's scripts and styles: nothing external, no markup from texts, no long files."""

import re

import pytest

from tests.source_code import ROOT

FILES = [path for path in ROOT.glob("packages/*/*/s*/*") if path.suffix in (".js", ".css", ".svg")]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_scripts_and_styles_load_nothing_external_and_are_short(file):
    text = file.read_text(encoding="utf-8")
    assert not re.findall(r"(?:https?:)?//[\w-]+\.\w", text.replace("//www.w3.org", ""))
    assert len(text.splitlines()) <= 600
    if file.suffix == ".js":
        markup = r"innerHTML|outerHTML\s*=|insertAdjacentHTML|\beval\(|document\.write"
        assert not re.search(markup, text)
