"""The paper's experiments and reports, the authors' games, sweeps, clusters."""
