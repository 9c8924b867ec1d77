"""Objects through `handle`: namespaces that are going, default priorities, older versions, events in two shapes."""

from koordpy.sim.embedded.server import EmbeddedCluster
from tests.sim.embedded.inprocess import PODS, call, pod

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


async def test_nothing_is_created_in_a_namespace_that_is_terminating():
    async with EmbeddedCluster(kubelets=False) as cluster:
        await cluster.create("/api/v1/namespaces", {"metadata": {"name": "x"}})
        await cluster.create("/api/v1/namespaces/x/pods", pod("held", node="n"))
        await call(cluster, "DELETE", "/api/v1/namespaces/x")
        refused = await call(cluster, "POST", "/api/v1/namespaces/x/pods", pod("late"))
        assert (refused["httpStatus"], refused["reason"]) == (403, "Forbidden")
        assert refused["details"]["causes"][0]["reason"] == "NamespaceTerminating"


async def test_of_two_global_default_classes_the_lower_one_counts():
    async with EmbeddedCluster() as cluster:
        for name, value in (("high", 100), ("low", 10)):
            await cluster.create(CLASSES, {"metadata": {"name": name}, "value": value, "globalDefault": True})
        spec = (await cluster.create(PODS, pod("a")))["spec"]
        assert (spec["priorityClassName"], spec["priority"]) == ("low", 10)


async def test_a_list_at_an_exact_version_leaves_out_what_came_later():
    async with EmbeddedCluster() as cluster:
        version = (await cluster.create(PODS, pod("a")))["metadata"]["resourceVersion"]
        await cluster.create(PODS, pod("b"))
        listed = await call(cluster, "GET", f"{PODS}?resourceVersion={version}&resourceVersionMatch=Exact")
        assert [item["metadata"]["name"] for item in listed["items"]] == ["a"]
        assert listed["metadata"]["resourceVersion"] == version


async def test_an_event_written_in_one_shape_is_read_in_the_other():
    async with EmbeddedCluster() as cluster:
        about = {"kind": "Pod", "namespace": "default", "name": "a"}
        event = {"metadata": {"name": "e"}, "involvedObject": about, "message": "hello", "reason": "R"}
        await cluster.create("/api/v1/namespaces/default/events", event)
        read = await call(cluster, "GET", "/apis/events.k8s.io/v1/namespaces/default/events/e")
        assert (read["apiVersion"], read["note"], read["regarding"]) == ("events.k8s.io/v1", "hello", about)
        assert "message" not in read
