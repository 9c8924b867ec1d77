"""`python -m e2e`: the whole run. `prepare`, `up`, `down` and `image` are parts of it, for whoever works on it.

Exit code 0 where the machine cannot run it, unless E2E_REQUIRED is set: the reason is printed, and nothing has failed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from e2e.cluster.image import NAME, build_image, size_mb
from e2e.cluster.programs import CannotRun, Failed, say
from e2e.cluster.providers import Given, Provider, choose

ROOT = Path(__file__).parent.parent


def main(arguments: list[str]) -> int:
    command, *rest = arguments or ["run"]
    try:
        provider = choose(builds=command != "run", installs=command != "down")
        say(f"provider: {provider.name}")
        return COMMANDS[command](provider, rest)
    except CannotRun as reason:
        say(f"DID NOT RUN, because this machine cannot:\n{reason}")
        return 1 if os.environ.get("E2E_REQUIRED") or command != "run" else 0
    except Failed as error:
        say(f"FAILED: {error}")
        return 1


def _run(provider: Provider, rest: list[str]) -> int:
    """KEEP=1 leaves the cluster for a look."""
    try:
        return _tell(provider.give(), rest)
    finally:
        if os.environ.get("KEEP"):
            say("the cluster stays; `make e2e-down` ends it")
        else:
            provider.end()


def _tell(given: Given, rest: list[str]) -> int:
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "e2e" / "pytest.ini"), str(ROOT / "e2e" / "stories")]
    command += [f"--kubeconfig={given.kubeconfig}", f"--image={given.image}", f"--provider={given.provider}"]
    result = subprocess.run([*command, *rest], cwd=ROOT, check=False).returncode
    say(f"ran on: {given.provider}; {'passed' if result == 0 else 'FAILED'}")
    return result


def _up(provider: Provider, _: list[str]) -> int:
    given = provider.give()
    say(f"up: export KUBECONFIG={given.kubeconfig}")
    return 0


def _down(provider: Provider, _: list[str]) -> int:
    provider.attach().end()
    return 0


def _prepare(provider: Provider, _: list[str]) -> int:
    try:
        provider.prepare()
    finally:
        provider.end()
    return 0


def _image(provider: Provider, rest: list[str]) -> int:
    docker, bases = provider.docker()
    name = rest[0] if rest else NAME
    try:
        build_image(docker, name, bases)
        say(f"built {name}: {size_mb(docker, name):.0f} MB")
    finally:
        provider.end()
    return 0


COMMANDS = {"run": _run, "up": _up, "down": _down, "prepare": _prepare, "image": _image}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
