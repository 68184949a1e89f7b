"""A stand-in: starts what is called java on the PATH."""

from subprocess import PIPE, Popen


def launch_gateway():
    """Start Java; it exits when its input ends."""
    return Popen(["java"], stdin=PIPE, stdout=PIPE)
