"""Pages for a browser, from Jinja2 templates and styles.

A template or style of another package has the package before a slash: `storytest/story_map.svg` is
in the folder `templates` of storytest, `storytest/map.css` in its folder `styles`.
"""

import functools
from importlib.resources import files
from typing import Any

from textgames.errors import require
from textgames.wording import visible


def rendered(template: str, **values: Any) -> str:
    """Render a template. Texts lose control characters, and are escaped in HTML."""
    return str(template_environment().get_template(template).render(**values)).rstrip() + "\n"


def style(name: str) -> str:
    """A style, for pages that contain it inline."""
    return str(_file("styles", name).read_text(encoding="utf-8"))


@functools.cache
def template_environment() -> Any:
    """The Jinja2 environment, which escapes all texts of HTML."""
    jinja2 = require("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(
            lambda name: _file("templates", name).read_text(encoding="utf-8")
        ),
        autoescape=lambda name: not (name or "").endswith(".md"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,  # not markup
    )
    environment.globals["style"] = lambda name: safe_markup(style(name))
    return environment


def safe_markup(text: str) -> Any:
    """Declare trusted text as markup, which is not escaped."""
    return require("markupsafe").Markup(text)


def _file(folder: str, name: str) -> Any:
    package, _, file = name.rpartition("/")
    return files(package or __name__) / folder / file
