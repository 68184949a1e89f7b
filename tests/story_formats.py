"""A minimal story format, and the paths of published ones and of the Ink compiler."""

import json
import os
from pathlib import Path

import pytest

from tests.commands import main
from tests.stories import open_hosted

PAGE = "<html><head><title>{{STORY_NAME}}</title></head><body>{{STORY_DATA}}</body></html>"
SHARED_FORMATS = Path(
    os.environ.get("TEXTGAMES_STORY_FORMATS")
    or Path(__file__).resolve().parents[2] / "shared" / "formats"
)
# The file that `drrn formats add ink` adds.
INK_COMPILER = Path(
    os.environ.get("TEXTGAMES_INK_COMPILER")
    or Path.home() / ".textgames" / "formats" / "inkjs-2.4.0.js"
)
REAL_FORMATS = sorted(SHARED_FORMATS.glob("*/*/format.js"))
needs_formats = pytest.mark.skipif(
    not SHARED_FORMATS.is_dir(), reason="the story formats are missing (../shared/formats)"
)


def format_js(name="Harlowe", version="3.3.9", source=PAGE, **others):
    """Return a format.js that contains plain JSON."""
    properties = {"name": name, "version": version, "source": source, **others}
    return f"window.storyFormat({json.dumps(properties)});"


def write_format(folder, name="Harlowe", version="3.3.9", **others):
    """Write a format.js into a separate folder, as Twine does; return its path."""
    path = folder / f"{name.lower()}-{version}" / "format.js"
    path.parent.mkdir(parents=True)
    path.write_text(format_js(name, version, **others), encoding="utf-8")
    return path


def open_twee(passages, kind, version, folder):
    """Write a Twee file, install its format, and open it with the engine of the format."""
    data = {"ifid": "A7F0B8B2-6D0E-4E0C-8C1B-7C1E0D3F9A52"}
    data |= {"format": kind, "format-version": version}
    source = "".join(f"\n\n:: {name}\n{text}" for name, text in passages.items())
    path = folder / "tale.twee"
    path.write_text(f":: StoryData\n{json.dumps(data)}{source}\n", encoding="utf-8")
    main(["formats", "add", str(SHARED_FORMATS / kind)])
    return open_hosted(path, engine="hosted")
