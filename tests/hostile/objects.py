"""Objects that nobody in his right mind would create: shaped like what we read, with values chosen to hurt.

The shapes are the schemas of the structs that koordpy decodes, and those of the definitions in `crds/`. So a new field
is tried as soon as it is read.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml
from hypothesis import strategies as st

from koordpy.api import keys
from koordpy.app.journal.deliveries import DECODERS
from tests.builders import Json

Values = st.SearchStrategy[Any]

KEYS = sorted({value for name, value in vars(keys).items() if name.isupper() and isinstance(value, str)})
NAMES = ["a", "b", "c"]
NODES = ["n1", "n2"]
WORDS = [
    "", " ", "x", "-", "/", "a/", "/a", "a/b", "default", "true", "null", "{}", "[]", '{"a":', "\x00", "\u202e",
    "ß" * 70, "x" * 5000, "In", "NotIn", "Exists", "Equal", "Gt", "Lt", "DoesNotExist", "NoSchedule",
    "NoExecute", "DoNotSchedule", "ScheduleAnyway", "Strict", "NonStrict", "Always", "Never", "Immediate",
    "WaitForFirstConsumer", "Pending", "Running", "Succeeded", "Failed", "True", "False", "kubernetes.io/hostname",
    "topology.kubernetes.io/zone", "cpu",
    "memory", "pods", "nvidia.com/gpu", "koord-scheduler", "2026-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z", "0000-00-00T00:00:00Z",
    *NAMES, *NODES,
]  # fmt: skip
AMOUNTS = [
    "0", "1", "-1", "100m", "1e3", "1e999999999", "9" * 400, "1Ei", "9223372036854775807", "9223372036854775808",
    "0.1n", "1.5", "NaN", "Infinity", "1 Gi", "0x10", "1" + "0" * 30 + "m", "10s", "-5s", "1h", "99999999999h",
]  # fmt: skip
NUMBERS = [0, 1, -1, 2, 3, 100, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63)]  # what an API server can hold
TIMES = ["2026-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "1970-01-01T00:00:00.000001Z"]
MOST_FIELDS = 6

TEXTS = st.sampled_from([*WORDS, *AMOUNTS]) | st.text(max_size=5)
WRONG = st.sampled_from([None, True, 0, -1.5, 1e308, "x", [], {}, [None], {"": None}])
ANNOTATIONS = st.dictionaries(st.sampled_from(KEYS), TEXTS, max_size=4)


def of_kind(kind: str) -> Values:
    """JSON of a kind, by the name that the journal has for it."""
    return _of(f"struct/{kind}")


def of_definition(name: str) -> Values:
    """JSON of a custom resource as its definition has it."""
    return _of(f"crd/{name}")


def of_schema(schema: Json) -> Values:
    """JSON of a schema, mostly."""
    return _values(schema, {})


@cache
def _of(what: str) -> Values:
    kind, _, name = what.partition("/")
    if kind == "crd":
        (version, *_) = yaml.safe_load((Path("crds") / f"{name}.yaml").read_text())["spec"]["versions"]
        schema = version["schema"]["openAPIV3Schema"]
    else:
        schema = msgspec.json.schema(DECODERS[name].struct, schema_hook=lambda _: {"type": "string"})
    return st.builds(_with_identity, _values(schema, schema.get("$defs", {})), _identities(name))


def _identities(kind: str) -> st.SearchStrategy[Json]:
    """Few names, so that objects are about each other."""
    return st.fixed_dictionaries(
        {
            "name": st.sampled_from(NODES if kind in ("nodes", "storage/CSINode") else NAMES),
            "namespace": st.sampled_from(["default", "team"]) if kind != "nodes" else st.just(""),
            "uid": st.sampled_from(["1", "2", "3", "4"]),
            "creationTimestamp": st.sampled_from(TIMES),
            "annotations": ANNOTATIONS,
            "labels": ANNOTATIONS,
        }
    )


def _with_identity(obj: Any, identity: Json) -> Any:
    if not isinstance(obj, dict):
        return obj
    metadata = obj.get("metadata")
    extra = metadata if isinstance(metadata, dict) else {}
    uid = "/".join(identity[part] for part in ("namespace", "name", "uid"))  # which no two objects share
    found = obj | {"metadata": extra | identity | {"uid": uid}}
    spec = found.get("spec")
    if isinstance(spec, dict) and "containers" in spec and identity["uid"] != "4":
        spec["schedulerName"] = "koord-scheduler"
    return found


def _values(schema: Json, definitions: Json) -> Values:
    """Mostly what the schema says, now and then something else altogether."""
    proper = _proper(schema, definitions)
    return st.integers(0, 40).flatmap(lambda chance: WRONG if chance == 40 else proper)


def _proper(schema: Json, definitions: Json) -> Values:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return st.deferred(lambda: _proper(definitions[name], definitions))
    if "anyOf" in schema:
        return st.one_of([_proper(each, definitions) for each in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"]) | TEXTS
    return _by_type(schema, definitions)


def _by_type(schema: Json, definitions: Json) -> Values:
    match schema.get("type"):
        case "object":
            return _objects(schema, definitions) if "properties" in schema else _maps(schema, definitions)
        case "array":
            return st.lists(_values(schema.get("items", {}), definitions), max_size=3)
        case "integer" | "number":
            return st.sampled_from(NUMBERS)
        case "boolean" | "null" as name:
            return st.booleans() if name == "boolean" else st.none()
        case _:
            return TEXTS


def _maps(schema: Json, definitions: Json) -> Values:
    inner = schema.get("additionalProperties")
    values = _values(inner, definitions) if isinstance(inner, dict) else TEXTS
    return st.dictionaries(TEXTS | st.sampled_from(KEYS), values, max_size=3)


def _field(name: str, schema: Json, definitions: Json) -> Values:
    """Every API server sees to it that what its types call a time is one."""
    is_time = name.endswith(("Timestamp", "Time", "startedAt", "finishedAt"))
    return st.sampled_from(TIMES) if is_time else _values(schema, definitions)


def _objects(schema: Json, definitions: Json) -> Values:
    fields = {name: each for name, each in schema["properties"].items() if name not in ("apiVersion", "kind")}
    always = [name for name in ("metadata", "spec", "status") if name in fields]

    def with_some(chosen: list[str]) -> Values:
        return st.fixed_dictionaries({name: _field(name, fields[name], definitions) for name in {*always, *chosen}})

    if not fields:
        return st.just({})
    return st.lists(st.sampled_from(sorted(fields)), max_size=MOST_FIELDS, unique=True).flatmap(with_some)
