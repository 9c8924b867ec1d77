"""The journal: what a scheduler heard, when it went on, what it was answered and what it decided; and its replay.

A file of the journal begins with everything that the scheduler knows, and a scheduler that is built anew from that. So
each file can be replayed by itself. What is asynchronous comes down to an order: which task went on when. The order is
in the journal, and a replay needs neither time nor network.
"""
