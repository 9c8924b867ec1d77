"""The lock files pin what pyproject.toml asks for: every checkout, CI and the image have the same versions."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
IMAGE = (ROOT / "deploy" / "requirements.lock").read_text()
LOCK = (ROOT / "requirements-dev.lock").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ASKED = [
    Requirement(line)
    for line in (
        *PROJECT["project"]["dependencies"],
        *PROJECT["project"]["optional-dependencies"]["dev"],
        *PROJECT["build-system"]["requires"],
    )
]
# A pin with its hashes and the comment that says who asked for it.
PIN = re.compile(r"^[A-Za-z0-9].*\n(?: +.*\n)*", re.MULTILINE)
ENTRIES = PIN.findall(LOCK)
PYTHONS = ("3.11.0", "3.12.0", "3.13.0")
RENEW = "; run 'make lock'"


def pinned(entry: str) -> Requirement:
    return Requirement(entry.partition(" \\\n")[0])


def version_of(name: str, python: str) -> str | None:
    """The version that pip installs from the lock file with this Python, on Linux."""
    surroundings = {"python_full_version": python, "python_version": python[:4], "sys_platform": "linux"}
    for pin in map(pinned, ENTRIES):
        if canonicalize_name(pin.name) == name and (pin.marker is None or pin.marker.evaluate(surroundings)):
            return next(iter(pin.specifier)).version
    return None


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_the_lock_file_pins_a_version_that_the_project_accepts(asked, python):
    version = version_of(canonicalize_name(asked.name), python)
    assert version is not None, f"requirements-dev.lock has no {asked.name}{RENEW}"
    assert asked.specifier.contains(version, prereleases=True), f"{asked} is locked at {version}{RENEW}"


def test_what_is_pinned_for_the_project_is_still_asked_for():
    direct = {canonicalize_name(pinned(entry).name) for entry in ENTRIES if "koordpy (pyproject.toml)" in entry}
    assert direct == {canonicalize_name(asked.name) for asked in ASKED}, f"requirements-dev.lock is stale{RENEW}"


def test_every_pin_is_one_version_with_hashes():
    assert len(ENTRIES) > len(ASKED)
    for entry in ENTRIES:
        assert [spec.operator for spec in pinned(entry).specifier] == ["=="]
        assert "--hash=sha256:" in entry


@pytest.mark.parametrize("lock", [LOCK, IMAGE], ids=["development", "image"])
def test_the_lock_file_names_no_package_index(lock):
    """Whoever installs chooses the index; hashes say that it gave the right files."""
    assert "://" not in lock
    assert not re.search(r"^-", lock, re.MULTILINE)


def test_the_image_has_what_is_tested_and_nothing_that_only_tests_need():
    def version(entry: str) -> str:
        return f"{pinned(entry).name}{pinned(entry).specifier}"

    image = {version(entry): entry for entry in PIN.findall(IMAGE)}
    assert set(image) <= {version(entry) for entry in ENTRIES}, f"another version is tested{RENEW}"
    assert all("--hash=sha256:" in entry for entry in image.values())
    direct = {canonicalize_name(pinned(entry).name) for entry in image.values() if "koordpy (pyproject.toml)" in entry}
    assert direct == {canonicalize_name(Requirement(line).name) for line in PROJECT["project"]["dependencies"]}
