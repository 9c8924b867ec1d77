"""`make manifests`: everything that is made from the chart and from the definitions, written anew.

Tests compare each of these files with what would be written here.
"""

from __future__ import annotations

import re
from pathlib import Path

from deploy import chart, values
from koordpy import __version__

TABLE = re.compile(r"(?<=<!-- values -->\n).*?(?=\n<!-- /values -->)", re.DOTALL)
INSTALL = chart.ROOT / "deploy" / "manifests" / "install.yaml"


def files() -> dict[Path, str]:
    """What has to stand in which file, apart from what helm renders."""
    readme = chart.CHART / "README.md"
    rows = values.table(values.read(chart.CHART / "values.yaml"))
    about = chart.CHART / "Chart.yaml"
    versions = re.sub(r"^(version|appVersion): \S+", rf"\1: {__version__}", about.read_text(), flags=re.MULTILINE)
    copies = {
        chart.CHART / "files" / "crds" / path.name: path.read_text() for path in (chart.ROOT / "crds").glob("*.yaml")
    }
    monitoring = (
        chart.ROOT / "deploy" / "prometheus" / "rules.yaml",
        chart.ROOT / "deploy" / "grafana" / "koordpy.json",
    )
    copies |= {chart.CHART / "files" / "monitoring" / path.name: path.read_text() for path in monitoring}
    return {readme: TABLE.sub(lambda _: rows, readme.read_text()), about: versions, **copies}


def rendered() -> dict[Path, str]:
    """What helm renders, of the files above."""
    cases = {chart.GOLDEN / f"{case}.yaml": chart.golden(case) for case in chart.CASES}
    return {INSTALL: chart.for_install(), **cases}


def main() -> None:
    for write in (files, rendered):
        for path, text in write().items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
