"""What koordpy asked the API server for, from its audit log: nobody may write for a pod what was written already.

The watch shows what became of a pod, and not that a second bind was sent and refused. koordpy has an account of its own
here, so its requests can be told from those of the load, the kubelets and the control plane.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping

from tests.soak.judge import Json

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "Request",  # with the body: a dry run is none of the writes
            "verbs": ["create", "delete"],
            "resources": [{"group": "", "resources": ["pods", "pods/binding"]}],
        },
        {"level": "None"},
    ],
}
_ALREADY = "already assigned"


class Writes:
    """Of one account, by name of the pod."""

    def __init__(self, account: str) -> None:
        self._account = account
        self.binds: Counter[str] = Counter()  # that were carried out
        self.deletions: Counter[str] = Counter()  # likewise
        self.late: Counter[str] = Counter()  # binds that were refused, as the pod had a node

    def read(self, lines: Iterable[str]) -> None:
        for line in lines:
            entry = json.loads(line)
            if entry["user"]["username"] == self._account:
                self._count(entry)

    def _count(self, entry: Json) -> None:
        if (entry.get("requestObject") or {}).get("dryRun"):
            return
        about, answer = entry["objectRef"], entry.get("responseStatus") or {}
        name, done = about.get("name", ""), answer.get("code", 0) < 300
        if about.get("subresource") == "binding":
            self.binds[name] += done
            self.late[name] += _ALREADY in answer.get("message", "")
        elif entry["verb"] == "delete":
            self.deletions[name] += done

    def twice(self, lives: Mapping[str, int]) -> list[str]:
        """What was written more often than there were pods of the name."""
        return [
            *(f"{name} was bound {count} times" for name, count in self.binds.items() if count > lives.get(name, 0)),
            *(
                f"{name} was deleted {count} times"
                for name, count in self.deletions.items()
                if count > lives.get(name, 0)
            ),
            *(f"{name} was to be bound {count} times more" for name, count in self.late.items() if count),
        ]
