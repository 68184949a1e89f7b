"""A Twee story of four pages: going out to sea pays, staying at home does not."""

FORK = """\
:: Start
The sea is grey and the wind is north.

[[Go out.|Grey]]
[[Stay in.|Home]]

:: Grey
You are out on the water.

[[Row on.|Island]]
[[Turn back.|Start]]

:: Island
An island, with figs.

:: Home
You stay, and wonder.
"""
REWARDS = "step_reward = -0.1\nmax_steps = 12\n[[ending]]\npassage = 'Island'\nreward = 10\n"
REWARDS += "[[ending]]\npassage = 'Home'\nreward = -10\n"
SMALL_REWARDS = REWARDS.replace("10", "1").replace("0.1", "0.01")
