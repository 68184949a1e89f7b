"""Learning: equations, the replay buffer, optimisers, learners; `reference` is a short version."""
