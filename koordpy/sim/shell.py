"""What a shell has to be told before it finds the `koordpy` that runs now, as after `make demo`."""

from __future__ import annotations

import shutil
import sysconfig


def path_line() -> str:
    """A line for the commands that we print; empty where the command is found without."""
    if shutil.which("koordpy"):
        return ""
    return f"  export PATH={sysconfig.get_path('scripts')}:$PATH\n"
