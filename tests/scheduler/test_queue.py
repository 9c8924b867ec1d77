"""The queue: who is next, who sleeps, who is woken by what."""

from koordpy import metrics
from koordpy.plan.framework.answers import Refusal
from koordpy.scheduler.queue.queue import JobQueue
from koordpy.scheduler.queue.ticket import Equivalence, State
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from tests.builders import pod

FREED = EventKind.ROOM_FREED


def refusal(wake_on):
    return Refusal("no room", wake_on, "")


class Bench:
    """A queue with hand-turned clocks and shapes to choose from."""

    def __init__(self, order=None):
        self.now = 1000.0
        self.queue = JobQueue(clock=lambda: self.now, wall=lambda: self.now, order=order)
        cluster = Cluster()
        self.small, self.large = (cluster.upsert_pod(pod(cpu=cpu)).shape for cpu in (1, 2))

    def add(self, key, *, priority=0, created=0.0, shape=None, queue=""):
        equivalence = Equivalence(((shape or self.small, 1),), "", queue=queue)
        self.queue.add(key, equivalence, name=key, priority=priority, created=created)

    def add_unschedulable(self, key, wake_on=FREED):
        ticket = self.queue.pop()
        assert ticket is not None
        assert ticket.key == key
        self.queue.add_unschedulable(ticket, refusal(wake_on))
        return ticket

    def room_for(self, *shapes, change=FREED):
        self.queue.wake(change, lambda wants, _: wants[0][0] in shapes)

    def order(self):
        keys = []
        while (ticket := self.queue.pop()) is not None:
            keys.append(ticket.key)
        return keys


def test_higher_priority_first_then_older_then_by_name():
    bench = Bench()
    bench.add("young", created=2)
    bench.add("b", created=1)
    bench.add("a", created=1)
    bench.add("urgent", priority=10, created=9)
    assert bench.order() == ["urgent", "a", "b", "young"]


def test_a_job_that_failed_goes_behind_those_that_have_waited_less_but_never_failed():
    bench = Bench()
    bench.add("big", created=1)
    bench.add_unschedulable("big")
    bench.add("later", created=999)
    bench.room_for(bench.small)
    assert bench.order() == ["later", "big"]


def test_a_parked_job_sleeps_until_its_cure_happens():
    bench = Bench()
    bench.add("a")
    bench.add_unschedulable("a", wake_on=FREED)
    bench.now += 10_000
    bench.room_for(bench.small, change=EventKind.NODE_GREW)
    assert bench.order() == []
    bench.room_for(bench.small)
    assert bench.order() == ["a"]


def test_a_cure_without_room_for_the_shape_wakes_nobody():
    bench = Bench()
    bench.add("a", shape=bench.large)
    bench.add_unschedulable("a")
    bench.room_for(bench.small)
    assert bench.order() == []


def test_one_scout_is_woken_per_shape_and_its_success_wakes_the_next():
    bench = Bench()
    for key in ("a", "b", "c"):
        bench.add(key)
    for key in ("a", "b", "c"):
        bench.add_unschedulable(key)
    bench.room_for(bench.small)
    scout = bench.queue.pop()
    assert bench.queue.pop() is None
    bench.queue.done(scout)
    assert bench.queue.pop().key == "b"


def test_a_refused_scout_leaves_the_others_asleep():
    bench = Bench()
    bench.add("a")
    bench.add("b")
    bench.add_unschedulable("a")
    bench.add_unschedulable("b")
    bench.room_for(bench.small)
    bench.add_unschedulable("a")
    assert bench.order() == []


def test_a_scout_that_is_deleted_passes_the_news_on():
    bench = Bench()
    bench.add("a")
    bench.add("b")
    bench.add_unschedulable("a")
    bench.add_unschedulable("b")
    bench.room_for(bench.small)
    bench.queue.remove("a")
    assert bench.order() == ["b"]


def test_the_newest_refusal_of_a_shape_says_what_cures_all_of_it():
    """`a` first waited for a node, like `b`; when it is refused again for want of room, so would `b` be."""
    bench = Bench()
    bench.add("a")
    bench.add("b")
    bench.add_unschedulable("a", wake_on=EventKind.NODE_ADDED)
    bench.add_unschedulable("b", wake_on=EventKind.NODE_ADDED)
    bench.room_for(bench.small, change=EventKind.NODE_ADDED)
    bench.add_unschedulable("a", wake_on=EventKind.NODE_ADDED | FREED)
    bench.room_for(bench.small, change=FREED)
    assert bench.order() == ["b"]


