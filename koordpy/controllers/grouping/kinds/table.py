"""Every kind that koordpy knows, and how its pods are grouped. Versions of an API group are not told apart.

A kind that passes down is not grouped by: the owner below it is, whatever that is. So the pods of a CronJob are grouped
by their Job, and those of a TrainJob by their JobSet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from koordpy.api.grouping import BUILD, Gang, Owner, Workload
from koordpy.controllers.grouping.kinds import plain, ray
from koordpy.controllers.grouping.kinds.job import job
from koordpy.controllers.grouping.kinds.jobset import jobset
from koordpy.controllers.grouping.kinds.knative import revision
from koordpy.controllers.grouping.kinds.leaderworkerset import leaderworkerset
from koordpy.controllers.grouping.kinds.mpijob import mpijob
from koordpy.controllers.grouping.kinds.pytorchjob import pytorchjob
from koordpy.controllers.grouping.kinds.replicaspecs import replica_specs

_ANY = plain.minimum_of_one()


@dataclass(frozen=True, slots=True)
class Kind:
    """How the pods of one kind of owner are grouped."""

    group: str
    kind: str
    gangs: Callable[[Workload], Sequence[Gang]] = _ANY
    reads_body: bool = False  # the rule needs `spec` or `status`, and not the metadata alone
    passes_down: bool = False


_KUBEFLOW, _RAY, _KNATIVE = "kubeflow.org", "ray.io", "serving.knative.dev"
_UNKNOWN = Kind("", "")
BUILT_IN = (
    Kind("apps", "Deployment", plain.each_pod),
    Kind("batch", "Job", job),
    Kind("batch", "CronJob", passes_down=True),
    Kind("jobset.x-k8s.io", "JobSet", jobset, reads_body=True),
    Kind("trainer.kubeflow.org", "TrainJob", passes_down=True),
    Kind(_KUBEFLOW, "PyTorchJob", pytorchjob, reads_body=True),
    Kind(_KUBEFLOW, "TFJob", replica_specs("tfReplicaSpecs"), reads_body=True),
    Kind(_KUBEFLOW, "XGBoostJob", replica_specs("xgbReplicaSpecs", "Master", "Worker"), reads_body=True),
    Kind(_KUBEFLOW, "JAXJob", replica_specs("jaxReplicaSpecs", "Worker"), reads_body=True),
    Kind(_KUBEFLOW, "MPIJob", mpijob, reads_body=True),
    Kind(_KUBEFLOW, "Notebook", plain.minimum_of_one(BUILD)),
    Kind(_RAY, "RayCluster", ray.raycluster, reads_body=True),
    Kind(_RAY, "RayJob", ray.rayjob, reads_body=True),
    Kind(_RAY, "RayService", ray.rayservice, reads_body=True),
    Kind("leaderworkerset.x-k8s.io", "LeaderWorkerSet", leaderworkerset, reads_body=True),
    Kind("argoproj.io", "Workflow", passes_down=True),
    Kind(_KNATIVE, "Service", passes_down=True),
    Kind(_KNATIVE, "Configuration", passes_down=True),
    Kind(_KNATIVE, "Revision", revision),
)


class Kinds:
    """The table by API group and kind; `others` go before koordpy's own."""

    def __init__(self, others: Iterable[Kind] = ()) -> None:
        self._kinds = {(kind.group, kind.kind): kind for kind in (*BUILT_IN, *others)}

    def of(self, group: str, kind: str) -> Kind:
        """The rule for a kind; an unknown one has a minimum of 1."""
        return self._kinds.get((group, kind), _UNKNOWN)

    def grouped_by(self, chain: Sequence[Owner]) -> int:
        """Which of the owners, nearest first, a pod is grouped by; -1: none, the pod stands for itself.

        That is the topmost gang kind: the PyTorchJobs of an experiment are gangs of their own, whatever the experiment
        is. Without one it is the topmost that does not pass down.
        """
        kinds = [self.of(owner.group, owner.kind) for owner in chain]
        gang_kinds = [index for index, kind in enumerate(kinds) if kind.reads_body]
        others = [index for index, kind in enumerate(kinds) if not kind.passes_down]
        return max(gang_kinds or others, default=-1)
