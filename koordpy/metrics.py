"""Every metric, in one place: kube-scheduler's names where it has one, so that dashboards carry over.

Labels are bounded: never a pod, a gang or a node. Children of hot metrics are resolved once by their users.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from prometheus_client import Counter, Gauge, Histogram

_FAST = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)

ATTEMPTS = Counter("scheduler_schedule_attempts", "Attempts to schedule a pod, by result.", ["result", "profile"])
ATTEMPT_SECONDS = Histogram(
    "scheduler_scheduling_attempt_duration_seconds",
    "Time to plan one job: filters, scores and reservation, without the API writes.",
    ["result", "profile"],
    buckets=_FAST,
)
ALGORITHM_SECONDS = Histogram(
    "scheduler_scheduling_algorithm_duration_seconds", "Time of the filters and scores for one job.", buckets=_FAST
)
STAGE_SECONDS = Histogram(
    "scheduler_framework_extension_point_duration_seconds",
    "Time of one stage for one job. Filters and scores are one pass over columns: see the algorithm's duration.",
    ["extension_point", "profile"],
    buckets=_FAST,
)
SLI_SECONDS = Histogram(
    "scheduler_pod_scheduling_sli_duration_seconds",
    "Time from a pod's first appearance in the queue to its bind.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800),
)
POD_ATTEMPTS = Histogram(
    "scheduler_pod_scheduling_attempts", "Attempts that a pod took to be scheduled.", buckets=(1, 2, 4, 8, 16)
)
FLUSHED = Counter(
    "scheduler_pod_scheduled_after_flush",
    "Pods scheduled only because of the periodic flush: a wake-up was missed. Stays 0.",
)
PENDING_PODS = Gauge("scheduler_pending_pods", "Pods waiting, by queue.", ["queue"])
UNSCHEDULABLE_PODS = Gauge("scheduler_unschedulable_pods", "Parked pods, by the filter that refused them.", ["plugin"])
INCOMING_PODS = Counter(
    "scheduler_queue_incoming_pods", "How often pods entered a queue, by queue and cause.", ["queue", "event"]
)
CACHE_SIZE = Gauge("scheduler_cache_size", "What the cluster state holds.", ["type"])

# The queue of what is pending is a Queue that exists, or empty: anybody can invent names, and labels are bounded.
PENDING_GANGS = Gauge(
    "koordpy_pending_gangs", "Gangs that have not started, by Queue and what they wait for.", ["queue", "reason"]
)
PENDING_PODS_BY_REASON = Gauge(
    "koordpy_pending_pods",
    "Pods that are not bound, members of gangs included, by Queue and what they wait for.",
    ["queue", "reason"],
)
OLDEST_PENDING_SECONDS = Gauge(
    "koordpy_oldest_pending_seconds",
    "Age of the oldest pod that is not bound, by Queue and what it waits for.",
    ["queue", "reason"],
)
QUEUE_ALLOCATED = Gauge(
    "koordpy_queue_allocated", "What the pods of a Queue and of those below it have.", ["queue", "resource"]
)
QUEUE_REQUESTED = Gauge(
    "koordpy_queue_requested", "What the jobs of a Queue ask for, whether they run or wait.", ["queue", "resource"]
)
QUEUE_QUOTA = Gauge(
    "koordpy_queue_quota", "The quota of a Queue; of one that is unlimited there is no series.", ["queue", "resource"]
)
QUEUE_FAIR_SHARE = Gauge("koordpy_queue_fair_share", "What of the cluster is a Queue's.", ["queue", "resource"])
QUEUE_PENDING_PODS = Gauge("koordpy_queue_pending_pods", "Pods of a Queue that are not bound.", ["queue"])
RESERVATIONS = Gauge("koordpy_reservations", "Jobs that are promised a start: 0 or 1.")
RESERVED_START_SECONDS = Gauge(
    "koordpy_reserved_start_seconds",
    "Time until the reserved start; below 0 it is overdue, and 0 without a reservation.",
)
BACKFILLED_PODS = Gauge(
    "koordpy_backfilled_pods", "Pods on nodes that were started before a reserved start because they end by then."
)
ANSWER_SECONDS = Histogram(
    "koordpy_answer_duration_seconds",
    "Time to answer a user's question, waiting for its turn included, by the HTTP status of the answer.",
    ["question", "code"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
PENDING_REQUESTS = Gauge(
    "koordpy_pending_requests",
    "What pods that wait for a node request, by Queue, of resources that nodes have: CPUs, bytes, devices.",
    ["queue", "resource"],
)
WAITING_REQUESTS = Gauge(
    "koordpy_waiting_requests",
    "What gangs that wait at Permit hold, and nobody else can have: CPUs, bytes, devices.",
    ["resource"],
)
LONGEST_WAITING_SECONDS = Gauge(
    "koordpy_longest_waiting_seconds", "For how long the first of the gangs that wait at Permit has held room."
)
COMPETING_LEASES = Gauge(
    "koordpy_competing_leases", "Leases of our name in other namespaces that somebody else renews. Stays 0."
)
FOREIGN_BINDS = Counter("koordpy_foreign_binds", "Pods of our profiles that somebody else bound. Stays 0.")

GANG_WAITING = Gauge("koordpy_gang_waiting", "Groups of gangs that wait at Permit, holding room.")
GANG_ATTEMPTS = Counter("koordpy_gang_attempts", "Attempts to schedule a group of gangs, by result.", ["result"])
GANG_TIMEOUTS = Counter("koordpy_gang_timeouts", "Groups of gangs whose wait time ended.")
STALE_GANGS = Counter(
    "koordpy_gang_stale", "Gangs that lost members, could not be completed, and were evicted as a whole."
)
GANG_SECONDS = Histogram(
    "koordpy_gang_scheduling_duration_seconds",
    "Time from a group's first appearance in the queue to its last bind.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200),
)

PLACEMENT_SCORE = Histogram(
    "koordpy_gang_placement_score",
    "Fewest domains of the network that could hold a group of gangs, over those that it uses; 1 is best.",
    buckets=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0),
)
PREEMPTION_ATTEMPTS = Counter("scheduler_preemption_attempts", "Searches for victims, for jobs that did not fit.")
PREEMPTION_VICTIMS = Histogram(
    "scheduler_preemption_victims", "Victims of one preemption.", buckets=(1, 2, 4, 8, 16, 32, 64, 256, 1024)
)
PREEMPTION_SECONDS = Histogram(
    "koordpy_preemption_evaluation_duration_seconds", "Time of one search for victims.", buckets=_FAST
)
PREEMPTION_OUTCOME = Counter(
    "koordpy_preemption_outcome",
    "What became of preemptions: the job started or is gone, the preemption was withdrawn, or had to be repeated.",
    ["outcome"],
)
PREEMPTION_CYCLES = Counter("koordpy_preemption_cycles", "Jobs that evicted each other in turns, and were slowed down.")

BIND_SECONDS = Histogram("koordpy_bind_duration_seconds", "Time of one bind request, retries included.", buckets=_FAST)
WRITES = Counter("koordpy_api_writes", "Writes to the API server, by kind and result.", ["kind", "result"])
MALFORMED = Counter("koordpy_malformed_objects", "Objects with a field that could not be read, by kind.", ["kind"])
WATCH_RESTARTS = Counter("koordpy_watch_restarts", "Watches begun again, by resource and cause.", ["resource", "cause"])
INTERNAL_ERRORS = Counter("koordpy_internal_errors", "Exceptions in koordpy itself or a plugin. Stays 0.")
SINK_FAILURES = Counter(
    "koordpy_sink_failures", "Changes of objects that koordpy failed to take in, by resource. Stays 0.", ["resource"]
)
LOOP_LAG_SECONDS = Histogram(
    "koordpy_loop_lag_seconds", "How late the event loop wakes: the longest anything waits for planning.", buckets=_FAST
)
LEADER = Gauge("koordpy_leader", "1 while this process holds the lease (or runs without one).")
CONTROLLERS_LEADER = Gauge("koordpy_controllers_leader", "1 while this process holds the lease of the controllers.")
PODGROUPER_LEADER = Gauge("koordpy_podgrouper_leader", "1 while this process holds the lease of the PodGrouper.")
BUILD = Gauge("koordpy_build_info", "Always 1; the version is the label.", ["version"])


@lru_cache(maxsize=64)
def stage_seconds(name: str, scheduler: str) -> Histogram:
    """The time of one stage, for one profile; looked up once for all pods."""
    return STAGE_SECONDS.labels(name, scheduler)


@lru_cache(maxsize=64)
def incoming_pods(queue: str, event: str) -> Counter:
    """Pods that enter one queue for one cause."""
    return INCOMING_PODS.labels(queue, event)


@lru_cache(maxsize=64)
def writes(kind: str, result: str) -> Counter:
    """Writes of one kind with one result."""
    return WRITES.labels(kind, result)


@contextmanager
def stage(name: str, scheduler: str) -> Iterator[None]:
    """Takes the time of one stage for one job."""
    started = time.perf_counter()
    yield
    stage_seconds(name, scheduler).observe(time.perf_counter() - started)
