from koordpy.api.pod import Pod
from koordpy.plan.scores.image_locality import ImageLocality
from tests.builders import node, pod, pod_json, typed, with_identity
from tests.plan.asking import cluster_of, scores

MB = 2**20
IMAGE = "example.com/app:1"


def test_a_node_that_has_the_image_is_better_and_the_largest_images_count_fully():
    cluster = cluster_of(node("has", images={IMAGE: 1000 * MB}))
    assert scores(ImageLocality(), pod(image=IMAGE), cluster) == {"has": 100}


def test_an_image_that_few_nodes_have_counts_for_less():
    cluster = cluster_of(node("has", images={IMAGE: 1000 * MB}), *(node(f"n{i}") for i in range(3)))
    assert scores(ImageLocality(), pod(image=IMAGE), cluster)["has"] == 100 * (250 - 23) // (1000 - 23)


def test_small_images_count_for_nothing():
    assert scores(ImageLocality(), pod(image=IMAGE), cluster_of(node(images={IMAGE: 23 * MB}))) == {"n1": 0}


def test_a_name_without_a_tag_means_the_latest():
    cluster = cluster_of(node("has", images={"host:5000/app:latest": 5000 * MB}))
    assert scores(ImageLocality(), pod(image="host:5000/app"), cluster) == {"has": 100}


def test_each_container_can_add_a_gigabyte_and_init_containers_count():
    body = with_identity(pod_json(image=IMAGE))
    body["spec"]["initContainers"] = [{"name": "init", "image": "example.com/other:1"}]
    cluster = cluster_of(node(images={IMAGE: 1000 * MB}))
    assert scores(ImageLocality(), typed(body, Pod), cluster) == {"n1": 100 * (1000 - 23) // (2000 - 23)}


def test_an_image_that_is_removed_counts_no_more():
    cluster = cluster_of(node("has", images={IMAGE: 1000 * MB}))
    scores(ImageLocality(), pod(image=IMAGE), cluster)
    cluster.upsert_node(node("has"))
    assert scores(ImageLocality(), pod(image=IMAGE), cluster) == {"has": 0}
