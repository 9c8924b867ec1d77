"""What a new pod must satisfy: containers, images, quantities, gates, volumes."""

from __future__ import annotations

from typing import Any

from koordpy.api.quantity import nano_units
from koordpy.sim.embedded.errors import FieldError, duplicate, forbidden_field, invalid_value, required, unsupported
from koordpy.sim.embedded.validation import label_errors, labels_errors, name_errors, quantity_errors

Obj = dict[str, Any]

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def create_errors(pod: Obj) -> list[FieldError]:
    spec = pod["spec"]
    errors = _container_list_errors(spec)
    errors += _choice_errors(spec)
    errors += quantity_errors(spec.get("overhead"), "spec.overhead")
    errors += labels_errors(spec.get("nodeSelector"), "spec.nodeSelector")
    if spec["terminationGracePeriodSeconds"] < 0:
        grace = spec["terminationGracePeriodSeconds"]
        told = "must be greater than or equal to 0"
        errors.append(invalid_value("spec.terminationGracePeriodSeconds", grace, told))
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        errors += _toleration_errors(toleration, f"spec.tolerations[{index}]")
    if spec.get("nodeName"):
        errors += name_errors(spec["nodeName"], "nodes", "spec.nodeName")
        if spec.get("schedulingGates"):
            told = "cannot be set until all schedulingGates have been cleared"
            errors.append(forbidden_field("spec.nodeName", told))
    errors += _unique_names(spec.get("schedulingGates"), "spec.schedulingGates")
    errors += _unique_names(spec.get("volumes"), "spec.volumes")
    return errors


def _choice_errors(spec: Obj) -> list[FieldError]:
    choices = {
        "restartPolicy": ["Always", "Never", "OnFailure"],
        "dnsPolicy": ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"],
        "preemptionPolicy": ["Never", "PreemptLowerPriority"],
    }
    return [
        unsupported(f"spec.{key}", spec[key], list(allowed))
        for key, allowed in choices.items()
        if key in spec and spec[key] not in allowed
    ]


def _container_list_errors(spec: Obj) -> list[FieldError]:
    if not spec.get("containers"):
        return [required("spec.containers")]
    errors: list[FieldError] = []
    seen: set[str] = set()
    volumes = {volume.get("name") for volume in spec.get("volumes") or ()}
    for key in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(key) or ()):
            field = f"spec.{key}[{index}]"
            errors += _container_errors(container, field, volumes)
            if container.get("name") in seen:
                errors.append(duplicate(f"{field}.name", container["name"]))
            seen.add(container.get("name", ""))
    return errors


def _container_errors(container: Obj, field: str, volumes: set[Any]) -> list[FieldError]:
    name = container.get("name", "")
    errors = label_errors(name, f"{field}.name") if name else [required(f"{field}.name")]
    if not container.get("image"):
        errors.append(required(f"{field}.image"))
    errors += _resource_errors(container.get("resources") or {}, f"{field}.resources")
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        if mount.get("name") not in volumes:
            told = f'Not found: "{mount.get("name", "")}"'
            errors.append(FieldError("FieldValueNotFound", f"{field}.volumeMounts[{index}].name", told))
    for index, port in enumerate(container.get("ports") or ()):
        if not 0 < port.get("containerPort", 0) < 65536:
            told = "must be between 1 and 65535, inclusive"
            errors.append(invalid_value(f"{field}.ports[{index}].containerPort", port.get("containerPort"), told))
    return errors


def _resource_errors(resources: Obj, field: str) -> list[FieldError]:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    errors = quantity_errors(limits, f"{field}.limits") + quantity_errors(requests, f"{field}.requests")
    if errors:
        return errors
    for name, asked in requests.items():
        extended = _is_extended(name)
        if extended and name not in limits:
            told = "Limit must be set for non overcommitable resources"
            errors.append(required(f"{field}.limits", told))
        elif name in limits and nano_units(asked) > nano_units(limits[name]):
            told = f"must be less than or equal to {name} limit of {limits[name]}"
            errors.append(invalid_value(f"{field}.requests", str(asked), told))
        elif extended and nano_units(asked) != nano_units(limits[name]):
            told = f"must be equal to {name} limit of {limits[name]}"
            errors.append(invalid_value(f"{field}.requests", str(asked), told))
    return errors + _whole_number_errors(limits, f"{field}.limits")


def _is_extended(name: str) -> bool:
    return "/" in name and not name.startswith("kubernetes.io/")


def _whole_number_errors(amounts: Obj, field: str) -> list[FieldError]:
    return [
        invalid_value(f"{field}.{name}", str(text), "must be an integer")
        for name, text in amounts.items()
        if _is_extended(name) and nano_units(text) % 10**9
    ]


def _toleration_errors(toleration: Obj, field: str) -> list[FieldError]:
    operator, effect = toleration.get("operator") or "Equal", toleration.get("effect")
    errors = []
    if operator not in ("Equal", "Exists"):
        errors.append(unsupported(f"{field}.operator", operator, ["Equal", "Exists"]))
    if not toleration.get("key") and operator != "Exists":
        told = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        errors.append(invalid_value(f"{field}.operator", operator, told))
    if operator == "Exists" and toleration.get("value"):
        told = "value must be empty when `operator` is 'Exists'"
        errors.append(invalid_value(f"{field}.operator", toleration["value"], told))
    if effect and effect not in EFFECTS:
        errors.append(unsupported(f"{field}.effect", effect, list(EFFECTS)))
    return errors


def _unique_names(entries: list[Obj] | None, field: str) -> list[FieldError]:
    errors, seen = [], set()
    for index, entry in enumerate(entries or ()):
        name = entry.get("name", "")
        if not name:
            errors.append(required(f"{field}[{index}].name" if "volumes" in field else f"{field}[{index}]"))
        elif name in seen:
            errors.append(duplicate(f"{field}[{index}].name" if "volumes" in field else f"{field}[{index}]", name))
        seen.add(name)
    return errors
