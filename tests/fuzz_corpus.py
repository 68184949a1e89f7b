"""Valid stories and TOMLs that fuzz tests mutate, and the snippets they insert."""

import json
from pathlib import Path

GOOD_TWEE = """:: StoryTitle
Tale

:: StoryData
{"start": "Start", "format": "Sugarcane"}

:: StoryInit
<<set $gold = 3; $name = prompt('Name?', "Ada")>>

:: Start [house]
''Hello'', <<$name>>. You have <<print $gold>> coins &amp; things.
<<if $gold gt 2 and not visited("Cellar")>>The //cellar// is open.<<elseif $gold is 1>>\
Poor!<<else>><<Wall>><<endif>>

[[Go down|Cellar][$gold -= 1]]
* [[Stay->Start]]
[[Leave|End]] <<print visited() + turns()>>

:: Cellar [house dark]
<<silently>><<set $x = either("Start", "End")>><<endsilently>><<nobr>>
It is dark. <<print random(1, 3)>>
<<endnobr>> <<set $bag = "bone">>[[Up|Start]] or [[somewhere|$x]].

:: Wall
A <<print passage()>> wall. /% hush %/ @@color:red;red@@ -- {{{as it is}}}

:: End
<<display 'Wall'>> The end. <b>Bye</b>
"""

GOOD_HTML = """<html><head><meta charset="utf-8"></head><body>
<div id="storeArea"><div tiddler="StorySettings" tags="">obfuscate:off\\nobfuscatekey:abcd</div>
<div tiddler="Start" tags="a b">Hello &lt;&lt;set $x = 1&gt;&gt;\\n\\n[[Go|End]]\\n[[Stay|Start]]</div>
<div tiddler="End" tags="">The end&amp;nbsp;\\s/ &lt;&lt;$x&gt;&gt;</div></div></body></html>"""

GOOD_TWINE_2 = """<tw-storydata name="Tale" startnode="1" format="">
<tw-passagedata pid="1" name="Start" tags="a">Hello &lt;&lt;set $x = 1&gt;&gt;

[[Go|End]]</tw-passagedata>
<tw-passagedata pid="2" name="End" tags="">The end &lt;&lt;$x&gt;&gt;</tw-passagedata></tw-storydata>"""

GOOD_TOML = """title = "The Tale"
story = "tale.twee"
step_reward = -0.1
max_steps = 30
default_reward = 1
drop = ["^stay$", "un(do|ravel)"]
restart = ["again"]
end = [{ passage = "End" }, { where = "$gold < 0" }]

[inputs]
name = "Ada"

[training]
alpha = 0.5
discount = 0.9

[[ending]]
passage = "End"
where = "$gold gt 1 and visited('Cellar')"
reward = 10

[[ending]]
ends_with = "Bye"
regex = "(the|a) end"
reward = -2.5

[[event]]
tag = "dark"
contains = "dark"
reward = 0.5

[[expect]]
ending = "End"
odds = "> 0"
"""

_snippets = json.loads((Path(__file__).parent / "fuzz_snippets.json").read_text(encoding="utf-8"))
TOKENS = _snippets["tokens"]  # of expressions
SNIPPETS = [*_snippets["twee"], "9" * 5000, "((((" * 50, "<<if 1>>" * 60, "!" * 40, "." * 30]
TOML_SNIPPETS = [*_snippets["toml"], "9" * 40, "x = [" * 40]
JSON_SNIPPETS = [*_snippets["json"], "9" * 30, "[" * 2000]
