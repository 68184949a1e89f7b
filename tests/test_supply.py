"""scripts/supply, which lists what is installed, without a package index."""

import hashlib
import os
import runpy
import subprocess
import sys
import zipfile
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


def test_an_installation_with_hashes_refuses_another_file(tmp_path):
    wheel = tmp_path / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr(
            "tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"
        )
        file.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr("tiny-1.0.dist-info/RECORD", "")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    command = [sys.executable, "-m", "pip", "install", "--no-index", "--find-links", str(tmp_path)]
    command += ["--require-hashes", "--target", str(tmp_path / "out"), "-r", str(tmp_path / "lock")]
    for line, code in ((digest, 0), ("0" * 64, 1)):
        (tmp_path / "lock").write_text(f"tiny==1.0 --hash=sha256:{line}\n")
        assert subprocess.run(command, capture_output=True, check=False).returncode == code


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
