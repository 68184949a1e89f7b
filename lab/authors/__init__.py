"""The paper's games and Home World, converted from clones of their authors' repositories."""
