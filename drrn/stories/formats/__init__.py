"""Story formats of Twine 2: reading a `format.js`, keeping it, and publishing a story with it in memory."""
