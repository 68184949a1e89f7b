"""Training runs: the trainer, the agent, and the folder that a run is saved in."""
