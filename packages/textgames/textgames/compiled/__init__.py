"""A game as arrays: every state that can be reached, and thousands of episodes at once."""
