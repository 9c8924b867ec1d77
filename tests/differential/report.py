"""Keeps count of what was compared, and writes a disagreement down so that it can be read and played again."""

import time
from collections import Counter
from dataclasses import dataclass, field

from tests.differential.judge import Judgement
from tests.differential.recording import recorded
from tests.differential.stage import Asked


@dataclass(frozen=True)
class Disagreement:
    """A case on which koordpy differs, and in what."""

    asked: Asked
    found: list[str]

    def brief(self) -> str:
        case = self.asked.case
        features = ", ".join(sorted(case.features))
        return "\n    ".join([f"seed {case.seed} ({features})", *self.found])

    def full(self) -> str:
        """What differs first, then the whole case, then how to see it again."""
        again = f"python -m tests.differential --seed {self.asked.case.seed}"
        return f"{self.brief()}\n\n{recorded(self.asked)}\nagain: {again}"


@dataclass
class Tally:
    """What a run has compared so far."""

    compared: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    preempting: Counter[str] = field(default_factory=Counter)  # refusals by whom koordpy lets go, beside kube-scheduler
    reasons: Counter[str] = field(default_factory=Counter)  # refusals in which kube-scheduler gave it
    scores: Counter[str] = field(default_factory=Counter)  # decisions in which the plugin preferred one node to another
    disagreements: list[Disagreement] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def count(self, asked: Asked, judgement: Judgement) -> None:
        self.compared += 1
        self.features.update(asked.case.features | asked.case.scene.features)
        answer = asked.answer
        self.outcomes[{0: "refused", 1: "one node"}.get(len(answer.feasible), "several nodes")] += 1
        self.preempting.update([judgement.preempting] if judgement.preempting else [])
        self.reasons.update(answer.reasons())
        self.scores.update(plugin for plugin, scores in answer.by_plugin.items() if len(set(scores.values())) > 1)

    def summary(self) -> str:
        seconds = time.monotonic() - self.began
        kinds = Counter(line.partition(":")[0] for each in self.disagreements for line in each.found)
        return "\n".join(
            [
                f"{self.compared} cases in {seconds:.0f} s ({self.compared / seconds:.1f}/s): {_told(self.outcomes)}",
                f"by feature: {_told(self.features)}",
                f"by reason: {_told(self.reasons)}",
                f"by score: {_told(self.scores)}",
                f"by victims: {_told(self.preempting)}",
                f"{len(self.disagreements)} disagreements",
                *(f"    {count} {kind}" for kind, count in kinds.most_common()),
            ]
        )

    def story(self) -> str:
        """Every disagreement in brief, and the first one in full."""
        if not self.disagreements:
            return self.summary()
        first, *others = self.disagreements
        return "\n".join([first.full(), "", *(each.brief() for each in others), "", self.summary()])


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())
