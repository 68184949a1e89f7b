"""The tests. One thread each, before PyTorch is imported: the products are small, and the processes that run side by
side would mostly wait for each other's threads."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
