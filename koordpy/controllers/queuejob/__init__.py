"""The QueueJob controller: makes the pods of QueueJobs, and makes them again.

Read `decide.py` first: it is the rules, from top to bottom, as a pure function. `effects.py` is what it can ask for,
`hands.py` carries that out, `turns.py` and `creating.py` say whose pod is created next. `names.py`, `pods.py`,
`remembered.py` and `status.py` are what they share, and `controller.py` puts them together.

A decision that changes the meaning of pods is stored in the QueueJob's status first, with the next incarnation and the
resource version as precondition. What follows from it is then read off the status and the pods, however often the
controller is killed in between. Names of pods are a function of what is stored, so nothing is made twice.

It is not written with kopf, which does not do what this controller needs (version 1.45). Its watch, when it has to list
again, does not report what was deleted meanwhile, so it is no cache that a decision over all QueueJobs can rely on. Its
merge patches have no resource version. Timers and daemons need a finalizer, under which a deletion hangs while the
controllers are down. What it writes does not pass our lease. It takes a loop or a thread of its own, which would slow
down a scheduler in the same process. `examples/crdjob` is a controller for which kopf is right.
"""
