"""Many trainings at once: jobs, the processes or clusters that run them, sweeps and diagnoses."""
