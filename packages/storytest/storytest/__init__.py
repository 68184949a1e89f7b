"""Stories: readers, engines, the play-test and the map. Needs NumPy alone."""
