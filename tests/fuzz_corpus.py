"""Good stories, expressions, TOMLs and settings, and the snippets that fuzz tests put into them."""

GOOD_TWEE = """:: StoryTitle
Tale

:: StoryData
{"start": "Start", "format": "Sugarcane"}

:: StoryInit
<<set $gold = 3; $name = prompt('Name?', "Ada"); $bag = ['rope']>>

:: Start [house]
''Hello'', <<$name>>. You have <<print $gold>> coins &amp; <<print $bag.length>> things.
<<if $gold gt 2 and not visited("Cellar")>>The //cellar// is open.<<elseif $gold is 1>>\
Poor!<<else>><<Wall "red">><<endif>>

[[Go down|Cellar][$gold -= 1]]
* [[Stay->Start]]
<<choice [[Leave|End]]>> <<actions Cellar>>

:: Cellar [house dark]
<<silently>><<set $x = either("Start", "End")>><<endsilently>><<nobr>>
It is dark. <<print random(1, 3)>>
<<endnobr>> <<set $bag = ["bone"]>><a data-passage="Start">Up</a> or [[somewhere|$x]].

<<back label "Undo">> <<return>>

:: Wall
A <<print parameter(0)>> wall. /% hush %/ @@color:red;red@@ -- {{{as it is}}}

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

SNIPPETS = [
    "<<", ">>", "[[", "]]", "][", "|", "->", "<-", '"', "'", "\\", "$x", "$gold", "$bag", "/%", "%/", "{{{",
    "}}}", "<!--", "-->",
    "<<if $x>>", "<<else>>", "<<elseif 1>>", "<<else if", "<<endif>>", "<<set $x = ",
    "<<set $x = $x + $x + 'a'>>", "<<set $bag = [$bag, $bag]>>",
    "<<print ", "<<print $x>>", "<<display 'Start'>>", "<<Start>>", "<<Wall $x 1>>", "<<choice ", "<<actions ",
    "<<back 2 steps>>",
    "<<back ", "<<return>>", "<<nobr>>", "<<endnobr>>", "<<silently>>", "<<endsilently>>", "<<remember $x = 2>>",
    "<<forget $x>>",
    "<<textinput $x>>", "<<button ", "<<$x>>", "[[Start]]", "[[Go|End]]", "[[a|$x]]", "[[b|End][$x += 1]]",
    "[img[a][End]]",
    "<set $x = '<<print $x>>'>", "<<set $x = '[[Go|End]]'>>", "<a data-passage='End'>", "</a>", "<br>",
    "<script>", "</script>", "<p", "@@", "@@a:b;",
    "&amp;", "&#", "&#99999999999;", "&#x", "\n", "\n:: ", "\n:: Start\n", "\n:: A [", "\n:: StoryData\n{", "\r",
    "\t", "\u200b", "\ud7ff", "é", "İ", "²", "٣",
    "0", "1e999", "9" * 5000, "(", ")", "[", "]", "{", "}", "random(1,", "either(", "visited(", "parameter(0)",
    "Math.floor(Math.random()*",
    " is not ", " to ", " and ", "++", "--", "? :",
    "-" * 4, "((((" * 50, "<<if 1>>" * 60, "!" * 40, "." * 30, ".length", ".push(", ".join(",
    "<div tiddler='a'>", "</div>", "<div ", "<tw-passagedata pid='1' name='", "</tw-passagedata>", "tags=", "\\n",
    "\\s",
]  # fmt: skip

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

TOML_SNIPPETS = [
    "= ", "[[ending]]", "[[event]]", "[[expect]]", "[training]", "[inputs]", "nan", "inf", "-inf", "1e999", "true",
    "[]",
    "{}", '""', "0", "-1", "9" * 40, "1979-05-27T07:32:00Z", "'", '"', '\\', "\n", "#", "where = ", "regex = '(a+)+$'",
    "regex = '['", "passage = 'Nowhere'", "reward = ", "alpha = 'x'", "rounds = 0", "story = '../x.twee'",
    "max_steps = 0",
    "drop = '('", "drop = [1]", "where = '$x = '", "where = '(((('", "\u200b", "\x00", "é", "İ", "x = [" * 40,
    "title = 5",
    "paraphrases = 'x.tsv'", "a.b.c = 1", "[a.b]", "{ passage = 'End' }", "odds = ", "reward = '10'", "turns = 3",
]  # fmt: skip

JSON_SNIPPETS = [
    "{", "}", "[", "]", ",", ":", '"', "null", "true", "-1", "0", "1e999", "NaN", "Infinity", "9" * 30, '"x"',
    "[" * 2000,
    "\\ud800", "\x00", "\xff", '"rounds": 2', '"hidden": "six"', '"replicas": 3', '"model": "table"',
    '"model": "a:b"', '"seed": -1',
]  # fmt: skip

TOKENS = (
    "$x $y $list 0 1 2.5 'a' \"b\" true false null + - * / % == != === < > <= >= && || ! is not to and or eq neq "
    "gt ( ) [ ] , ; . ? : = += ++ -- .length .indexOf( .push( .join( .concat( .slice( .substring( .charAt( "
    ".toUpperCase() random( either( visited( visitedTag( turns() previous() passage() parameter( Math.floor( "
    "Math.random()* Math.max( Math.abs( parseInt( Number( String( prompt( foo eval( __import__("
).split()
