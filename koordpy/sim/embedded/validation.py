"""What holds for the metadata of every object, and for quantities wherever they stand.

The messages are those of the real server, because people search for them.
"""

from __future__ import annotations

import re
from typing import Any

from koordpy.api.errors import MalformedValue
from koordpy.api.quantity import nano_units
from koordpy.sim.embedded.errors import FieldError, bad_request, invalid_value, required

Obj = dict[str, Any]

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_RE, _SUBDOMAIN_RE, _QUALIFIED_RE = (re.compile(p) for p in (_LABEL, _SUBDOMAIN, _QUALIFIED))

_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    f"'{_SUBDOMAIN}')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and "
    f"end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_QUALIFIED_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    f"'{_QUALIFIED}')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    f"validation is '({_QUALIFIED})?')"
)
_QUANTITY_RULE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_ANNOTATIONS_LIMIT = 256 * 1024
_METADATA_TYPES: dict[tuple[str, ...], type] = {
    ("name", "generateName", "namespace", "uid", "resourceVersion"): str,
    ("labels", "annotations"): dict,
    ("finalizers", "ownerReferences", "managedFields"): list,
}
_NAMED_BY_LABEL = frozenset(("namespaces", "services"))


def check_metadata(kind: str, metadata: Any) -> None:
    """A wrong type is a 400: the real server fails while decoding, before it validates."""
    if metadata is None:
        return
    wrong = "metadata" if not isinstance(metadata, dict) else ""
    for keys, expected in _METADATA_TYPES.items():
        for key in keys if not wrong else ():
            if not isinstance(metadata.get(key, expected()), expected | None):
                wrong = f"metadata.{key}"
    if wrong:
        raise bad_request(f"{kind} cannot be handled as a {kind}: json: {wrong} has the wrong type")


def metadata_errors(metadata: Obj, storage: str) -> list[FieldError]:
    errors = name_errors(metadata["name"], storage, "metadata.name")
    errors += labels_errors(metadata.get("labels"), "metadata.labels")
    annotations = metadata.get("annotations") or {}
    for key in annotations:
        errors += _qualified_name_errors(key.lower(), "metadata.annotations")
    if sum(len(key) + len(str(value)) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        message = f"Too long: may not be more than {_ANNOTATIONS_LIMIT} bytes"
        errors.append(FieldError("FieldValueTooLong", "metadata.annotations", message))
    for index, owner in enumerate(metadata.get("ownerReferences") or ()):
        errors += [
            required(f"metadata.ownerReferences[{index}].{key}", "must not be empty")
            for key in ("apiVersion", "kind", "name", "uid")
            if not owner.get(key)
        ]
    return errors


def labels_errors(labels: Any, field: str) -> list[FieldError]:
    errors = []
    for key, value in (labels or {}).items():
        errors += _qualified_name_errors(key, field) + _label_value_errors(value, field)
    return errors


def name_errors(name: str, storage: str, field: str) -> list[FieldError]:
    by_label = storage in _NAMED_BY_LABEL
    limit, pattern = (63, _LABEL_RE) if by_label else (253, _SUBDOMAIN_RE)
    if len(name) > limit:
        return [invalid_value(field, name, f"must be no more than {limit} characters")]
    if pattern.fullmatch(name) is None:
        return [invalid_value(field, name, _LABEL_RULE if by_label else _SUBDOMAIN_RULE)]
    return []


def label_errors(name: str, field: str) -> list[FieldError]:
    """For names that are a single DNS label, such as those of containers."""
    if len(name) > 63 or _LABEL_RE.fullmatch(name) is None:
        return [invalid_value(field, name, _LABEL_RULE)]
    return []


def _qualified_name_errors(key: str, field: str) -> list[FieldError]:
    prefix, slash, name = key.rpartition("/")
    if slash and _SUBDOMAIN_RE.fullmatch(prefix) is None:
        return [invalid_value(field, key, f"prefix part {_SUBDOMAIN_RULE}")]
    if not name:
        return [invalid_value(field, key, "name part must be non-empty"), *_bad_name(key, field)]
    if len(name) > 63:
        return [invalid_value(field, key, "name part must be no more than 63 bytes")]
    return [] if _QUALIFIED_RE.fullmatch(name) else _bad_name(key, field)


def _bad_name(key: str, field: str) -> list[FieldError]:
    return [invalid_value(field, key, _QUALIFIED_RULE)]


def _label_value_errors(value: Any, field: str) -> list[FieldError]:
    if not isinstance(value, str):
        return [invalid_value(field, value, "a label value must be a string")]
    if len(value) > 63:
        return [invalid_value(field, value, "must be no more than 63 bytes")]
    if value and _QUALIFIED_RE.fullmatch(value) is None:
        return [invalid_value(field, value, _VALUE_RULE)]
    return []


def check_quantities(kind: str, amounts: Any) -> None:
    """An unreadable quantity is a 400: the real server fails while decoding, before it validates."""
    for text in (amounts or {}).values():
        try:
            nano_units(text)
        except MalformedValue:
            raise bad_request(
                f'{kind} in version "v1" cannot be handled as a {kind}: {_QUANTITY_RULE}: {text!r}'
            ) from None


def quantity_errors(amounts: Any, field: str) -> list[FieldError]:
    """For a map from resource name to quantity: none is negative."""
    return [
        invalid_value(f"{field}[{name}]", str(text), "must be greater than or equal to 0")
        for name, text in (amounts or {}).items()
        if nano_units(text) < 0
    ]
