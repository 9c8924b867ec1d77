"""The PodGrouper: makes a PodGroup of `scheduling.run.ai` of each workload, and tells its pods.

`pods.py` knows the pods and `owners.py` their owners; `chain.py` finds the owner by which a pod is grouped; `kinds/`
say what its gang needs, one file for each kind; `podgroups.py` says what the PodGroup has to be like, and `writer.py`
writes it. `reconciler.py` is the story.
"""
