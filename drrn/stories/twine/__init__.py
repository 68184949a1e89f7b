"""Twine stories as games: readers, dialects, rendering, rules, state search, the game."""