def test_a_cure_cuts_a_back_off_short_but_only_once():
    bench = Bench()
    bench.add("a")
    bench.add_unschedulable("a")
    bench.room_for(bench.small)
    bench.add_unschedulable("a")
    bench.room_for(bench.small)
    assert bench.order() == []
    assert bench.queue.seconds_to_next() == 1.0
    bench.now += 1.0
    assert bench.order() == ["a"]


def test_later_news_is_tried_a_second_after_the_last_refusal_however_long_the_back_off():
    bench = Bench()
    bench.add("a")
    for _ in range(4):
        bench.add_unschedulable("a")
        bench.now += 8.0
        bench.room_for(bench.small)
    bench.add_unschedulable("a")  # backs off for ten seconds
    bench.room_for(bench.small)
    bench.add_unschedulable("a")  # the early wake-up was a false hope
    bench.now += 0.25
    bench.room_for(bench.small)
    assert bench.queue.seconds_to_next() == 0.75


def test_trying_after_the_success_of_another_does_not_use_up_the_early_wake():
    """`b` is tried because `a` was placed and finds no room; the next room that is freed is still news to it."""
    bench = Bench()
    bench.add("a")
    bench.add("b")
    bench.add_unschedulable("a")
    bench.add_unschedulable("b")
    bench.room_for(bench.small)
    bench.queue.done(bench.queue.pop())
    bench.add_unschedulable("b")
    bench.room_for(bench.small)
    assert bench.order() == ["b"]


def test_errors_back_off_from_one_to_ten_seconds():
    bench = Bench()
    bench.add("a")
    delays = []
    for _ in range(6):
        bench.queue.retry(bench.queue.pop())
        delays.append(bench.queue.seconds_to_next())
        bench.now += delays[-1]
    assert delays == [1, 2, 4, 8, 10, 10]


def test_adding_the_same_job_again_does_not_wake_it():
    bench = Bench()
    bench.add("a")
    bench.add_unschedulable("a")
    bench.add("a")
    assert bench.order() == []


def test_a_job_that_asks_for_something_else_is_tried_at_once():
    bench = Bench()
    bench.add("a", shape=bench.large)
    bench.add_unschedulable("a")
    bench.add("a", shape=bench.small)
    assert bench.order() == ["a"]


def test_a_job_removed_while_it_is_planned_does_not_come_back():
    bench = Bench()
    bench.add("a")
    ticket = bench.queue.pop()
    bench.queue.remove("a")
    bench.queue.add_unschedulable(ticket, refusal(FREED))
    bench.room_for(bench.small)
    assert bench.order() == []


def test_a_bind_that_failed_returns_the_job():
    bench = Bench()
    bench.add("a")
    ticket = bench.queue.pop()
    bench.queue.done(ticket)
    bench.queue.retry(ticket)
    bench.now += 1.0
    assert bench.order() == ["a"]


def test_counts_tell_where_the_jobs_are():
    bench = Bench()
    for key in ("a", "b", "c"):
        bench.add(key)
    bench.add_unschedulable("a")
    bench.queue.retry(bench.queue.pop())
    counts = bench.queue.counts()
    assert (counts[State.ACTIVE], counts[State.BACKOFF], counts[State.UNSCHEDULABLE]) == (1, 1, 1)


def test_a_job_is_tried_at_once_when_what_it_waited_for_has_happened_whatever_its_back_off():
    bench = Bench()
    bench.add("a")
    bench.add_unschedulable("a")
    bench.room_for(bench.small)
    bench.add_unschedulable("a")  # woken in vain: from now on news have to wait
    bench.room_for(bench.small)
    assert bench.queue.pop() is None
    bench.queue.activate_now("a")
    assert bench.order() == ["a"]


def test_trying_now_wakes_a_parked_job_and_nobody_who_is_not_there():
    bench = Bench()
    bench.add("a")
    bench.add_unschedulable("a")
    bench.queue.activate_now("gone")
    assert bench.queue.pop() is None
    bench.queue.activate_now("a")
    assert bench.order() == ["a"]


def test_those_right_behind_a_ticket_are_popped_with_it_as_long_as_they_are_like_it():
    bench = Bench()
    for number, shape in enumerate((bench.small, bench.small, bench.small, bench.large, bench.small)):
        bench.add(f"p{number}", created=number, shape=shape)
    first = bench.queue.pop()
    assert [ticket.key for ticket in bench.queue.pop_equivalent(first, 10)] == ["p1", "p2"]
    assert bench.order() == ["p3", "p4"]


def test_those_behind_of_another_priority_are_not_popped_with_it():
    bench = Bench()
    bench.add("high", priority=1)
    bench.add("low")
    assert bench.queue.pop_equivalent(bench.queue.pop(), 10) == []
    assert bench.order() == ["low"]


