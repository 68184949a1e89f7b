"""scripts/supply, which lists what is installed, without a package index."""

import os
import runpy
import subprocess
import sys
from importlib.metadata import metadata as installed
from pathlib import Path

import pytest

SUPPLY = Path(__file__).parents[1] / "scripts" / "supply"


@pytest.mark.parametrize(
    ("metadata", "licence"),
    [
        ({"name": "none", "license_expression": "MIT"}, "MIT"),
        ({"name": "none", "classifier": ["License :: OSI Approved :: BSD License"]}, "BSD License"),
        ({"name": "none", "license": "Own terms\nof many lines"}, "Own terms"),
        ({"name": "none"}, "unknown"),
        ({"name": "numpy"}, installed("numpy").json.get("license_expression", "unknown")),
    ],
)
def test_licences_are_listed(metadata, licence):
    assert runpy.run_path(str(SUPPLY))["licence_of"](metadata) == licence


def test_a_package_index_that_cannot_be_reached_is_one_sentence(tmp_path):
    index = {"PIP_INDEX_URL": tmp_path.as_uri(), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    done = subprocess.run(
        [sys.executable, str(SUPPLY), "stories"],
        env={**os.environ, **index},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "package index must be reachable" in done.stderr and "Traceback" not in done.stderr
