"""Creating, reading and naming objects, and the answers of an API that refuses."""

from tests.api_behaviour.objects import node, pod
from tests.controlplane.client import Client


async def test_a_created_object_comes_back_with_what_the_server_adds(api: Client):
    reply = await api.create("pods", pod("a"))
    assert reply.status == 201
    meta = reply.body["metadata"]
    assert meta["namespace"] == api.namespace
    assert {"uid", "resourceVersion", "creationTimestamp"} <= meta.keys()
    assert (reply.body["kind"], reply.body["apiVersion"]) == ("Pod", "v1")


async def test_a_created_object_can_be_read_back_unchanged(api: Client):
    created = (await api.create("pods", pod("a"))).ok()
    assert (await api.get("pods", "a")).ok() == created


async def test_a_new_pod_is_pending_with_the_defaults_that_a_scheduler_reads(api: Client):
    created = (await api.create("pods", pod("a"))).ok()
    assert created["status"]["phase"] == "Pending"
    assert created["spec"]["schedulerName"] == "default-scheduler"
    assert created["spec"]["priority"] == 0
    assert created["spec"]["preemptionPolicy"] == "PreemptLowerPriority"
    assert created["spec"]["terminationGracePeriodSeconds"] == 30


async def test_a_pod_tolerates_not_ready_nodes_for_five_minutes_by_default(api: Client):
    created = (await api.create("pods", pod("a"))).ok()
    tolerated = {(t["key"], t["effect"], t["tolerationSeconds"]) for t in created["spec"]["tolerations"]}
    assert tolerated == {
        ("node.kubernetes.io/not-ready", "NoExecute", 300),
        ("node.kubernetes.io/unreachable", "NoExecute", 300),
    }


async def test_limits_become_requests_where_none_are_given(api: Client):
    limits = {"limits": {"cpu": "2"}}
    created = (await api.create("pods", pod("a", containers=[{"name": "m", "image": "i", "resources": limits}]))).ok()
    assert created["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "2"}


async def test_a_name_that_exists_is_refused_with_409_already_exists(api: Client):
    (await api.create("pods", pod("a"))).ok()
    reply = await api.create("pods", pod("a"))
    assert reply.refused(409, "AlreadyExists") == 'pods "a" already exists'
    assert reply.body["details"] == {"name": "a", "kind": "pods"}


async def test_an_object_that_does_not_exist_is_404_with_its_kind_and_name(api: Client):
    reply = await api.get("pods", "nobody")
    assert reply.refused(404, "NotFound") == 'pods "nobody" not found'
    assert reply.body["details"] == {"name": "nobody", "kind": "pods"}


async def test_deleting_or_patching_what_does_not_exist_is_404(api: Client):
    (await api.delete("pods", "nobody")).refused(404, "NotFound")
    (await api.patch("pods", "nobody", {"metadata": {"labels": {"x": "y"}}})).refused(404, "NotFound")


async def test_an_unknown_resource_is_404(api: Client):
    assert (await api.list("unicorns")).status == 404


async def test_creating_in_an_unknown_namespace_is_404_and_names_it(api: Client):
    message = (await api.create("pods", pod("a"), namespace="nowhere")).refused(404, "NotFound")
    assert message == 'namespaces "nowhere" not found'


async def test_listing_an_unknown_namespace_is_an_empty_list(api: Client):
    assert (await api.list("pods", namespace="nowhere")).ok()["items"] == []


async def test_generate_name_gives_each_object_its_own_name(api: Client):
    body = pod("unused")
    body["metadata"] = {"generateName": "worker-"}
    names = {(await api.create("pods", body)).ok()["metadata"]["name"] for _ in range(5)}
    assert len(names) == 5
    assert all(name.startswith("worker-") and len(name) == len("worker-") + 5 for name in names)


async def test_an_object_without_any_name_is_refused(api: Client):
    body = pod("unused")
    body["metadata"] = {}
    assert "name or generateName is required" in (await api.create("pods", body)).refused(422, "Invalid")


async def test_the_namespace_of_the_body_must_be_that_of_the_path(api: Client):
    reply = await api.create("pods", pod("a", meta={"namespace": "elsewhere"}))
    assert "namespace" in reply.refused(400, "BadRequest")


async def test_a_stale_resource_version_in_a_put_is_refused_with_409_conflict(api: Client):
    first = (await api.create("nodes", node("n"))).ok()
    (await api.patch("nodes", "n", {"metadata": {"labels": {"zone": "a"}}})).ok()
    reply = await api.replace("nodes", first)
    assert "the object has been modified" in reply.refused(409, "Conflict")


async def test_a_put_of_the_newest_version_succeeds_and_moves_the_version(api: Client):
    first = (await api.create("nodes", node("n"))).ok()
    first["metadata"]["labels"] = {"zone": "b"}
    second = (await api.replace("nodes", first)).ok()
    assert second["metadata"]["labels"] == {"zone": "b"}
    assert int(second["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])


async def test_a_write_that_changes_nothing_keeps_the_version(api: Client):
    first = (await api.create("nodes", node("n", zone="a"))).ok()
    again = (await api.patch("nodes", "n", {"metadata": {"labels": {"zone": "a"}}})).ok()
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
