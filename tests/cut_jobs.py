"""Compares a job that is interrupted after its first round and resumed with one that is not."""


def assert_cut_job_ends_alike(job, rows, names):
    """`job("cut")` is interrupted, `job("whole")` is not; `rows(root)` is the folder of the rows."""
    list(job("whole").run())
    next(job("cut").run())
    list(job("cut").run())
    for name in names:
        assert (rows("whole") / name).read_text() == (rows("cut") / name).read_text()
