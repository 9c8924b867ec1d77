"""What a failed story leaves behind: logs, events and objects, in one directory."""

from __future__ import annotations

from pathlib import Path

from e2e.cluster.programs import Failed
from e2e.stories.cluster import SYSTEM, Cluster


def collect(cluster: Cluster, directory: Path) -> None:
    """Everything somebody would ask for; what cannot be read is said in its place."""
    directory.mkdir(parents=True, exist_ok=True)
    gangs = "podgroups.scheduling.sigs.k8s.io,podgroups.scheduling.run.ai,schedulingspecs,queues.scheduling.run.ai"
    kinds = f"nodes,pods,{gangs},queuejobs,clusternetworktopologies,jobs,deployments,leases,pdb"
    questions = {
        "pods.txt": ["get", "pods", "--all-namespaces", "-o", "wide"],
        "events.txt": ["get", "events", "--all-namespaces", "--sort-by=.metadata.creationTimestamp"],
        "objects.yaml": ["get", kinds, "--all-namespaces", "-o", "yaml"],
        "nodes.txt": ["describe", "nodes"],
    }
    for pod in _koordpys(cluster):
        log = ["logs", f"--namespace={SYSTEM}", pod, "--tail=5000"]
        questions |= {f"{pod}.log": log, f"{pod}.previous.log": [*log, "--previous"]}
    for file, arguments in questions.items():
        (directory / file).write_text(_answer(cluster, arguments))


def _koordpys(cluster: Cluster) -> list[str]:
    return _answer(
        cluster, ["get", "pods", f"--namespace={SYSTEM}", "-o", "jsonpath={.items[*].metadata.name}"]
    ).split()


def _answer(cluster: Cluster, arguments: list[str]) -> str:
    try:
        return cluster.kubectl(*arguments)
    except Failed as error:
        return f"{error}\n"
