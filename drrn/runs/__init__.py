"""A training run: settings, the loop, the agent, the folder that it is kept in."""
