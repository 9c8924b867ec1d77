"""End-to-end tests: the image and the chart on a real cluster, with pods that run. `make e2e`; see docs/install.md.

`cluster/` finds or makes the cluster, `stories/` is the suite. Nothing here is imported by koordpy or by its tests.
"""
