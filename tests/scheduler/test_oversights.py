"""What looks like a mistake of a user's is said also of pods that were there before this process led."""

from __future__ import annotations

import pytest

from tests.scheduler.frontends.rig import FrontEndRig, of_kai


@pytest.fixture
def rig() -> FrontEndRig:
    return FrontEndRig()


def test_a_misspelt_key_is_told_again_when_leadership_begins(rig: FrontEndRig, monkeypatch: pytest.MonkeyPatch):
    rig.member("p", says={"gang.scheduling.koordinator.sh/min-availble": "2"})
    told: list[str] = []
    monkeypatch.setattr(rig.reporter, "looks_misspelt", lambda pod, text: told.append(f"{pod.name}: {text}"))
    rig.hand_over()
    assert [each.partition(";")[2] for each in told] == [" did you mean gang.scheduling.koordinator.sh/min-available?"]


def test_a_pod_that_is_gone_by_then_is_not_told_of(rig: FrontEndRig, monkeypatch: pytest.MonkeyPatch):
    rig.member("p", says={"gang.scheduling.koordinator.sh/min-availble": "2"})
    rig.gone("p")
    told: list[str] = []
    monkeypatch.setattr(rig.reporter, "looks_misspelt", lambda pod, text: told.append(text))
    rig.hand_over()
    assert told == []


def test_a_pod_in_two_gangs_is_told_so_when_leadership_begins(rig: FrontEndRig, monkeypatch: pytest.MonkeyPatch):
    rig.gang("a", 1)
    rig.kai("b", minMember=1)
    rig.member("p", "a", says=of_kai("b"), cpu=100)
    told: list[str] = []
    monkeypatch.setattr(rig.reporter, "claimed_twice", lambda pod, text: told.append(text))
    rig.hand_over()
    (text,) = told
    assert text.startswith("the pod is in two gangs: it belongs to default/a (scheduling.sigs.k8s.io/v1alpha1)")
    assert text.endswith("and not to default/b (scheduling.run.ai/v2alpha2)")
