"""Add the files outside docs/ that pages link to, so that links also work on a code host.

MkDocs loads it as a hook. README.md becomes overview.md; results, examples and sources keep their
paths. The table of all settings is made here, from their declarations.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from drrn.settings import STRONG_CHANGES, all_settings

ROOT = Path(__file__).parents[1]
DOCS = "docs/"
LINK = re.compile(
    r"(?P<before>\]\(|(?:src|href)=\")(?P<path>[^)\"#\s:]+)(?P<after>#[^)\"\s]*)?(?P<end>[)\"])"
)
SETTINGS = "<!-- settings -->"
CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]+`", re.M | re.S)


def on_config(config: Any) -> Any:
    """Add KaTeX, if scripts/docs has fetched it."""
    if (ROOT / DOCS / "packages/katex/katex.min.js").exists():
        config.extra_css.append("packages/katex/katex.min.css")
        config.extra_javascript.insert(0, "packages/katex/katex.min.js")
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add README.md and every file of the repository that a page links to."""
    waiting = ["README.md", *(DOCS + file.src_uri for file in files.documentation_pages())]
    seen = set(waiting)
    while waiting:
        path = waiting.pop()
        if not path.startswith(DOCS):
            files.append(File.generated(config, site_path(path), abs_src_path=str(ROOT / path)))
        for link in linked(path) - seen:
            seen.add(link)
            waiting.append(link)
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point each link at the address of its file in the site."""
    path = source(page.file.src_uri)

    def moved(match: re.Match[str]) -> str:
        target = repository_path(path, match["path"])
        there = posixpath.relpath(site_path(target), posixpath.dirname(site_path(path)) or ".")
        return f"{match['before']}{there}{match['after'] or ''}{match['end']}"

    return outside_code(markdown, lambda text: LINK.sub(moved, text)).replace(
        SETTINGS, settings_table()
    )


def settings_table() -> str:
    """Return a table of every setting, its value in both recipes, and its meaning."""
    lines = [
        "| setting | the paper's recipe | the strong recipe, where it differs | |",
        "| --- | --- | --- | --- |",
    ]
    for name, setting in all_settings().items():
        strong = (
            f"`{STRONG_CHANGES[name]}`"
            if STRONG_CHANGES.get(name, setting.default) != setting.default
            else ""
        )
        meaning = setting.help.replace("|", "\\|")
        lines.append(f"| `{name}` | `{setting.default}` | {strong} | {meaning} |")
    return "\n".join(lines)


def outside_code(markdown: str, change: Any) -> str:
    """Apply a change to the text outside code blocks."""
    done, last = [], 0
    for code in CODE.finditer(markdown):
        done += [change(markdown[last : code.start()]), code.group()]
        last = code.end()
    return "".join((*done, change(markdown[last:])))


def linked(path: str) -> set[str]:
    """Return the files of the repository that a Markdown page links to."""
    if not path.endswith(".md"):
        return set()
    text = CODE.sub("", (ROOT / path).read_text(encoding="utf-8"))
    targets = {repository_path(path, match["path"]) for match in LINK.finditer(text)}
    return {target for target in targets if (ROOT / target).is_file()}


def repository_path(page: str, link: str) -> str:
    """Return the repository path of a link's target."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def site_path(path: str) -> str:
    """Return the path of a file in the site."""
    return "overview.md" if path == "README.md" else path.removeprefix(DOCS)


def source(uri: str) -> str:
    """Return the repository path of a file of the site."""
    if uri == "overview.md":
        return "README.md"
    return DOCS + uri if (ROOT / DOCS / uri).is_file() else uri
