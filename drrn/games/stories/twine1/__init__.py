"""The dialect of the classic Twine 1 formats: Sugarcane, Jonah, Responsive."""

from drrn.games.stories.twine1.macros import read_passage

__all__ = ["read_passage"]
