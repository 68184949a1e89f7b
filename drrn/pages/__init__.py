"""Pages for a browser: Jinja2 templates, and the styles and scripts that they share."""

from __future__ import annotations

import functools
import re
from importlib.resources import files
from typing import Any

from drrn.errors import require
from drrn.writing import visible

STATIC = files(__name__) / "static"


def rendered(template: str, **values: Any) -> str:
    """A template of `templates/` with these values; every text in them is escaped, control characters are left out."""
    return str(template_environment().get_template(template).render(**values)).rstrip() + "\n"


def static_text(name: str) -> str:
    """A style or script, for pages that carry it inside them."""
    return (STATIC / name).read_text(encoding="utf-8")


@functools.cache
def template_environment() -> Any:
    """Jinja2 with our templates: whatever is put in is escaped."""
    jinja2 = require("jinja2", "cli")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("drrn.pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters["marked"] = _marked
    environment.globals["static_text"] = lambda name: safe_markup(static_text(name))
    return environment


def _shown(value: Any) -> Any:
    """What others wrote, without the characters that steer a terminal; markup of our own stays markup."""
    return visible(value) if type(value) is str else value


def _marked(text: str) -> Any:
    """`code` and **bold**, and nothing else."""
    safe = str(require("markupsafe", "cli").escape(visible(text)))
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    return safe_markup(re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", safe))


def safe_markup(text: str) -> Any:
    """Markup of our own, which is not escaped."""
    return require("markupsafe", "cli").Markup(text)
