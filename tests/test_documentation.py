"""The documentation: its examples run, its commands and links exist, and its site is built without a warning."""

import re
import subprocess
import sys

import pytest

import drrn
from drrn.cli import parser
from tests.documentation import NOT_RUN, ROOT, Reader, blocks_of, pages

TUTORIALS = sorted((ROOT / "docs/tutorials").glob("*.md"))
LINK = re.compile(
    r"\]\((?P<path>[^)#\s:]*)(?:#(?P<anchor>[^)\s]+))?\)|(?:src|href)=\"(?P<source>[^\"#:]+)\""
)
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.M | re.S)


@pytest.fixture
def reader(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    yield Reader(capsys)
    for written in tmp_path.glob("*.py"):
        sys.modules.pop(written.stem, None)  # another page may write it otherwise


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_what_a_tutorial_says_can_be_done_and_prints_what_it_shows(page, reader):
    pytest.importorskip("gymnasium")
    for block in blocks_of(page):
        reader.follow(block)


@pytest.mark.parametrize("page", ["README.md", "docs/stories.md", "docs/training.md"])
def test_the_python_of_a_page_runs(page, reader):
    pytest.importorskip("gymnasium")
    for block in blocks_of(ROOT / page):
        if block.language == "python" and not block.told.startswith(NOT_RUN):
            exec(
                compile(block.text.replace("rounds=5", "rounds=1"), page, "exec"),
                {"__name__": "page"},
            )


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_every_command_and_option_that_a_page_names_exists(page):
    text = page.read_text(encoding="utf-8")
    helps = {}
    for command, rest in re.findall(
        r"(?:^(?:    |\$ )|`)drrn ([a-z]+(?: add\b)?)((?: [^\n`#|]*)?)", text, re.M
    ):
        if command not in helps:
            helps[command] = help_of(command)
        for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", rest):
            assert re.search(rf"{option}(?![\w-])", helps[command]), (
                f"{page.name}: drrn {command} has no {option}"
            )


def help_of(command):
    with pytest.raises(SystemExit), pytest.MonkeyPatch.context() as patch:
        said = []
        patch.setattr(
            "argparse.ArgumentParser.print_help",
            lambda self, file=None: said.append(self.format_help()),
        )
        parser().parse_args([*command.split(), "--help"])
    return said[0]


def test_the_api_reference_has_every_exported_name():
    named = set(
        re.findall(r"^::: drrn\.(\w+)$", (ROOT / "docs/api.md").read_text(encoding="utf-8"), re.M)
    )
    assert named == set(drrn.__all__) - {"__version__"}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_every_link_of_a_page_leads_somewhere(page):
    for link in LINK.finditer(CODE.sub("", page.read_text(encoding="utf-8"))):
        path = link["path"] or link["source"]
        target = (page.parent / path) if path else page
        assert target.exists(), f"{page.name} links to {path}, which is not there"
        if link["anchor"] and target.suffix == ".md" and "drrn." not in link["anchor"]:
            assert link["anchor"] in anchors(target), (
                f"{page.name}: {target.name} has no heading #{link['anchor']}"
            )


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_no_page_says_a_section_twice(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^##? .+$", text, re.M)
    assert len(headings) == len(set(headings))


def anchors(page):
    """The anchors of a page's headings, and those it sets itself."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    slugs = {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }
    return slugs | set(re.findall(r'<a id="([\w-]+)">', text))


def test_the_site_is_built_without_a_warning_and_fetches_nothing_from_elsewhere(tmp_path):
    pytest.importorskip("material")
    pytest.importorskip("mkdocstrings_handlers.python")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    for page in (tmp_path / "site").rglob("*.html"):
        fetched = re.findall(
            r"<(?:script|img|iframe)[^>]* src=\"?(https?:[^\"> ]+)",
            page.read_text(encoding="utf-8"),
        )
        sheets = re.findall(
            r"<link[^>]* rel=\"?stylesheet\"?[^>]*href=\"?(https?:[^\"> ]+)",
            page.read_text(encoding="utf-8"),
        )
        assert fetched + sheets == [], page.name
