"""Lease, the object of leader election."""

from __future__ import annotations

from koordpy.api.meta import ObjectMeta, Struct


class LeaseSpec(Struct, frozen=True, omit_defaults=True):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Struct, frozen=True):
    metadata: ObjectMeta
    spec: LeaseSpec = LeaseSpec()
