"""Makes `protobuf.fields` from Kubernetes' Go types; `python -m tests.sim.embedded.protobuf_table`.

A field's tags name everything: `json:"replicas,omitempty" protobuf:"varint,1,opt,name=replicas"`. The descriptors of
protobuf alone would not do: they do not say which fields stand inline in JSON, nor which are left out when empty.
"""

import json
import re
import tempfile
from pathlib import Path

import koordpy.sim.embedded
from koordpy.sim.embedded.resources import builtin_resources
from tests.controlplane.components import KUBERNETES
from tests.controlplane.golang import find_go, run_go

TABLE = Path(koordpy.sim.embedded.__file__).parent / "protobuf.fields"
VERSION = "v0." + KUBERNETES.removeprefix("v1.")

_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_ALIAS = re.compile(r"^type (\w+) ([^\s{]+)$", re.MULTILINE)
_FIELD = re.compile(r"^\t(?:(\w+)\s+)?(\S+)\s+`([^`]*)`", re.MULTILINE)
_IMPORT = re.compile(r'^\s+(?:(\w+) )?"(k8s\.io/\S+)"$', re.MULTILINE)
_PACKAGES = {  # the last parts of an import path, and what its messages are called here
    "apimachinery/pkg/apis/meta/v1": "meta.v1",
    "apimachinery/pkg/api/resource": "resource",
    "apimachinery/pkg/util/intstr": "intstr",
    "apimachinery/pkg/runtime": "runtime",
    "apimachinery/pkg/types": "types",
}
_SPECIAL = {
    "meta.v1.Time": "time",
    "meta.v1.MicroTime": "microtime",
    "meta.v1.FieldsV1": "json",
    "resource.Quantity": "quantity",
    "intstr.IntOrString": "intorstring",
    "runtime.RawExtension": "json",
}
_SCALARS = {
    "string": "string",
    "bool": "bool",
    "[]byte": "bytes",
    "float64": "double",
    **dict.fromkeys(("int", "int32", "int64", "uint32", "uint64"), "int"),
}
# Kinds that are sent to a built-in resource without being one.
_BESIDE = ("meta.v1.DeleteOptions", "policy.v1.Eviction", "autoscaling.v1.Scale", "authentication.v1.TokenRequest")


def module(path: str) -> Path:
    """Where the Go module cache has it; downloaded when it is missing."""
    with tempfile.TemporaryDirectory() as directory:
        arguments = ["mod", "download", "-json", f"{path}@{VERSION}"]
        answer = json.loads(run_go(find_go(), arguments, cwd=Path(directory), label=path))
    return Path(answer["Dir"])


def roots() -> list[str]:
    served = (r for r in builtin_resources().by_path.values() if r.group != "apiextensions.k8s.io")
    return sorted({f"{r.group.partition('.')[0] or 'core'}.{r.version}.{r.kind}" for r in served} | set(_BESIDE))


class GoTypes:
    """The structs and other named types of the packages that are asked for, read when they are."""

    def __init__(self) -> None:
        self._modules = {name: module(f"k8s.io/{name}") for name in ("api", "apimachinery")}
        self._read: dict[str, dict[str, str]] = {}
        self._aliases: dict[str, str] = {}
        self._imports: dict[str, dict[str, str]] = {}

    def _package(self, package: str) -> dict[str, str]:
        if package not in self._read:
            structs: dict[str, str] = {}
            imports: dict[str, str] = {}
            for file in sorted(self._directory(package).glob("*.go")):
                if file.name.startswith(("zz_generated", "generated")) or file.name.endswith("_test.go"):
                    continue
                text = file.read_text("utf-8")
                structs |= dict(_STRUCT.findall(text))
                self._aliases |= {f"{package}.{name}": target for name, target in _ALIAS.findall(text)}
                imports |= {name or path.rpartition("/")[2]: _named(path) for name, path in _IMPORT.findall(text)}
            self._read[package], self._imports[package] = structs, imports
        return self._read[package]

    def _directory(self, package: str) -> Path:
        for path, name in _PACKAGES.items():
            if name == package:
                return self._modules["apimachinery"] / path.removeprefix("apimachinery/")
        return self._modules["api"] / package.replace(".", "/")

    def fields(self, message: str) -> list[tuple[int, str, str]]:
        """Number, name in JSON and type of each field."""
        package, _, name = message.rpartition(".")
        found = []
        for _, go_type, tags in _FIELD.findall(self._package(package)[name]):
            if protobuf := re.search(r'protobuf:"\w+,(\d+),', tags):
                json_name, *options = re.search(r'json:"([^"]*)"', tags)[1].split(",")
                omits = "omitempty" in options and not go_type.startswith(("*", "[]", "map["))
                kind = self.kind(package, go_type.removeprefix("*"))
                scalar = kind in _SCALARS.values() and omits
                found.append((int(protobuf[1]), json_name, f"{kind}?" if scalar else kind))
        return sorted(found)

    def kind(self, package: str, go_type: str) -> str:
        if go_type in _SCALARS:
            return _SCALARS[go_type]
        if go_type.startswith("[]"):
            return f"[]{self.kind(package, go_type[2:].removeprefix('*'))}"
        if go_type.startswith("map["):
            return "{}" + self.kind(package, go_type.partition("]")[2])
        self._package(package)
        qualifier, _, name = go_type.rpartition(".")
        home = self._imports[package][qualifier] if qualifier else package
        full = f"{home}.{name}"
        if full in _SPECIAL:
            return _SPECIAL[full]
        if name in self._package(home):
            return full
        aliased = self._aliases[full]
        return "texts" if aliased == "[]string" else self.kind(home, aliased)


def _named(path: str) -> str:
    short = path.removeprefix("k8s.io/")
    return _PACKAGES.get(short, short.removeprefix("api/").replace("/", "."))


def table() -> str:
    types, lines = GoTypes(), {}
    waiting = roots()
    while waiting:
        message = waiting.pop()
        if message not in lines:
            fields = types.fields(message)
            lines[message] = " ".join([message, *(f"{number}:{name}:{kind}" for number, name, kind in fields)])
            kinds = (kind.lstrip("[]{}").rstrip("?") for _, _, kind in fields)
            waiting += [kind for kind in kinds if "." in kind]
    return "".join(f"{lines[message]}\n" for message in sorted(lines))


if __name__ == "__main__":
    TABLE.write_text(table(), "utf-8")
    print(f"wrote {TABLE}")
