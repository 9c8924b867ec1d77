"""The four ways to patch, and what each does with lists, nulls and disagreement."""

from tests.api_behaviour.objects import node, pod
from tests.controlplane.client import Client

TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


async def test_a_merge_patch_sets_and_removes_keys(api: Client):
    (await api.create("nodes", node("n", zone="a", rack="r"))).ok()
    patched = (await api.patch("nodes", "n", {"metadata": {"labels": {"zone": "b", "rack": None}}})).ok()
    assert patched["metadata"]["labels"] == {"zone": "b"}


async def test_a_patch_with_a_stale_version_is_refused_with_409(api: Client):
    created = (await api.create("nodes", node("n"))).ok()
    (await api.patch("nodes", "n", {"metadata": {"labels": {"zone": "a"}}})).ok()
    stale = {"metadata": {"resourceVersion": created["metadata"]["resourceVersion"], "labels": {"zone": "b"}}}
    assert "the object has been modified" in (await api.patch("nodes", "n", stale)).refused(409, "Conflict")


async def test_a_json_patch_applies_its_operations_in_order(api: Client):
    (await api.create("nodes", node("n", zone="a"))).ok()
    patch = [
        {"op": "test", "path": "/metadata/labels/zone", "value": "a"},
        {"op": "replace", "path": "/metadata/labels/zone", "value": "b"},
        {"op": "add", "path": "/metadata/labels/koordpy.test~1rack", "value": "r"},
    ]
    patched = (await api.patch("nodes", "n", patch, how="json")).ok()
    assert patched["metadata"]["labels"] == {"zone": "b", "koordpy.test/rack": "r"}


async def test_a_json_patch_whose_test_fails_is_refused_with_422_and_changes_nothing(api: Client):
    (await api.create("nodes", node("n", zone="a"))).ok()
    patch = [
        {"op": "replace", "path": "/metadata/labels/zone", "value": "b"},
        {"op": "test", "path": "/metadata/labels/zone", "value": "a"},
    ]
    (await api.patch("nodes", "n", patch, how="json")).refused(422, "Invalid")
    assert (await api.get("nodes", "n")).ok()["metadata"]["labels"] == {"zone": "a"}


async def test_a_json_patch_on_a_path_that_is_not_there_is_refused_with_422(api: Client):
    (await api.create("nodes", node("n"))).ok()
    patch = [{"op": "remove", "path": "/metadata/annotations/nothing"}]
    (await api.patch("nodes", "n", patch, how="json")).refused(422, "Invalid")


async def test_server_side_apply_creates_what_is_not_there(api: Client):
    reply = await api.patch("nodes", "n", node("n", zone="a"), how="apply", fieldManager="one")
    assert reply.status == 201
    assert reply.body["metadata"]["labels"] == {"zone": "a"}


async def test_server_side_apply_leaves_the_fields_of_others_alone(api: Client):
    (await api.patch("nodes", "n", node("n", zone="a"), how="apply", fieldManager="one")).ok()
    (await api.patch("nodes", "n", node("n", rack="r"), how="apply", fieldManager="two")).ok()
    applied = (await api.patch("nodes", "n", node("n", zone="b"), how="apply", fieldManager="one")).ok()
    assert applied["metadata"]["labels"] == {"zone": "b", "rack": "r"}


async def test_server_side_apply_needs_to_know_who_applies(api: Client):
    message = (await api.patch("nodes", "n", node("n"), how="apply")).refused(422, "Invalid")
    assert "fieldManager: Required value" in message


async def test_an_unknown_kind_of_patch_is_415(api: Client):
    (await api.create("nodes", node("n"))).ok()
    reply = await api.request("PATCH", api.path("nodes", "n"), {}, headers={"Content-Type": "text/plain"})
    reply.refused(415, "UnsupportedMediaType")


async def test_a_strategic_patch_of_taints_replaces_the_list_as_it_has_no_merge_key(api: Client):
    (await api.create("nodes", node("n"))).ok()
    (await api.patch("nodes", "n", {"spec": {"taints": [TAINT]}}, how="strategic")).ok()
    other = {"key": "other", "effect": "NoSchedule"}
    patched = (await api.patch("nodes", "n", {"spec": {"taints": [other]}}, how="strategic")).ok()
    assert patched["spec"]["taints"] == [other]


async def test_the_placement_of_a_pod_cannot_be_changed_by_a_patch(api: Client):
    (await api.create("pods", pod("a"))).ok()
    message = (await api.patch("pods", "a", {"spec": {"nodeName": "n"}})).refused(422, "Invalid")
    assert "spec: Forbidden: pod updates may not change fields other than" in message


async def test_the_requests_of_a_pod_cannot_be_changed_by_a_put(api: Client):
    created = (await api.create("pods", pod("a"))).ok()
    created["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    assert "spec: Forbidden" in (await api.replace("pods", created)).refused(422, "Invalid")


async def test_a_pod_can_be_given_another_image_and_one_more_toleration(api: Client):
    created = (await api.create("pods", pod("a"))).ok()
    created["spec"]["containers"][0]["image"] = "other"
    created["spec"]["tolerations"].append({"key": "gpu", "operator": "Exists"})
    assert (await api.replace("pods", created)).status == 200


async def test_a_creation_time_in_a_put_does_not_move_the_real_one(api: Client):
    created = (await api.create("nodes", node("n"))).ok()
    changed = {**created, "metadata": {**created["metadata"], "creationTimestamp": "2001-01-01T00:00:00Z"}}
    put = (await api.replace("nodes", changed)).ok()
    assert put["metadata"]["creationTimestamp"] == created["metadata"]["creationTimestamp"]
