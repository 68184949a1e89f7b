"""For those who write stories: what a story holds, its odds and traps, its map, how people did."""
