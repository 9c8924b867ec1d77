"""Small breakages of product code: a condition turned round, or a call left out; each can be made again by its number.

A module is broken while it is imported; nothing on disk is touched. Each breakage notes when it is reached, since one
that no world comes to cannot be noticed.
"""

from __future__ import annotations

import ast
import builtins
import importlib.abc
import importlib.machinery
import random
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import CodeType

MODULES = (
    "koordpy.scheduler.loop",
    "koordpy.scheduler.jobs",
    "koordpy.scheduler.permit",
    "koordpy.scheduler.preempt",
    "koordpy.scheduler.wakeups",
    "koordpy.scheduler.queue.queue",
    "koordpy.scheduler.ingest.pods",
    "koordpy.scheduler.execute.bind",
    "koordpy.scheduler.execute.evict",
    "koordpy.scheduler.queues.admission",
    "koordpy.scheduler.report.reporter",
    "koordpy.state.cluster",
    "koordpy.state.gangs.gang",
    "koordpy.state.gangs.table",
    "koordpy.plan.placement.gangs",
    "koordpy.plan.placement.gang_rules",
    "koordpy.plan.preemption.search",
    "koordpy.kube.leader",
    "koordpy.kube.writes",
    "koordpy.kube.watch.reflector",
    "koordpy.controllers.runtime.controller",
    "koordpy.controllers.podgroup.reconciler",
    "koordpy.controllers.queues.reconciler",
)
_SPOKEN = ("log", "metrics", "self._reporter.note", "structlog")  # what is said to people changes nothing here


@dataclass(frozen=True)
class Breakage:
    module: str
    line: int
    column: int
    kind: str  # "turned" or "left out"
    text: str  # the source that is broken

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.kind}: {self.text}"


def chosen(count: int, seed: int = 0) -> list[Breakage]:
    """So many of all that there are, the same for a seed until the code changes."""
    found = [breakage for module in MODULES for breakage in _all_of(module)]
    dice = random.Random(f"breakages {seed}")
    return sorted(dice.sample(found, min(count, len(found))), key=str)


def _path(module: str) -> Path:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin)


def _all_of(module: str) -> list[Breakage]:
    source = _path(module).read_text()
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = set()
    for function in functions:
        for node in ast.walk(function):
            kind = _kind(node)
            if kind:
                target = node.test if isinstance(node, ast.If) else node
                text = " ".join((ast.get_source_segment(source, target) or "").split())[:90]
                if not text.startswith(_SPOKEN):
                    found.add(Breakage(module, node.lineno, node.col_offset, kind, text))
    return sorted(found, key=lambda each: (each.line, each.column))


def _kind(node: ast.AST) -> str:
    if isinstance(node, ast.If):
        return "turned"
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)
    return "left out" if is_call else ""


class _Breaker(ast.NodeTransformer):
    def __init__(self, breakage: Breakage) -> None:
        self._at, self._kind = (breakage.line, breakage.column), breakage.kind

    def visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if _kind(node) != self._kind or (node.lineno, node.col_offset) != self._at:  # type: ignore[attr-defined]
            return node
        call = ast.Call(ast.Name("_broken", ast.Load()), [], [])
        if isinstance(node, ast.If):
            node.test = ast.Compare(call, [ast.NotEq()], [ast.Call(ast.Name("bool", ast.Load()), [node.test], [])])
            return ast.fix_missing_locations(node)
        return ast.fix_missing_locations(ast.copy_location(ast.Expr(call), node))


class _Loader(importlib.machinery.SourceFileLoader):
    breakage: Breakage

    def get_code(self, fullname: str) -> CodeType:
        source = Path(self.path).read_text()
        tree = _Breaker(self.breakage).visit(ast.parse(source))
        return compile(tree, self.path, "exec")  # type: ignore[no-any-return]


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, breakage: Breakage) -> None:
        self._breakage, self._path = breakage, _path(breakage.module)

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self._breakage.module:
            return None
        loader = _Loader(fullname, str(self._path))
        loader.breakage = self._breakage
        return importlib.machinery.ModuleSpec(fullname, loader, origin=str(self._path))


def break_it(breakage: Breakage) -> list[int]:
    """From its import on. Returns how often it was reached, in a list of one."""
    reached = [0]

    def broken() -> bool:
        reached[0] += 1
        return True

    builtins._broken = broken  # type: ignore[attr-defined]
    sys.meta_path.insert(0, _Finder(breakage))
    for name in [name for name in sys.modules if name.partition(".")[0] == "koordpy"]:
        del sys.modules[name]
    return reached
