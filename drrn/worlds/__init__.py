"""Parser games of our own: worlds in which every page offers the same commands, verbs times objects."""
