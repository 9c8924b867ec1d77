"""ImageLocality: prefer nodes that have the pod's images, by the size of the images and the nodes that have them."""

from __future__ import annotations

import numpy as np

from koordpy.plan.framework.plugins import Score
from koordpy.state.arrays import Ints
from koordpy.state.cluster import Cluster
from koordpy.state.nodes.columns import NodeColumns
from koordpy.state.shapes import Shape

_LEAST = 23 * 1024 * 1024  # smaller images are pulled too fast to matter
_MOST_PER_CONTAINER = 1000 * 1024 * 1024


class ImageLocality(Score):
    """An image that few nodes have counts for less: the first node that pulls it must not attract every pod."""

    name = "ImageLocality"

    def score(self, shape: Shape, cluster: Cluster, candidates: Ints) -> Ints:
        nodes = cluster.nodes
        scores = shape.remember("images", nodes.image_generation, lambda: _scores(shape, nodes))
        return scores[candidates]

    def steady(self, shape: Shape, cluster: Cluster) -> bool:  # noqa: ARG002
        """The score reads nodes only."""
        return True


def _scores(shape: Shape, nodes: NodeColumns) -> Ints:
    """`[N]`: the score of every node."""
    total = np.zeros(nodes.capacity, dtype=np.int64)
    names = [_with_tag(image) for image in (*shape.traits.images, *shape.traits.image_volumes)]
    wanted = [name for name in names if name in nodes.image_nodes]
    if not wanted:
        return total
    spread = {name: nodes.image_nodes[name] / len(nodes) for name in wanted}
    for row, images in enumerate(nodes.images):
        total[row] = sum(int(images[name] * spread[name]) for name in wanted if name in images)
    most = _MOST_PER_CONTAINER * len(shape.traits.images)
    return (np.clip(total, _LEAST, most) - _LEAST) * 100 // (most - _LEAST)


def _with_tag(image: str) -> str:
    """Nodes list images with their tags; `nginx` means `nginx:latest`."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
