"""The look of maps as a style sheet, light and dark; a page may set the custom properties of `.story-map` itself."""

from __future__ import annotations

# From the worst reward by none to the best, as fills on which dark and light text can be read.
LIGHT_REWARDS = (
    "#f2a097",
    "#f5b8ac",
    "#f8d0bf",
    "#fbe6cc",
    "#fdf6cf",
    "#e6f2c6",
    "#cdeabb",
    "#b0dfae",
    "#93d3a2",
)
DARK_REWARDS = (
    "#7a2f2a",
    "#6f382d",
    "#634131",
    "#564a33",
    "#4a4a30",
    "#41502f",
    "#375530",
    "#2c5a33",
    "#206037",
)

LIGHT = {
    "paper": "#ffffff", "ink": "#1d2530", "soft": "#536076", "page": "#f3f5f8", "frame": "#77869b", "line": "#6b7b92",
    "back": "#b05f0a", "trap": "#e0d4f1", "start": "#dbe9fb", "over": "#e3e8ef",
}  # fmt: skip
DARK = {
    "paper": "#14181f", "ink": "#e8ecf2", "soft": "#a3b0c2", "page": "#222933", "frame": "#6d7c92", "line": "#8292a9",
    "back": "#e39a45", "trap": "#47386a", "start": "#1f3a5c", "over": "#303a48",
}  # fmt: skip


def _properties(colours: dict[str, str], rewards: tuple[str, ...]) -> str:
    named = [f"--map-{name}:{colour}" for name, colour in colours.items()]
    return ";".join(
        [*named, *(f"--map-r{number}:{colour}" for number, colour in enumerate(rewards))]
    )


MAP_STYLE = f"""
.story-map{{{_properties(LIGHT, LIGHT_REWARDS)};font-family:system-ui,"DejaVu Sans",sans-serif}}
@media (prefers-color-scheme:dark){{.story-map{{{_properties(DARK, DARK_REWARDS)}}}}}
:root[data-theme="light"] .story-map{{{_properties(LIGHT, LIGHT_REWARDS)}}}
:root[data-theme="dark"] .story-map{{{_properties(DARK, DARK_REWARDS)}}}
.story-map text{{fill:var(--map-ink);font-size:9.5px}}
.story-map .paper{{fill:var(--map-paper)}}
.story-map .heading{{font-size:17px;font-weight:600}}
.story-map .note{{font-size:11px;fill:var(--map-soft)}}
.story-map .name{{font-size:11.5px;font-weight:600}}
.story-map .pays{{font-size:10px}}
.story-map .frame{{fill:var(--map-page);stroke:var(--map-frame)}}
.story-map .inner,.story-map .chain{{fill:none;stroke:var(--map-frame);stroke-width:1}}
.story-map .chain{{stroke-width:2.2}}
.story-map .start>.frame{{fill:var(--map-start)}}
.story-map .trap>.frame{{fill:var(--map-trap)}}
{"".join(f".story-map .r{n}>.frame,.story-map .frame.r{n}{{fill:var(--map-r{n})}}" for n in range(len(LIGHT_REWARDS)))}
.story-map .row{{fill:transparent}}
.story-map g:hover>.row{{fill:var(--map-over)}}
.story-map .link text,.story-map .untried{{fill:var(--map-soft)}}
.story-map .chip.on text{{fill:var(--map-ink)}}
.story-map .chip.back text{{fill:var(--map-back)}}
.story-map a:hover text,.story-map a:focus text{{text-decoration:underline}}
.story-map .untried{{font-style:italic}}
.story-map .way{{fill:none;stroke:var(--map-line)}}
.story-map .way.back{{stroke:var(--map-back);stroke-dasharray:5 3}}
.story-map .way:hover{{stroke:var(--map-ink)}}
.story-map .head{{fill:var(--map-line)}}
.story-map .head.back{{fill:var(--map-back)}}
.story-map .place:hover>.frame,.story-map .place:target>.frame{{stroke:var(--map-ink)}}
""".strip()
