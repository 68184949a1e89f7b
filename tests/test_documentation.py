"""The documentation: its examples run, its commands and links exist, and its site builds."""

import contextlib
import functools
import io
import re
import shutil
import subprocess
import sys

import pytest

import drrn
import storytest
import textgames
from tests.documentation import NOT_RUN, PROGRAMS, ROOT, Reader, blocks_of, commands_of, pages
from textgames.command_line import parser

TUTORIALS = [
    ROOT / f"docs/{name}.md"
    for name in ("lab/paper", "storytest/tutorial", "drrn/own-game", "drrn/own-model")
]
PRINTED_BY = ("2.13.0", "AVX512")  # the PyTorch and the processor of the numbers in tutorials
LINK = re.compile(
    r"\]\((?P<path>[^)#\s:]*)(?:#(?P<anchor>[^)\s]+))?\)|(?:src|href)=\"(?P<source>[^\"#:]+)\""
)
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.M | re.S)


@pytest.fixture
def reader(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    yield Reader(capsys)
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)  # another page may write a different one


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_code_of_a_tutorial_runs_and_prints_the_output_on_the_page(page, reader):
    pytest.importorskip("gymnasium")
    blocks = blocks_of(page)
    assert len(blocks) > 1
    for block in blocks:
        reader.follow(block)


@pytest.mark.full
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_numbers_of_a_tutorial_are_those_that_its_commands_print(page, reader):
    pytest.importorskip("gymnasium")
    torch = pytest.importorskip("torch")
    here = (torch.__version__.split("+")[0], torch.backends.cpu.get_cpu_capability())
    if here != PRINTED_BY:
        pytest.skip(f"sums round differently on {here} and {PRINTED_BY}")
    reader.is_full = True
    for block in blocks_of(page):
        reader.follow(block)


def test_the_readme_fits_and_its_output_is_that_of_a_terminal_of_80_columns(reader, monkeypatch):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    blocks = blocks_of(ROOT / "README.md")
    monkeypatch.setenv("COLUMNS", "80")
    outputs = 0
    for block in blocks:
        assert max(map(len, block.text.splitlines())) <= 80
        if block.language == "console" and any(lines for _, lines in commands_of(block)):
            reader.follow(block)
            outputs += 1
    assert outputs


@pytest.mark.parametrize("page", ["README.md", "docs/drrn/gymnasium.md", "docs/drrn/training.md"])
def test_the_python_code_of_a_page_runs(page, reader):
    pytest.importorskip("gymnasium")
    blocks = [block for block in blocks_of(ROOT / page) if block.language == "python"]
    assert blocks
    for block in blocks:
        if not block.comment.startswith(NOT_RUN):
            code = block.text.replace("rounds=5", "rounds=1")
            exec(compile(code, page, "exec"), {"__name__": "page"})


COMMAND = re.compile(
    rf"(?:^(?:    |\$ )|`)(?P<program>{'|'.join(PROGRAMS)})(?: (?P<words>[^\n`#|]*))?", re.M
)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_every_command_and_option_on_a_page_exists(page):
    for match in COMMAND.finditer(page.read_text(encoding="utf-8")):
        name, _, arguments = (match["words"] or "").partition(" ")
        if not re.fullmatch(r"[a-z]+", name) and match["program"] == "storytest":
            name, arguments = "test", match["words"] or ""  # of a story
        if not re.fullmatch(r"[a-z]+", name):
            continue
        if re.match(r"add\b", arguments):
            name += " add"
        text = help_of(match["program"], name)
        for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", arguments):
            assert re.search(rf"{option}(?![\w-])", text), f"{match[0]}: no {option}"


@functools.cache
def help_of(program, command):
    """Return the help of a command."""
    output = io.StringIO()
    with pytest.raises(SystemExit) as stop, contextlib.redirect_stdout(output):
        parser(PROGRAMS[program], full=True).parse_args([*command.split(), "--help"])
    assert stop.value.code == 0, f"{program} has no command {command}"
    return output.getvalue()


@pytest.mark.parametrize("package", [drrn, storytest, textgames])
def test_the_api_reference_has_every_exported_name(package):
    text = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    names = set(re.findall(rf"^::: {package.__name__}\.(\w+)$", text, re.M))
    exported = set(package.__all__) - {"__version__"}
    if package is drrn:  # it also has the names of textgames
        exported -= set(textgames.__all__)
    assert names == exported


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_every_link_of_a_page_has_a_target(page):
    for link in LINK.finditer(CODE.sub("", page.read_text(encoding="utf-8"))):
        path = link["path"] or link["source"]
        target = (page.parent / path) if path else page
        assert target.exists(), f"{page.name} links to {path}, which does not exist"
        is_heading = "." not in (link["anchor"] or ".")  # not a name of the API
        if is_heading and target.suffix == ".md":
            assert link["anchor"] in anchors(target), (
                f"{page.name}: {target.name} has no heading #{link['anchor']}"
            )


def anchors(page):
    """Return the anchors of the headings and the explicit ones."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    slugs = {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }
    return slugs | set(re.findall(r'<a id="([\w-]+)">', text))


@pytest.mark.full
def test_the_site_builds_without_warnings_and_loads_nothing_from_other_hosts(tmp_path):
    pytest.importorskip("material")
    pytest.importorskip("mkdocstrings_handlers.python")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir"]
    command.append(str(tmp_path / "site"))
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    for page in (tmp_path / "site").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        sources = re.findall(r"<(?:script|img|iframe)[^>]* src=\"?(https?:[^\"> ]+)", text)
        sheets = re.findall(r"<link[^>]* rel=\"?stylesheet\"?[^>]*href=\"?(https?:[^\"> ]+)", text)
        assert sources + sheets == [], page.name
