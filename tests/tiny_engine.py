"""A story format in forty lines, to test hosted stories without a published format."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

ENGINE = r"""
(function () {
  const data = document.querySelector("tw-storydata");
  const page = document.getElementById("passages");
  const story = (window.story = { state: {}, show });

  // {{…}} is JavaScript whose value is shown; [[words->passage]] is a link; the rest is HTML.
  function show(name) {
    const source = data.querySelector('tw-passagedata[name="' + name + '"]').textContent;
    page.setAttribute("data-passage-name", name);
    page.innerHTML = source
      .replace(/\{\{([^]*?)\}\}/g, (_, code) => {
        const value = new Function("s", "return (" + code + ")")(story.state);
        return value === undefined ? "" : value;
      })
      .replace(/\[\[(.*?)->(.*?)\]\]/g, '<a data-passage="$2">$1</a>');
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-passage]");
    if (link) show(link.getAttribute("data-passage"));
  });
  window.addEventListener("load", () => show(data.getAttribute("start")));
})();
"""


def tiny_story(
    passages: Mapping[str, str], *, script: str = "", style: str = "", body: str = ""
) -> str:
    """Return a published file of the tiny format, which starts with the first passage."""
    data = "".join(
        f'<tw-passagedata name="{escape(name)}" tags="">{escape(text)}</tw-passagedata>'
        for name, text in passages.items()
    )
    start = escape(next(iter(passages), ""))
    return (
        f"<!DOCTYPE html><html><head><title>tiny</title><style>{style}</style></head><body>{body}"
        f'<div id="passages"></div>'
        f'<tw-storydata name="tiny" start="{start}" format="Tiny" hidden>{data}</tw-storydata>'
        f"<script>{ENGINE}</script><script>{script}</script></body></html>"
    )
