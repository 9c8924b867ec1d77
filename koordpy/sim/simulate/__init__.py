"""The whole system in one process on virtual time: one seed is one world, and one history that can be played again.

Schedulers and controllers run their real code on the embedded API, through a network that fails in every way a real one
does; users, kubelets and another scheduler do what they do. Only transport, clock and chance are injected. What must
never happen is judged from the API's truth alone. Nothing here may ask the real clock, or chance that has no seed.
"""
