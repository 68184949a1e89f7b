"""Twine stories as games: readers, scripts, rendering, rules, state search, the game."""
