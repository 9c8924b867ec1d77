"""What counts as a disagreement, and what does not."""

import pytest

from tests.differential.answer import Answer, differences

BOTH = frozenset(("n1", "n2"))
REFUSED = "0/2 nodes are available: 2 Insufficient cpu."
SCORED = Answer("n1", BOTH, totals={"n1": 7, "n2": 5}, by_plugin={"Fit": {"n1": 7, "n2": 5}})


def test_the_same_answer_is_no_disagreement():
    assert differences(SCORED, SCORED) == []


def test_another_node_of_the_best_is_no_disagreement():
    totals = {"n1": 7, "n2": 7}
    assert differences(Answer("n1", BOTH, totals=totals), Answer("n2", BOTH, totals=totals)) == []


def test_what_preemption_has_to_say_is_not_compared():
    kube = Answer(message=f"{REFUSED} no new claims to deallocate, preemption: 0/2 nodes are available: 2 No victims.")
    assert differences(kube, Answer(message=REFUSED)) == []


@pytest.mark.parametrize(
    ("koordpy", "told"),
    [
        (Answer("n1", frozenset(("n1",))), "feasible: kube-scheduler alone takes n2, koordpy alone none"),
        (Answer("n2", BOTH, totals=SCORED.totals), "choice: n2 has not the best total"),
        (
            Answer("n1", BOTH, totals={"n1": 7, "n2": 6}, by_plugin={"Fit": {"n1": 7, "n2": 6}}),
            "score Fit: kube-scheduler != koordpy on n2 5 != 6",
        ),
        (Answer(message=REFUSED), "message: kube-scheduler says ''"),
    ],
)
def test_a_disagreement_says_where_it_is(koordpy: Answer, told: str):
    assert any(line.startswith(told) for line in differences(SCORED, koordpy))


def test_the_count_of_nodes_is_part_of_the_message():
    kube = Answer(message=REFUSED)
    assert differences(kube, Answer(message=REFUSED.replace("0/2", "0/3")))


def test_another_node_than_the_only_one_is_a_disagreement():
    one, other = frozenset(("n1",)), frozenset(("n2",))
    assert differences(Answer("n1", one), Answer("n2", other))


def test_the_reasons_of_a_refusal_are_told_without_counts_and_names():
    refused = Answer(message="0/3 nodes are available: 1 Too many pods, 2 Insufficient cpu. preemption: 3 No victims.")
    assert refused.reasons() == ["Too many pods", "Insufficient cpu"]
    outright = Answer(message='0/3 nodes are available: persistentvolumeclaim "x" not found.')
    assert outright.reasons() == ["persistentvolumeclaim ... not found"]
