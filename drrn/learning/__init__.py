"""How weights move: exploration, the replay buffer, optimisers, Q-learning; `reference` has it all in sixty lines."""
