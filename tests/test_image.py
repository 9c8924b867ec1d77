"""deploy/Dockerfile says what the image has; building it takes Docker and is a matter of `make e2e`."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
COPIES = dict(re.findall(r"^COPY (?!--from)(\S+) (\S+)$", DOCKERFILE, re.MULTILINE))


def test_the_image_has_the_package_as_a_wheel_has_it():
    inside = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for source, target in {"koordpy": "koordpy", **inside}.items():
        assert COPIES[source] == f"/opt/koordpy/{target}"


def test_what_is_copied_is_sent_to_the_daemon_and_nothing_else_is():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert lines[1] == "*"
    sent = {line.removeprefix("!") for line in lines if line.startswith("!")}
    assert sent == set(COPIES)


def test_the_last_stage_needs_no_shell_and_no_root():
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    assert "RUN" not in last
    assert re.search(r"^USER 65532:65532$", last, re.MULTILINE)
    assert re.search(r'^ENTRYPOINT \["python3", "-m", "koordpy"\]$', last, re.MULTILINE)