def test_no_more_are_popped_than_asked_for_and_nobody_who_is_gone():
    bench = Bench()
    for number in range(5):
        bench.add(f"p{number}", created=number)
    first = bench.queue.pop()
    bench.queue.remove("p1")
    assert [ticket.key for ticket in bench.queue.pop_equivalent(first, 2)] == ["p2", "p3"]


def test_whoever_is_put_back_has_its_place_again():
    bench = Bench()
    for number in range(3):
        bench.add(f"p{number}", created=number)
    for ticket in reversed(bench.queue.pop_equivalent(bench.queue.pop(), 10)):
        bench.queue.put_back(ticket)
    assert bench.order() == ["p1", "p2"]


def test_a_popped_ticket_is_overtaken_by_whoever_would_have_been_popped_before_it():
    bench = Bench()
    bench.add("first", created=1)
    bench.add("second", created=2)
    _, second = bench.queue.pop(), bench.queue.pop()
    bench.add("later", created=3)
    assert not bench.queue.is_overtaken(second)
    bench.add("urgent", priority=1, created=9)
    assert bench.queue.is_overtaken(second)
    bench.queue.remove("urgent")
    assert not bench.queue.is_overtaken(second)


def test_room_is_asked_for_by_the_priority_of_a_job_that_really_waits():
    """The first entry of a heap may be void: its job has left, and had another priority."""
    bench = Bench()
    for key, priority in (("low", 0), ("high", 100)):
        bench.add(key, priority=priority)
    bench.add_unschedulable("high")
    bench.add_unschedulable("low")
    bench.queue.remove("high")
    bench.add("high", priority=-1)  # lowered, and active: its old entry stays in the heap of the class
    asked = []
    bench.queue.wake(FREED, lambda _, preemptor: asked.append(preemptor.priority) or False)
    assert asked == [0]


def test_a_job_of_another_class_goes_on_waiting_for_the_same_events():
    bench = Bench()
    bench.add("a")
    bench.add_unschedulable("a", wake_on=EventKind.NODE_ADDED)
    bench.queue.reclassify("a", Equivalence(((bench.large, 1),), ""))
    assert bench.order() == []  # nothing that could help it has happened
    bench.room_for(bench.large, change=EventKind.NODE_ADDED)
    assert bench.order() == ["a"]


def test_the_last_refusal_stays_with_the_ticket():
    bench = Bench()
    bench.add("a")
    bench.add_unschedulable("a")
    assert bench.queue.get("a").refusal == refusal(FREED)


class Alternating:
    """An order above priority: whoever was not served last."""

    def __init__(self):
        self.last = ""

    def next_queue(self, heads):
        self.last = next((queue for queue in sorted(heads) if queue != self.last), self.last)
        return self.last

    def turn_length(self, queue):
        return 1


def test_whose_turn_it_is_among_queues_is_up_to_the_order_and_inside_a_queue_up_to_priority():
    bench = Bench(order=Alternating())
    for queue, priority in (("a", 1), ("a", 2), ("b", 0), ("b", 9)):
        bench.add(f"{queue}{priority}", priority=priority, queue=queue)
    assert bench.order() == ["a2", "b9", "a1", "b0"]


def test_equivalent_jobs_are_planned_together_only_for_as_long_as_it_is_their_turn():
    bench = Bench(order=Alternating())
    for number in range(3):
        bench.add(f"a{number}", queue="a")
    assert bench.queue.pop_equivalent(bench.queue.pop(), 10) == []


def test_how_often_pods_enter_a_queue_is_counted_in_pods():
    bench = Bench()
    before = metrics.incoming_pods("active", "GangChange")._value.get()
    bench.queue.update("gang", priority=0, created=0.0, pods=7, ready=True)
    assert metrics.incoming_pods("active", "GangChange")._value.get() == before + 7


def test_an_old_refusal_is_made_anew_and_the_job_keeps_its_place():
    bench = Bench()
    bench.add("a", created=1)
    ticket = bench.add_unschedulable("a")
    since = ticket.since
    bench.now += 100
    assert bench.queue.renew("a", older_than_s=60.0)
    bench.add_unschedulable("a")
    assert (ticket.since, ticket.flushed) == (since, False)


def test_a_refusal_that_is_not_old_is_left_alone():
    bench = Bench()
    bench.add("a")
    ticket = bench.add_unschedulable("a")
    bench.now += 60
    assert not bench.queue.renew("a", older_than_s=60.0)
    assert not bench.queue.renew("unknown", older_than_s=0.0)
    assert ticket.state is State.UNSCHEDULABLE
