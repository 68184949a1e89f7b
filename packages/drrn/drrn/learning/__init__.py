"""Learning: equations, memories, optimisers, learners. `reference` is the short version."""
