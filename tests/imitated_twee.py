"""The two stories of the imitation as hand-written Twee: the expected result of the conversion."""

from pathlib import Path

GATE = """\
:: Start
The lamp is out.
Which way?

[[Take the hill.|Hill]]
[[Take the wood.|Wood]]
[[Lie down.|Bed]]
[[Wait.|Morning]]

:: Hill
<<set $came = 1>>It is steep.

[[Go on.|Gate]]

:: Wood
<<set $came = 2>>It is dark, and it’s long.

[[Go on.|Gate]]

:: Gate
At the gate you think of oil.

[[Turn back.|Start]]
<<if $came eq 1>>[[Use the match.|Lit]]<<else>>[[Use the flint.|Bed]]<<endif>>

:: Lit
The lamp is lit. Well done.

:: Morning
It’s morning.

:: Bed
You sleep through it all.
"""
GATE_RULES = """\
title = "Saving John"
story = "saving-john.twee"
step_reward = -0.1
max_steps = 500

[[ending]]
passage = "Lit"
reward = 20

[[ending]]
passage = "Bed"
reward = -10

[[ending]]
passage = "Morning"
reward = 5
"""

CROSSING = """\
:: Start
<<set $coins = 2>><<display "Quay">>

:: Quay
The river is wide. To the left is a [[kiosk|Kiosk]], and a [[ferry|Ferry]] lies at the quay.

<<if $coins gt 0>>You have <<print $coins>> coins.<<else>>Your pockets are empty.

[["I can swim.”|Swim]]<<endif>>

:: Kiosk
"Tea?" You drink it. The cup’s chipped.

<<if $coins gt 0>><<set $coins = $coins - 1>><<endif>><<set $drank = 1>><<display "Quay">>

:: Ferry
<<if $drank neq 1 and random(1, 4) is 1>>Fog comes down. [[Wait.|Ferry]]

[[Give up.|Jump]]<<else>><<display "Ashore">><<endif>>

:: Jump
You jump.
<<display "Swim">>

:: Swim
You swim home.

FINIS

:: Ashore
<<if $drank is 1>>"Ashore!" shouts the ferryman. FINIS<<else>>The far bank is yours. FINIS<<endif>>
"""
CROSSING_RULES = """\
title = "Machine of Death"
story = "machine-of-death.twee"
paraphrases = "machine-of-death.paraphrases.tsv"
step_reward = -0.1
max_steps = 500

[[ending]]
passage = "Swim"
reward = -10

[[ending]]
passage = "Ashore"
contains = "shouts the ferryman"
reward = 10

[[ending]]
passage = "Ashore"
reward = 20
"""
PARAPHRASES = 'original\tparaphrase\nkiosk\tbooth\n"I can swim.”\tI know how to swim.\n'


def write_twee(folder: Path) -> Path:
    """Write both stories under the names of the installed games; return the folder."""
    files = {
        "saving-john.twee": GATE,
        "saving-john.toml": GATE_RULES,
        "machine-of-death.twee": CROSSING,
        "machine-of-death.toml": CROSSING_RULES,
        "machine-of-death.paraphrases.tsv": PARAPHRASES,
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder
