"""Create, update, patch and delete, for every resource alike.

Each write reads, checks and commits without awaiting, so that it is atomic; objects being prepared are
private copies and may be changed in place until they are stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded import apply, errors, lifecycle, namespaces, patch, schema, validation
from koordpy.sim.embedded.inert import NOBODY_ACTS
from koordpy.sim.embedded.store import Stored
from koordpy.sim.embedded.strategic import strategic_merge
from koordpy.sim.embedded.strategies import Strategy, strategy_of

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend
    from koordpy.sim.embedded.request import Request
    from koordpy.sim.embedded.resources import Resource

Obj = dict[str, Any]

JSON_PATCH, MERGE_PATCH = "application/json-patch+json", "application/merge-patch+json"
STRATEGIC_PATCH, APPLY_PATCH = "application/strategic-merge-patch+json", "application/apply-patch+yaml"


class Writer:
    """The writing verbs of one request on one resource."""

    def __init__(self, backend: Backend, resource: Resource, request: Request) -> None:
        self.backend = backend
        self.resource = resource
        self.request = request
        self.strategy: Strategy = strategy_of(resource)
        self.warnings: list[str] = []

    def create(self, namespace: str, obj: Obj, name: str = "") -> Stored:
        """Store a new object; `name` is that of the URL, for a PUT or apply that creates."""
        obj = self._received(namespace, obj)
        metadata = obj["metadata"]
        if name:
            self._check_name(metadata, name)
        elif not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = lifecycle.generated_name(self.backend, metadata["generateName"])
        if not metadata.get("name"):
            raise self._invalid("", [errors.required("metadata.name", "name or generateName is required")])
        if metadata.get("resourceVersion") not in (None, "", "0"):
            told = "resourceVersion should not be set on objects to be created"
            raise errors.ApiError(500, "InternalError", f"Internal error occurred: {told}")
        namespaces.check_open(self.backend, self.resource, namespace, metadata["name"])
        obj = self._prepared(obj)
        stored = self._store_new(namespace, obj)
        if self.resource.storage in NOBODY_ACTS:
            self.warnings.append(NOBODY_ACTS[self.resource.storage])
        return stored

    def _prepared(self, obj: Obj) -> Obj:
        """Defaults, checks and the metadata that only the server gives, in the order of the real one."""
        self._follow_schema(obj)
        if self.resource.custom and self.resource.has_status:
            obj.pop("status", None)
        if self.resource.to_storage:
            obj = self.resource.to_storage(obj)
        lifecycle.begin(self.backend, obj["metadata"], self.strategy)
        self.strategy.defaults(obj)
        self.strategy.prepare_create(self.backend, obj)
        found = validation.metadata_errors(obj["metadata"], self.resource.storage)
        found += self.strategy.create_errors(obj)
        if found:
            raise self._invalid(obj["metadata"]["name"], found)
        return obj

    def _store_new(self, namespace: str, obj: Obj) -> Stored:
        name = obj["metadata"]["name"]
        if self.backend.store.get(self.resource.storage, namespace, name) is not None:
            raise errors.already_exists(self.resource, name)
        if self.request.dry_run:
            return Stored(self.resource.storage, (namespace, name), obj, 0)
        return self.backend.store.create(self.resource.storage, (namespace, name), obj)

    def update(self, namespace: str, name: str, obj: Obj, subresource: str = "") -> tuple[Stored, bool]:
        """Replace; returns the stored object and whether it was created by this."""
        obj = self._received(namespace, obj)
        self._check_name(obj["metadata"], name)
        current = self.backend.store.get(self.resource.storage, namespace, name)
        if current is None:
            if self.strategy.creates_on_update and not subresource:
                return self.create(namespace, obj, name), True
            raise errors.not_found(self.resource, name)
        if not obj["metadata"].get("resourceVersion") and not self.strategy.unconditional_update:
            told = errors.invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
            raise self._invalid(name, [told])
        return self._replace(current, obj, subresource), False

    def patch(self, namespace: str, name: str, subresource: str = "") -> tuple[Stored, bool]:
        current = self.backend.store.get(self.resource.storage, namespace, name)
        kind = self.request.content_type
        if kind == APPLY_PATCH and current is None and not subresource:
            config = apply.applied_object(self.request)
            manager = self.request.query["fieldManager"]
            fresh = apply.apply(self.resource, {"metadata": {}}, config, manager, self.backend.now())
            return self.create(namespace, fresh, name), True
        if current is None:
            raise errors.not_found(self.resource, name)
        copy = current.private_copy()
        if self.resource.from_storage:
            copy = self.resource.from_storage(copy)
        patched = lifecycle.typed(self.resource, self._patched(copy, kind))
        self._check_name(patched["metadata"], name)
        if patched["metadata"].get("uid") != current.obj["metadata"]["uid"]:
            told = errors.invalid_value("metadata.uid", patched["metadata"].get("uid"), "field is immutable")
            raise self._invalid(name, [told])
        return self._replace(current, patched, subresource), False

    def _patched(self, copy: Obj, kind: str) -> Obj:
        if kind == APPLY_PATCH:
            config = apply.applied_object(self.request)
            manager = self.request.query["fieldManager"]
            return apply.apply(self.resource, copy, config, manager, self.backend.now())
        if kind == JSON_PATCH:
            operations = self.request.any_json()
            return patch.json_patch(copy, operations if self.resource.custom else _without_null_values(operations))
        if kind == MERGE_PATCH:
            merged: Obj = patch.merge_patch(copy, self.request.json())
            return merged
        if kind == STRATEGIC_PATCH and not self.resource.custom:
            return strategic_merge(copy, self.request.json())
        strategic = [STRATEGIC_PATCH] if not self.resource.custom else []
        raise errors.unsupported_media_type([JSON_PATCH, MERGE_PATCH, *strategic, APPLY_PATCH])

    def _replace(self, current: Stored, obj: Obj, subresource: str) -> Stored:
        """The common end of update and patch: preconditions, what may change, checks, commit."""
        self._check_current(current, obj["metadata"])
        self._follow_schema(obj)
        new = self.resource.to_storage(obj) if self.resource.to_storage else obj
        old = current.obj
        if subresource == "status":
            new = self._only_status(new, old)
        else:
            self.strategy.defaults(new)
            if self.resource.has_status:
                _keep_field(new, old, "status")
        lifecycle.carry_over(new["metadata"], old["metadata"])
        self._check_update(new, old, subresource)
        if self.strategy.generation and subresource != "status":
            lifecycle.raise_generation(new, old)
        return self._commit(current, new)

    def _commit(self, current: Stored, new: Obj) -> Stored:
        if new == current.obj:
            return current  # a write that changes nothing makes no new version and no event
        if self.request.dry_run:
            return Stored(current.storage, current.key, new, current.rv)
        if lifecycle.is_finished(new):
            gone = self.backend.store.remove(current, new)
            namespaces.sweep(self.backend, current.key[0])
            return gone
        return self.backend.store.replace(current, new)

    def _check_current(self, current: Stored, metadata: Obj) -> None:
        stored = current.obj["metadata"]
        version = metadata.get("resourceVersion")
        if version not in (None, "", "0", stored["resourceVersion"]):
            raise errors.conflict(self.resource, current.key[1], errors.STALE)
        uid = metadata.get("uid")
        if uid not in (None, "", stored["uid"]):
            told = f"UID in precondition: {uid}, UID in object meta: {stored['uid']}"
            raise errors.precondition_failed(self.resource, *current.key, told)

    def _only_status(self, new: Obj, old: Obj) -> Obj:
        """Writes to /status reach the status, and for most built-in resources labels and annotations."""
        result = dict(old)
        result["metadata"] = new["metadata"] if self.strategy.status_writes_metadata else dict(old["metadata"])
        _keep_field(result["metadata"], old["metadata"], "ownerReferences")
        _keep_field(result, new, "status")
        if old["kind"] == "Pod" and "qosClass" in old.get("status", {}):
            result.setdefault("status", {}).setdefault("qosClass", old["status"]["qosClass"])
        return result

    def _check_update(self, new: Obj, old: Obj, subresource: str) -> None:
        found = validation.metadata_errors(new["metadata"], self.resource.storage)
        added = set(new["metadata"].get("finalizers") or ()) - set(old["metadata"].get("finalizers") or ())
        if added and "deletionTimestamp" in old["metadata"]:
            told = (
                f"no new finalizers can be added if the object is being deleted, found new finalizers {sorted(added)}"
            )
            found.append(errors.forbidden_field("metadata.finalizers", told))
        if subresource != "status":
            found += self.strategy.update_errors(new, old)
        if found:
            raise self._invalid(new["metadata"]["name"], found)

    def delete(self, namespace: str, name: str, options: Obj) -> tuple[Stored, bool]:
        """Returns the last state of the object and whether it is gone for good."""
        current = self.backend.store.get(self.resource.storage, namespace, name)
        if current is None:
            raise errors.not_found(self.resource, name)
        return self.delete_stored(current, options)

    def delete_stored(self, current: Stored, options: Obj) -> tuple[Stored, bool]:
        lifecycle.check_preconditions(self.resource, current, options)
        if current.storage == "namespaces":
            namespaces.check_mortal(self.resource, current.key[1])
        if self.request.dry_run or "All" in (options.get("dryRun") or ()):
            return current, True
        if current.storage == "namespaces":
            return namespaces.terminate(self.backend, current)
        last, gone = lifecycle.delete(self.backend, current, self.strategy, options)
        if gone:
            namespaces.sweep(self.backend, current.key[0])
            namespaces.drop_instances(self.backend, current)
        return last, gone

    def _received(self, namespace: str, obj: Obj) -> Obj:
        """The object as sent, checked against the URL and put in order."""
        version, kind = obj.get("apiVersion"), obj.get("kind")
        if version not in (None, "", self.resource.api_version):
            raise errors.bad_request(
                f"the API version in the data ({version}) does not match the expected API version "
                f"({self.resource.api_version})"
            )
        if kind not in (None, "", self.resource.kind):
            expected = f'{self.resource.kind} in version "{self.resource.version}"'
            raise errors.bad_request(f"{expected} cannot be handled as a {kind}: the kinds differ")
        if not self.resource.custom and b"null" in self.request.body:
            obj = without_nulls(obj)
        validation.check_metadata(self.resource.kind, obj.get("metadata"))
        obj = lifecycle.typed(self.resource, obj)
        metadata = obj["metadata"]
        if self.resource.namespaced and metadata.setdefault("namespace", namespace) != namespace:
            told = "the namespace of the provided object does not match the namespace sent on the request"
            raise errors.bad_request(told)
        if not self.resource.namespaced:
            metadata.pop("namespace", None)
        return obj

    def _check_name(self, metadata: Obj, name: str) -> None:
        if metadata.setdefault("name", name) != name:
            told = f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
            raise errors.bad_request(told)

    def _follow_schema(self, obj: Obj) -> None:
        """Prune, default and check what has a schema: custom resources, and pods and nodes."""
        definition = self.resource.schema
        if definition is None:
            return
        self._report_unknown(schema.prune(obj, definition))
        schema.fill_defaults(obj, definition)
        found = schema.schema_errors(obj, definition)
        if found and self.resource.custom:
            raise self._invalid(obj["metadata"].get("name", ""), found)
        if found:  # built-in types fail while they are decoded, before anything is validated
            raise self._cannot_be_handled("; ".join(f"json: {e.field}: {e.message}" for e in found))

    def _report_unknown(self, unknown: list[str]) -> None:
        told = [f'unknown field "{path}"' for path in unknown]
        mode = self.request.query.get("fieldValidation", "Warn")
        if told and mode == "Strict":
            raise self._cannot_be_handled(f"strict decoding error: {', '.join(told)}")
        if mode == "Warn":
            self.warnings += told

    def _cannot_be_handled(self, why: str) -> errors.ApiError:
        kind, version = self.resource.kind, self.resource.version
        return errors.bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')

    def _invalid(self, name: str, found: list[errors.FieldError]) -> errors.ApiError:
        return errors.invalid(self.resource.kind, self.resource.group, name, found)


def without_nulls(value: Any) -> Any:
    """Built-in types know no null: `creationTimestamp: null`, as Go writes it, means absent."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def _without_null_values(operations: Any) -> Any:
    """The operations of a JSON patch with no null inside what they put: `kubectl rollout undo` puts whole templates."""
    if not isinstance(operations, list):
        return operations
    return [
        {**one, "value": without_nulls(one["value"])} if isinstance(one, dict) and one.get("value") else one
        for one in operations
    ]


def _keep_field(target: Obj, source: Obj, key: str) -> None:
    if key in source:
        target[key] = source[key]
    else:
        target.pop(key, None)
