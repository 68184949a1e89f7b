"""Story formats of Twine 2: reads and installs them, and publishes stories with them."""
