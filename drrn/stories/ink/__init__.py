"""Compiled Ink stories as games."""
