"""What a machine needs to make its own node image, and how it gets it: Debian packages, where we are root.

They are installed without a question, because a new machine of CI has nobody to ask: the line that is printed names
them. `E2E_INSTALL=0` forbids it. Nothing is removed or upgraded.
"""

from __future__ import annotations

import os
import shutil

from e2e.cluster.programs import Failed, run, say

PACKAGES = ("docker.io", "containerd", "runc", "iptables", "nftables", "mmdebstrap")
_PROGRAMS = ("dockerd", "containerd", "runc", "iptables", "nft", "mmdebstrap")
# Whoever else installs something at this moment is waited for.
_APT = ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet", "--option=DPkg::Lock::Timeout=120")
_PATIENCE_S = 600


def why_not(*, installs: bool = True) -> str:
    """Why this machine cannot make a node image; empty where it can, if need be after its packages were installed."""
    if os.geteuid() != 0:
        return "needs root"
    missing = missing_programs()
    if not missing:
        return ""
    command = f"apt-get install --no-install-recommends {' '.join(PACKAGES)}"
    if not installs:
        return f"{', '.join(missing)} missing"
    if os.environ.get("E2E_INSTALL") == "0":
        return f"{', '.join(missing)} missing, and E2E_INSTALL=0 forbids: {command}"
    if not shutil.which("apt-get"):
        return f"{', '.join(missing)} missing, and there is no apt-get that could install {', '.join(PACKAGES)}"
    return _install(missing, command)


def missing_programs() -> list[str]:
    return [name for name in _PROGRAMS if not shutil.which(name)]


def _install(missing: list[str], command: str) -> str:
    say(f"{', '.join(missing)} missing, a minute for: {command}")
    try:
        run([*_APT, "update"], label="apt-get update", limit_s=_PATIENCE_S)
        install = ["install", "--yes", "--no-upgrade", "--no-install-recommends", *PACKAGES]
        run([*_APT, *install], label="apt-get install", limit_s=_PATIENCE_S)
    except Failed as error:
        return f"{', '.join(missing)} missing, and they cannot be installed: {error}"
    left = missing_programs()
    return f"{', '.join(left)} missing, even after: {command}" if left else ""
