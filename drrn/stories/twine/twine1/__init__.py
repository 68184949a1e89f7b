"""The dialect of the classic Twine 1 formats: Sugarcane, Jonah, Responsive."""

from drrn.stories.twine.script import Dialect
from drrn.stories.twine.twine1.expressions import parse
from drrn.stories.twine.twine1.functions import FUNCTIONS
from drrn.stories.twine.twine1.macros import read_passage

FORMATS = ("sugarcane", "jonah", "responsive")
TWINE_1 = Dialect("twine1", FORMATS, read_passage, parse, frozenset(FUNCTIONS))
