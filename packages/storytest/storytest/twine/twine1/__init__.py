"""The language of the classic Twine 1 formats: Sugarcane, Jonah, Responsive."""
