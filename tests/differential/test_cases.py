"""The generator: the same seed is the same case."""

from tests.differential.cases import PODS_PER_SCENE, case_of, scene
from tests.differential.features import ENABLED


def test_the_same_seed_gives_the_same_case():
    assert scene(7) == scene(7)
    assert case_of(scene(7), 30) == case_of(scene(7), 30)


def test_the_pods_of_a_scene_have_the_seeds_that_lead_back_to_it():
    assert {case.seed // PODS_PER_SCENE for case in scene(7).cases()} == {7}


def test_a_feature_that_is_switched_off_is_in_no_case():
    enabled = ENABLED - {"host-ports"}
    cases = [case for number in range(50) for case in scene(number, enabled).cases()]
    pods = [pod for case in cases for pod in (case.incoming, *case.scene.pods)]
    assert not any("ports" in container for pod in pods for container in pod["spec"]["containers"])
