"""File systems from Debian packages, as tar archives; `mmdebstrap` makes them."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from e2e.cluster.programs import LAST_LINES, CannotRun

SUITE = "bookworm"  # its systemd still runs on cgroup v1
_SCRIPTS = Path(__file__).parent
_UNREAD = ("man", "doc", "locale", "info", "lintian", "bash-completion")


def debootstrap(
    suite: str, packages: list[str], *, variant: str, script: str = "", files: Mapping[str, str] | None = None
) -> bytes:
    """The archive. `script` is run with the root directory and may use `files`, by environment variables."""
    command = ["mmdebstrap", "--quiet", f"--variant={variant}", '--aptopt=Acquire::Languages "none"']
    command += [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in _UNREAD]
    command += [f"--include={','.join(packages)}"]
    if script:
        stage = "extract" if variant == "extract" else "customize"  # the last one that the variant has
        command += [f"--{stage}-hook={_SCRIPTS / script}"]
    with tempfile.TemporaryFile() as errors:
        done = subprocess.run(
            [*command, suite, "-"],
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **(files or {})},
            check=False,
            timeout=900,
        )
        errors.seek(0)
        if done.returncode:
            lines = errors.read().decode(errors="replace").splitlines()[-LAST_LINES:]
            raise CannotRun("mmdebstrap failed:\n" + "\n".join(f"    {line}" for line in lines))
    return done.stdout
