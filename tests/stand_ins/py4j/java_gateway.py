"""A stand-in: starts what is called java on the PATH."""

from subprocess import PIPE, Popen


class GatewayConnection:
    """A connection to Java."""


def launch_gateway():
    """Start Java; it exits when its input ends."""
    return Popen(["java"], stdin=PIPE, stdout=PIPE)
