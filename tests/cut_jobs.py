"""A job of an experiment that is cut after its first round and gone on with, beside one that was not."""

from drrn.lab.experiments.running import run


def assert_cut_job_ends_alike(work, rows, names):
    """What `work("cut")` writes after a cut is what `work("whole")` writes; `rows(root)` is the folder of its rows."""
    for _ in run(work("whole")):
        pass
    for _ in run(work("cut")):
        break
    for _ in run(work("cut")):
        pass
    for name in names:
        assert (rows("whole") / name).read_text() == (rows("cut") / name).read_text()
