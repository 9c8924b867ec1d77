"""Random claims, volumes and surroundings. Few values for everything, so that claims and volumes meet often."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.builders import node_json
from tests.plan.constraints import requirement, selector
from tests.scheduler.volumes.naive import ZONES, Stored
from tests.scheduler.volumes.objects import (
    DRIVER,
    attachment_json,
    capacity_json,
    claim_json,
    csi_driver_json,
    csi_node_json,
    storage_class_json,
    volume_json,
)

Json = dict[str, Any]

NODES, CLAIMS, VOLUMES = ["n0", "n1", "n2"], ["c0", "c1", "c2"], [f"pv{i}" for i in range(6)]
CLASSES = ["local", "fast"]
SIZES = ["1Gi", "2Gi", "3Gi"]
MODES = [["ReadWriteOnce"], ["ReadWriteOnce"], ["ReadWriteOnce", "ReadWriteMany"]]
NODE_ZONES = st.dictionaries(st.sampled_from(list(ZONES)), st.sampled_from(["a", "b"]), max_size=2)
VOLUME_ZONES = st.dictionaries(st.sampled_from(list(ZONES)), st.sampled_from(["a", "b", "a__b", ""]), max_size=2)
some_nodes = st.sampled_from([[], ["n0", "n1"], ["n1", "n2"], ["n2"]])


def one_in(number: int) -> st.SearchStrategy[bool]:
    """Rarely true, and never in the smallest example."""
    return st.integers(1, number).map(lambda drawn: drawn == number)


@st.composite
def claim(draw: st.DrawFn, name: str) -> Json:
    spec: Json = {"size": draw(st.sampled_from(SIZES)), "storage_class": draw(st.sampled_from(CLASSES))}
    spec["modes"] = draw(st.sampled_from(MODES))
    if draw(one_in(3)):
        spec["bound_to"] = draw(st.sampled_from(VOLUMES))
    elif draw(one_in(5)):
        spec["selected_node"] = draw(st.sampled_from([*NODES, "gone"]))
    elif draw(one_in(5)):
        spec["selector"] = draw(st.sampled_from([selector(tier="hot"), selector(requirement("tier", "DoesNotExist"))]))
    if draw(one_in(8)):
        spec["beta_class"] = draw(st.sampled_from(["local", "fast"]))
    if draw(one_in(8)):
        spec["volumeMode"] = "Block"
    if draw(one_in(10)):
        spec["volumeAttributesClassName"] = "gold"
    if draw(one_in(16)):
        spec |= draw(
            st.sampled_from([{"deleting": True}, {"phase": "Lost"}, {"volumeName": "pv0"}, {"storage_class": "eager"}])
        )
    return _with_uid(claim_json(name, **spec))


@st.composite
def volume(draw: st.DrawFn, name: str) -> Json:
    spec: Json = {"size": draw(st.sampled_from([*SIZES, "4Gi"])), "storage_class": draw(st.sampled_from(CLASSES))}
    spec |= {"modes": draw(st.sampled_from(MODES)), "nodes": draw(some_nodes)}
    spec["labels"] = draw(VOLUME_ZONES)
    if draw(one_in(4)):
        spec["labels"] = spec["labels"] | {"tier": draw(st.sampled_from(["hot", "cold"]))}
    if draw(one_in(4)):
        spec |= {"claim": draw(st.sampled_from([*CLAIMS, "other"]))}
        spec["claim_uid"] = draw(st.sampled_from(["", f"uid-{spec['claim']}", "of an earlier one"]))
    if draw(one_in(4)):
        spec["csi"] = draw(st.sampled_from(["handle-1", "handle-2", name]))
    if draw(one_in(8)):
        spec |= draw(st.sampled_from([{"phase": "Released"}, {"deleting": True}, {"volumeMode": "Block"}]))
    if draw(one_in(10)):
        spec |= draw(st.sampled_from([{"beta_class": "fast"}, {"volumeAttributesClassName": "gold"}]))
    return _with_uid(volume_json(name, **spec))


@st.composite
def stored(draw: st.DrawFn) -> Stored:
    result = Stored()
    for name in NODES:
        result.nodes[name] = _with_uid(node_json(name, labels=draw(NODE_ZONES)))
    for name in [name for name in CLAIMS if not draw(one_in(20))]:
        result.claims[name] = draw(claim(name))
    for name in [name for name in VOLUMES if not draw(one_in(6))]:
        result.volumes[name] = draw(volume(name))
    zones = draw(st.sampled_from([[], [], ["a"], ["a", "b"]]))
    fast = storage_class_json("fast", provisioner=DRIVER, zones=zones)
    result.classes = {"local": storage_class_json(), "fast": fast, "eager": storage_class_json("eager", waits=False)}
    if draw(st.booleans()):
        result.drivers[DRIVER] = csi_driver_json()
        for name in draw(st.sets(st.sampled_from(["r0", "r1"]))):
            result.capacities[name] = draw(_report(name))
    _add_what_is_attached(draw, result)
    return result


@st.composite
def _report(draw: st.DrawFn, name: str) -> Json:
    sizes = st.sampled_from(["", "1Gi", "9Gi"])
    return capacity_json(name, capacity=draw(sizes), largest=draw(sizes), nodes=draw(some_nodes))


def _add_what_is_attached(draw: st.DrawFn, result: Stored) -> None:
    for name in draw(st.sets(st.sampled_from(NODES))):
        result.csi_nodes[name] = csi_node_json(name, limit=draw(st.sampled_from([None, 0, 1, 2])))
    for where in draw(st.lists(st.sampled_from(NODES), max_size=2)):
        result.users.append((where, [draw(st.sampled_from([*CLAIMS, "gone"]))]))
    for name in draw(st.sets(st.sampled_from(VOLUMES), max_size=2)):
        result.attachments[name] = attachment_json(name, draw(st.sampled_from(NODES)))


some_claims = st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=3)


def _with_uid(obj: Json) -> Json:
    obj["metadata"]["uid"] = f"uid-{obj['metadata']['name']}"
    return obj
