"""The answers of koordpy, as their readers get them: `koordpy.io/v1alpha1`, JSON.

Field names, enumerations and what null means are a promise to readers (docs/answers.md). Every field is always there.
Amounts are Kubernetes quantities as text, times are RFC 3339 in UTC, a pod or a job is `namespace/name`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

API_VERSION = "koordpy.io/v1alpha1"
PATH = f"/apis/{API_VERSION}"
# The API server keeps the Authorization header to itself when it passes a request on. This one comes through; a token
# in it has to be made for this audience and opens nothing else.
TOKEN_HEADER = "X-Koordpy-Authorization"  # noqa: S105 - the name of a header
AUDIENCE = "koordpy"

State = Literal["Incomplete", "Pending", "Holding", "Preempting", "Binding", "Running", "TimedOut"]
Reason = Literal[
    "Incomplete", "Gated", "Resources", "Constraints", "Topology", "QueueMissing", "QueueNotLeaf", "QueueBroken",
    "QueueLimit", "QueueQuota", "Reservation", "Turn", "Victims", "TimedOut", "Unsupported",
]  # fmt: skip
Certainty = Literal["Now", "Reserved", "Declared", "Estimated", "Unknown", "Never", "Started"]
Verdict = Literal["Now", "ByEvicting", "Later", "Never"]
JobType = Literal["Gang", "GangGroup", "Pod"]
ObstacleKind = Literal["Job", "Queue", "Reservation", "Node", "Member"]


class Struct(msgspec.Struct, frozen=True, gc=False, rename="camel", kw_only=True):
    """A part of an answer."""


class Start(Struct, frozen=True, kw_only=True):
    """When a job starts, and how sure that is."""

    time: str | None
    certainty: Certainty
    message: str


class Members(Struct, frozen=True, kw_only=True):
    """Members of all gangs of a job."""

    minimum: int
    total: int
    pending: int
    bound: int
    gated: int


class Job(Struct, frozen=True, kw_only=True):
    """A job, and why it waits if it does."""

    namespace: str
    name: str
    type: JobType
    gangs: list[str]
    queue: str | None
    priority: int
    position: int | None
    state: State
    reason: Reason | None
    message: str
    since: str
    members: Members
    expected_start: Start


class JobList(Struct, frozen=True, kw_only=True):
    """Everything that is pending, in the order of its turn."""

    api_version: str = API_VERSION
    kind: str = "JobList"
    as_of: str
    items: list[Job]


class Missing(Struct, frozen=True, kw_only=True):
    """What a job lacks of one resource: in the whole cluster, or in one domain of a layer that must hold all of it."""

    resource: str
    asked: str
    free: str
    short: str
    layer: str | None
    domain: str | None
    slots: int
    needed: int


class Obstacle(Struct, frozen=True, kw_only=True):
    """Who or what is in the way of a job."""

    kind: ObstacleKind
    name: str
    holds: dict[str, str] | None
    nodes: list[str]
    until: str | None
    message: str


class Change(Struct, frozen=True, kw_only=True):
    """A single change that starts the job now; it was planned with success."""

    evicts: list[str] = []
    message: str


class MinimumLowered(Change, frozen=True, kw_only=True, tag_field="kind", tag=True):
    gang: str
    from_: int = msgspec.field(name="from")
    to: int


class JobEnds(Change, frozen=True, kw_only=True, tag_field="kind", tag=True):
    job: str


class NodeAdded(Change, frozen=True, kw_only=True, tag_field="kind", tag=True):
    like: str
    count: int


class NodeUncordoned(Change, frozen=True, kw_only=True, tag_field="kind", tag=True):
    node: str


class NodeLabelled(Change, frozen=True, kw_only=True, tag_field="kind", tag=True):
    node: str
    key: str
    value: str


class TaintRemoved(Change, frozen=True, kw_only=True, tag_field="kind", tag=True):
    node: str
    key: str
    effect: str


class TolerationAdded(Change, frozen=True, kw_only=True, tag_field="kind", tag=True):
    key: str
    effect: str


class SelectorDropped(Change, frozen=True, kw_only=True, tag_field="kind", tag=True):
    key: str


class RequestLowered(Change, frozen=True, kw_only=True, tag_field="kind", tag=True):
    resource: str
    from_: str = msgspec.field(name="from")
    to: str
    members: list[str]


class MembersAdded(Change, frozen=True, kw_only=True, tag_field="kind", tag=True):
    gang: str
    count: int


class GateRemoved(Change, frozen=True, kw_only=True, tag_field="kind", tag=True):
    members: list[str]


class GatherRelaxed(Change, frozen=True, kw_only=True, tag_field="kind", tag=True):
    gang: str
    layer: str
    to: str | None


class PriorityRaised(Change, frozen=True, kw_only=True, tag_field="kind", tag=True):
    above: int


class LimitRaised(Change, frozen=True, kw_only=True, tag_field="kind", tag=True):
    queue: str
    resource: str
    from_: str = msgspec.field(name="from")
    to: str


class QuotaRaised(Change, frozen=True, kw_only=True, tag_field="kind", tag=True):
    queue: str
    resource: str
    from_: str = msgspec.field(name="from")
    to: str


class QueueCreated(Change, frozen=True, kw_only=True, tag_field="kind", tag=True):
    queue: str


# A union, so that a schema can be made of it and answers can be read back.
AnyChange = (
    MinimumLowered | JobEnds | NodeAdded | NodeUncordoned | NodeLabelled | TaintRemoved | TolerationAdded
    | SelectorDropped | RequestLowered | MembersAdded | GateRemoved | GatherRelaxed | PriorityRaised | LimitRaised
    | QuotaRaised | QueueCreated
)  # fmt: skip


class Explanation(Struct, frozen=True, kw_only=True):
    """Why a job waits, and what would start it."""

    api_version: str = API_VERSION
    kind: str = "Explanation"
    as_of: str
    job: Job
    proved: bool
    missing: list[Missing]
    in_the_way: list[Obstacle]
    changes: list[AnyChange]
    stopped: str | None  # why the search for changes ended before all were tried


class Placed(Struct, frozen=True, kw_only=True):
    """A pod, and the node it would be on."""

    pod: str
    node: str


class Together(Struct, frozen=True, kw_only=True):
    """The tightest domain that holds all of a job."""

    layer: str
    domain: str


class Evicted(Struct, frozen=True, kw_only=True):
    """A pod that would be evicted, and the job that it is of."""

    pod: str
    job: str


class WhyNot(Struct, frozen=True, kw_only=True):
    """An explanation for a job that need not exist."""

    reason: Reason | None
    message: str
    proved: bool
    missing: list[Missing]
    in_the_way: list[Obstacle]
    changes: list[AnyChange]
    stopped: str | None  # why the search for changes ended before all were tried


class WhatIfJob(Struct, frozen=True, kw_only=True):
    """What would become of one job."""

    namespace: str
    name: str
    type: JobType
    gangs: list[str]
    queue: str | None
    priority: int
    verdict: Verdict
    placement: list[Placed]
    together: Together | None
    evicts: list[Evicted]
    start: Start
    explanation: WhyNot | None


class WhatIf(Struct, frozen=True, kw_only=True):
    """What would become of jobs, planned together in the order of their turn."""

    api_version: str = API_VERSION
    kind: str = "WhatIf"
    as_of: str
    verdict: Verdict
    jobs: list[WhatIfJob]


class QueueJobs(Struct, frozen=True, kw_only=True):
    """Jobs of a queue and of those below it."""

    running: int = 0
    waiting: int = 0


Amounts = dict[str, str | None]  # cpu, memory, gpu; null: unlimited, or not counted in this queue


class QueueLine(Struct, frozen=True, kw_only=True):
    """One queue."""

    name: str
    parent: str | None
    priority: int
    state: str
    quota: Amounts
    limit: Amounts
    weight: Amounts
    fair_share: Amounts
    allocated: Amounts
    allocated_non_preemptible: Amounts
    requested: Amounts
    jobs: QueueJobs
    message: str  # what is wrong with a queue that is not Ready


class QueueList(Struct, frozen=True, kw_only=True):
    """Parents before their children, siblings in the order of their turn as things are, without their next jobs."""

    api_version: str = API_VERSION
    kind: str = "QueueList"
    as_of: str
    items: list[QueueLine]


class Status(Struct, frozen=True, kw_only=True):
    """An error, as the API server puts it."""

    api_version: str = "v1"
    kind: str = "Status"
    metadata: dict[str, Any] = {}
    status: str = "Failure"
    message: str
    reason: str
    code: int


class CannotAnswer(Exception):
    """There is no answer; `reason` is that of a Kubernetes Status."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = Status(code=code, reason=reason, message=message)


def not_found(what: str) -> CannotAnswer:
    """A job, node or queue that was asked for does not exist."""
    return CannotAnswer(404, "NotFound", f"{what} not found")


def invalid(problem: str) -> CannotAnswer:
    """An object that was sent cannot be planned; `problem` names object, field and value."""
    return CannotAnswer(422, "Invalid", problem)


def unreadable(problem: str) -> CannotAnswer:
    """What was sent is neither JSON nor YAML; `problem` says where."""
    return CannotAnswer(400, "BadRequest", problem)
