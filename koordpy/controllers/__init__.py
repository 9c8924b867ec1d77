"""Controllers: what is kept true in the API beside scheduling: the status of PodGroups and of the network topology.

They stand on our own reflector and not on kopf. Measured on two cores with the embedded API, 1,000 PodGroups listed and
3,000 changes of them cost 1.35 s of CPU and 92 MB with `kopf.on.event`, 0.03 s and 44 MB with the reflector; with 5,000
pods listed and changed once it was 6.8 s and 171 MB against 0.13 s and 48 MB. What kopf would save here is noticing
definitions that are installed later, which the reflector does as well; and it could not run beside the scheduler
(`koordpy run --with-controllers`), as it takes the signals and cancels the tasks of its loop.

Nothing here schedules, and nothing is written but `status` and events: no annotations, no finalizers.
"""
