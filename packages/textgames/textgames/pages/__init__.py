"""Pages for a browser: Jinja2 templates, styles and scripts."""

import functools
from importlib.resources import files
from typing import Any

from drrn.errors import require
from drrn.writing import visible

STATIC = files(__name__) / "static"


def rendered(template: str, **values: Any) -> str:
    """Render a template of `templates/`. Texts lose control characters, and are escaped in HTML."""
    return str(template_environment().get_template(template).render(**values)).rstrip() + "\n"


def static_text(name: str) -> str:
    """A style or script, for pages that contain it inline."""
    return (STATIC / name).read_text(encoding="utf-8")


@functools.cache
def template_environment() -> Any:
    """The Jinja2 environment of our templates, which escapes all texts of HTML."""
    jinja2 = require("jinja2", "cli")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("drrn.pages"),
        autoescape=lambda name: not (name or "").endswith(".md"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,  # not markup
    )
    environment.globals["static_text"] = lambda name: safe_markup(static_text(name))
    return environment


def safe_markup(text: str) -> Any:
    """Declare trusted text as markup, which is not escaped."""
    return require("markupsafe", "cli").Markup(text)
