"""The store: versions, history, and records that never change."""

import pytest

from koordpy.sim.embedded.errors import ApiError
from koordpy.sim.embedded.store import Change, Store


def _object(name: str, **fields: object) -> dict[str, object]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, **fields}


def _put(store: Store, name: str) -> None:
    store.create("configmaps", ("ns", name), _object(name))


def test_every_write_gets_the_next_resource_version():
    store = Store()
    first = store.create("configmaps", ("ns", "a"), _object("a"))
    second = store.create("secrets", ("ns", "b"), _object("b"))
    assert (first.rv + 1, str(second.rv)) == (second.rv, second.obj["metadata"]["resourceVersion"])


def test_a_replaced_record_still_shows_what_it_was():
    store = Store()
    before = store.create("configmaps", ("ns", "a"), _object("a", data={"x": "1"}))
    store.replace(before, _object("a", data={"x": "2"}))
    assert before.obj["data"] == {"x": "1"}


def test_a_private_copy_shares_nothing_with_the_record():
    stored = Store().create("configmaps", ("ns", "a"), _object("a", data={"x": "1"}))
    stored.private_copy()["data"]["x"] = "2"
    assert stored.obj["data"] == {"x": "1"}


def test_the_bytes_of_a_record_are_made_once():
    stored = Store().create("configmaps", ("ns", "a"), _object("a"))
    assert stored.encoded("", None) is stored.encoded("", None)


def test_objects_are_listed_in_the_order_of_their_keys():
    store = Store()
    for name in ("c", "a", "b"):
        _put(store, name)
    assert [item.key[1] for item in store.items("configmaps")] == ["a", "b", "c"]


def test_a_list_at_an_older_version_shows_what_was_there_then():
    store = Store()
    _put(store, "a")
    _put(store, "b")
    then = store.rv
    store.remove(store.get("configmaps", "ns", "a"))
    store.replace(store.get("configmaps", "ns", "b"), _object("b", data={"x": "new"}))
    _put(store, "c")
    assert [(i.key[1], i.obj.get("data")) for i in store.items_at("configmaps", "", then)] == [("a", None), ("b", None)]


def test_a_version_whose_next_change_is_forgotten_is_expired():
    store = Store(history=2)
    start = store.rv
    for name in ("a", "b", "c"):
        _put(store, name)
    with pytest.raises(ApiError) as refused:
        store.since("configmaps", start)
    assert refused.value.code == 410
    assert [change.new.key[1] for change in store.since("configmaps", start + 1)] == ["b", "c"]


def test_a_listener_hears_nothing_after_it_has_left():
    store, heard = Store(), list[Change]()
    leave = store.subscribe("configmaps", heard.append)
    _put(store, "a")
    leave()
    _put(store, "b")
    assert [change.new.key[1] for change in heard] == ["a"]
