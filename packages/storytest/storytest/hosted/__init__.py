"""Stories played by the engine that their file carries."""
