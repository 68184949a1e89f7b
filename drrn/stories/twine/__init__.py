"""Stories as games: readers, dialects, the page being told, rules, and the game that steps through it."""
