"""Lists: order, pages, selectors, and the version from which a watch goes on."""

import pytest

from tests.api_behaviour.objects import pod
from tests.api_behaviour.servers import Server
from tests.controlplane.client import Client, Json


async def _pods(api: Client, *names: str) -> None:
    for name in names:
        (await api.create("pods", pod(name))).ok()


def _names(listed: Json) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


async def test_a_list_is_in_the_order_of_names(api: Client):
    await _pods(api, "c", "a", "b")
    listed = (await api.list("pods")).ok()
    assert _names(listed) == ["a", "b", "c"]
    assert (listed["kind"], listed["apiVersion"]) == ("PodList", "v1")


async def test_the_items_of_a_list_do_not_repeat_their_kind(api: Client):
    await _pods(api, "a")
    assert not {"kind", "apiVersion"} & (await api.list("pods")).ok()["items"][0].keys()


async def test_a_list_carries_the_version_of_the_newest_change(api: Client):
    created = (await api.create("pods", pod("a"))).ok()
    listed = (await api.list("pods")).ok()
    assert int(listed["metadata"]["resourceVersion"]) >= int(created["metadata"]["resourceVersion"])


async def test_pages_together_give_everything_once_and_share_one_version(api: Client):
    await _pods(api, "a", "b", "c", "d", "e")
    seen, versions, more = [], set(), {}
    while True:
        page = (await api.list("pods", limit=2, **more)).ok()
        seen += _names(page)
        versions.add(page["metadata"]["resourceVersion"])
        if "continue" not in page["metadata"]:
            break
        more = {"continue": page["metadata"]["continue"]}
    assert seen == ["a", "b", "c", "d", "e"]
    assert len(versions) == 1


async def test_a_page_says_how_many_items_remain(api: Client):
    await _pods(api, "a", "b", "c")
    assert (await api.list("pods", limit=2)).ok()["metadata"]["remainingItemCount"] == 1


async def test_what_is_created_between_two_pages_is_not_in_the_second(api: Client):
    await _pods(api, "a", "b", "d")
    first = (await api.list("pods", limit=2)).ok()
    await _pods(api, "c")
    rest = (await api.list("pods", limit=2, **{"continue": first["metadata"]["continue"]})).ok()
    assert _names(rest) == ["d"]


async def test_a_page_from_a_forgotten_version_is_410_expired(server: Server):
    await _pods(server.client, "a", "b", "c")
    first = (await server.client.list("pods", limit=1)).ok()
    await _pods(server.client, "d")
    await server.forget_history()
    reply = await server.client.list("pods", limit=1, **{"continue": first["metadata"]["continue"]})
    reply.refused(410, "Expired")


async def test_a_broken_continue_token_is_400(api: Client):
    (await api.list("pods", limit=1, **{"continue": "garbage"})).refused(400, "BadRequest")


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("tier=front", ["a"]),
        ("tier==front", ["a"]),
        ("tier!=front", ["b", "c"]),
        ("tier", ["a", "b"]),
        ("!tier", ["c"]),
        ("tier in (front,back)", ["a", "b"]),
        ("tier notin (front)", ["b", "c"]),
        ("tier,tier!=back", ["a"]),
    ],
)
async def test_a_label_selector_picks(api: Client, selector: str, expected: list[str]):
    for name, labels in (("a", {"tier": "front"}), ("b", {"tier": "back"}), ("c", {})):
        (await api.create("pods", pod(name, meta={"labels": labels}))).ok()
    assert _names((await api.list("pods", labelSelector=selector)).ok()) == expected


async def test_a_broken_label_selector_is_400(api: Client):
    (await api.list("pods", labelSelector="tier in front")).refused(400, "BadRequest")


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("metadata.name=a", ["a"]),
        ("spec.nodeName=n", ["b"]),
        ("spec.nodeName=", ["a"]),
        ("spec.schedulerName=koordpy,spec.nodeName=", ["a"]),
        ("status.phase!=Succeeded,status.phase!=Failed", ["a", "b"]),
        ("status.phase=Running", []),
    ],
)
async def test_a_field_selector_picks(api: Client, selector: str, expected: list[str]):
    (await api.create("pods", pod("a", schedulerName="koordpy"))).ok()
    (await api.create("pods", pod("b", nodeName="n"))).ok()
    assert _names((await api.list("pods", fieldSelector=selector)).ok()) == expected


async def test_a_field_that_cannot_be_selected_by_is_400(api: Client):
    message = (await api.list("pods", fieldSelector="spec.priority=0")).refused(400, "BadRequest")
    assert "spec.priority" in message


async def test_version_zero_lists_what_the_server_has_at_hand(api: Client):
    await _pods(api, "a")
    assert "resourceVersion" in (await api.list("pods", resourceVersion=0)).ok()["metadata"]
