"""The version of this package, for whoever records it."""

__version__ = "0.1.0"
