"""What a scheduler says about a case, in a form in which two of them can be compared; and the comparison."""

import re
from dataclasses import dataclass, field

Scores = dict[str, int]  # by node


@dataclass(frozen=True)
class Answer:
    """One decision. Where a single node is feasible nothing is scored, and where none is there is a message."""

    node: str = ""
    feasible: frozenset[str] = frozenset()
    message: str = ""
    totals: Scores = field(default_factory=dict)
    by_plugin: dict[str, Scores] = field(default_factory=dict)  # weighted; only to say where a total comes from
    promised: str = ""  # the node that it gets when the victims are gone
    victims: frozenset[str] = frozenset()  # namespace/name of those who have to leave for it

    def reasons(self) -> list[str]:
        """`0/3 nodes are available: 1 Too many pods, 2 Insufficient cpu.` gives two."""
        entries = first_sentence(self.message).partition(": ")[2].split(", ")
        return [re.sub('"[^"]*"', "...", entry.lstrip("0123456789 ")) for entry in entries if entry]


def differences(kube: Answer, koordpy: Answer) -> list[str]:
    """One line for each way in which koordpy disagrees; none if it agrees."""
    found = []
    if kube.feasible != koordpy.feasible:
        found.append(
            f"feasible: kube-scheduler alone takes {_listed(kube.feasible - koordpy.feasible)}, "
            f"koordpy alone {_listed(koordpy.feasible - kube.feasible)}"
        )
    elif kube.totals:
        found += _score_differences(kube, koordpy)
        if kube.totals.get(koordpy.node) != max(kube.totals.values()):
            found.append(f"choice: {koordpy.node} has not the best total of {kube.totals}")
    elif kube.node != koordpy.node:
        found.append(f"choice: kube-scheduler says {kube.node or 'none'}, koordpy {koordpy.node or 'none'}")
    if first_sentence(kube.message) != first_sentence(koordpy.message):
        found.append(f"message: kube-scheduler says {kube.message!r}, koordpy {koordpy.message!r}")
    return found


def _score_differences(kube: Answer, koordpy: Answer) -> list[str]:
    if kube.totals == koordpy.totals:
        return []
    found = []
    for plugin in sorted(kube.by_plugin | koordpy.by_plugin):
        theirs, ours = (answer.by_plugin.get(plugin, {}) for answer in (kube, koordpy))
        wrong = [node for node in sorted(kube.totals) if theirs.get(node, 0) != ours.get(node, 0)]
        told = ", ".join(f"{node} {theirs.get(node, 0)} != {ours.get(node, 0)}" for node in wrong)
        if wrong:
            found.append(f"score {plugin}: kube-scheduler != koordpy on {told}")
    return found or [f"totals: kube-scheduler {kube.totals}, koordpy {koordpy.totals}"]


def first_sentence(message: str) -> str:
    """`0/3 nodes are available: 3 Insufficient cpu`; what follows it is said by preemption."""
    return message.partition(". ")[0].removesuffix(".")


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "none"
