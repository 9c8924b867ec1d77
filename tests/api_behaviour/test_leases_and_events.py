"""What leader election and event recording write."""

from tests.api_behaviour.objects import event, lease, pod
from tests.controlplane.client import Client, Json


async def test_a_lease_is_created_once(api: Client):
    (await api.create("leases", lease("koordpy", "one"))).ok()
    (await api.create("leases", lease("koordpy", "two"))).refused(409, "AlreadyExists")


async def test_a_lease_is_renewed_with_the_version_that_was_read(api: Client):
    held = (await api.create("leases", lease("koordpy", "one"))).ok()
    held["spec"]["renewTime"] = "2026-01-02T03:04:05.000006Z"
    renewed = (await api.replace("leases", held)).ok()
    assert renewed["spec"]["renewTime"] == "2026-01-02T03:04:05.000006Z"


async def test_of_two_candidates_the_one_with_a_stale_version_is_refused_with_409(api: Client):
    seen = (await api.create("leases", lease("koordpy", "nobody"))).ok()
    (await api.replace("leases", {**seen, "spec": {**seen["spec"], "holderIdentity": "one"}})).ok()
    late = await api.replace("leases", {**seen, "spec": {**seen["spec"], "holderIdentity": "two"}})
    late.refused(409, "Conflict")
    assert (await api.get("leases", "koordpy")).ok()["spec"]["holderIdentity"] == "one"


async def test_a_lease_with_a_duration_of_zero_is_refused_and_names_the_field(api: Client):
    body = lease("koordpy", "one")
    body["spec"]["leaseDurationSeconds"] = 0
    assert "spec.leaseDurationSeconds" in (await api.create("leases", body)).refused(422, "Invalid")


def _event(api: Client, name: str) -> Json:
    body = event(name, regarding="a")
    body["regarding"]["namespace"] = api.namespace
    return body


async def test_an_event_is_created_and_read_by_both_of_its_apis(api: Client):
    (await api.create("pods", pod("a"))).ok()
    (await api.create("events", _event(api, "a.1"))).ok()
    old = (await api.get("api/v1/events", "a.1")).ok()
    assert (old["kind"], old["apiVersion"]) == ("Event", "v1")
    assert old["message"] == "0/1 nodes are available"
    assert old["involvedObject"]["name"] == "a"
    assert (old["reportingComponent"], old["reportingInstance"]) == ("koordpy", "koordpy-0")


async def test_an_event_becomes_a_series_by_a_patch(api: Client):
    (await api.create("events", _event(api, "a.1"))).ok()
    series = {"series": {"count": 2, "lastObservedTime": "2026-01-02T03:05:05.000000Z"}}
    patched = (await api.patch("events", "a.1", series, how="strategic")).ok()
    assert patched["series"]["count"] == 2


async def test_events_are_found_by_the_object_they_are_about(api: Client):
    (await api.create("events", _event(api, "a.1"))).ok()
    for name, count in (("a", 1), ("b", 0)):
        listed = await api.list("api/v1/events", fieldSelector=f"involvedObject.name={name}")
        assert len(listed.ok()["items"]) == count


async def test_a_new_event_without_its_time_is_refused_and_names_the_field(api: Client):
    body = _event(api, "a.1")
    del body["eventTime"]
    assert "eventTime" in (await api.create("events", body)).refused(422, "Invalid")
