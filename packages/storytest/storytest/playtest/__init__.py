"""The play-test of a story."""
