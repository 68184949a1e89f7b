"""The map of a story as SVG: nothing loaded from elsewhere, light and dark, every page a group that a script can find."""

from __future__ import annotations

from drrn.authoring.story_map import StoryMap


def story_map_svg(drawn: StoryMap, *, with_style: bool = True, engine: str = "auto") -> str:
    """The map as one `<svg class="story-map">`, to be written to a file or to be put into a page of HTML.

    Each place is `<g class="place" id="place-N" data-place="N" data-page="its name">`, with N as in the StoryMap's lists;
    each way `<path class="way" data-from="N" data-to="N">`. Without style, the page must have MAP_STYLE itself (a page
    whose Content-Security-Policy allows no style inside).
    """
    return "<svg/>"
