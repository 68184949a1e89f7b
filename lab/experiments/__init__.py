"""The experiments of the paper and beyond: plan, jobs, results, sweeps, clusters."""
