"""Somebody else's controller: a CRDJob is so many pods of one template, and they start together or not at all.

Run it with `kopf run --all-namespaces --standalone controller.py`.
"""

import kopf
from kubernetes_asyncio import client, config

ARBITRATOR = ("arbitrator.incubator.k8s.io", "v1alpha1")


@kopf.on.startup()
async def connect(**_):
    await config.load_config()


@kopf.on.resume("batch.example.com", "v1", "crdjobs")
@kopf.on.create("batch.example.com", "v1", "crdjobs")
async def create(name, namespace, spec, **_):
    scheduling = {
        "apiVersion": "/".join(ARBITRATOR),
        "kind": "SchedulingSpec",
        "metadata": {"name": name},
        "spec": {"minAvailable": spec["replicas"]},  # the gang, in one line
    }
    pods = [{**spec["template"], "metadata": {"name": f"{name}-{index}"}} for index in range(spec["replicas"])]
    kopf.adopt([scheduling, *pods])  # the same controller ownerReference makes them one job
    async with client.ApiClient() as api:
        custom, core = client.CustomObjectsApi(api), client.CoreV1Api(api)
        await once(custom.create_namespaced_custom_object(*ARBITRATOR, namespace, "schedulingspecs", scheduling))
        for pod in pods:
            await once(core.create_namespaced_pod(namespace, pod))


async def once(creation):
    try:
        await creation
    except client.ApiException as error:
        if error.status != 409:  # it exists: an earlier attempt has made it
            raise kopf.TemporaryError(error.reason, delay=5) from None
