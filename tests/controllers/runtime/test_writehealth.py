"""What the log and `/readyz` say about writes that fail."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from koordpy.controllers.runtime.writehealth import WriteHealth
from koordpy.kube.client import NotLeading
from koordpy.kube.errors import ApiError, Conflict, Forbidden, Invalid, NotFound, Unavailable

FORBIDDEN = Forbidden("no permission", status=403)


def warnings(lines) -> list[str]:
    return [line["event"] for line in lines if line["log_level"] != "debug"]


def test_many_objects_that_fail_for_one_reason_are_one_line():
    health = WriteHealth("podgroup")
    with capture_logs() as lines:
        for key in range(1000):
            health.failed(key, FORBIDDEN)
        for key in range(1000):
            health.succeeded(key)
    assert warnings(lines) == ["podgroup_status_failed", "podgroup_status_recovered"]


def test_another_kind_of_error_is_another_line():
    health = WriteHealth("podgroup")
    with capture_logs() as lines:
        health.failed("a", FORBIDDEN)
        health.failed("a", Unavailable("no answer"))
    assert [line["problem"] for line in lines] == ["no permission", "no answer"]
    assert health.trouble == "Unavailable: no answer"


@pytest.mark.parametrize("error", [NotLeading("not sent"), NotFound("deleted"), Conflict("changed")], ids=repr)
def test_what_happens_in_a_healthy_cluster_is_no_trouble(error: ApiError):
    health = WriteHealth("podgroup")
    with capture_logs() as lines:
        health.failed("a", error)
    assert (health.trouble, warnings(lines)) == ("", [])


def test_trouble_lasts_until_the_last_object_that_failed_succeeds():
    health = WriteHealth("podgroup")
    for key in ("a", "b"):
        health.failed(key, FORBIDDEN)
    health.succeeded("a")
    health.succeeded("never failed")
    assert health.trouble == "Forbidden: no permission"
    health.succeeded("b")
    assert health.trouble == ""


def test_an_object_whose_status_is_refused_is_no_trouble():
    health = WriteHealth("podgroup")
    health.failed("a", FORBIDDEN)
    health.refused("a", Invalid("no such phase", status=422))
    assert health.trouble == ""


def test_a_refusal_is_logged_again_after_a_success():
    health = WriteHealth("podgroup")
    with capture_logs() as lines:
        for _ in range(2):
            health.refused("a", Invalid("no such phase", status=422))
        health.succeeded("a")
        health.refused("a", Invalid("no such phase", status=422))
    assert warnings(lines) == ["podgroup_status_refused"] * 2
