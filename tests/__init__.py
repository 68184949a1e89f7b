"""The tests. PyTorch uses one thread: parallel processes share the cores."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
