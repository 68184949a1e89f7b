"""A stand-in for py4j, which starts Java and calls it."""
