"""`/readyz` says what is wrong, check by check, in the format of Kubernetes' own health endpoints."""

from koordpy.server.health import Health

PASSES = {"watch-pods": lambda: "", "leader-election": lambda: ""}
FAILS = {"watch-pods": lambda: "not synced yet", "leader-election": lambda: ""}


def test_a_process_whose_checks_all_pass_is_ready():
    assert Health(lambda: PASSES).report(verbose=False) == (True, "ok")


def test_a_check_that_fails_is_named_with_its_reason_beside_those_that_pass():
    assert Health(lambda: FAILS).report(verbose=False) == (
        False,
        "[-]watch-pods failed: not synced yet\n[+]leader-election ok\n[+]shutdown ok\nreadyz check failed\n",
    )


def test_the_verbose_report_lists_checks_that_pass():
    assert Health(lambda: PASSES).report(verbose=True) == (
        True,
        "[+]watch-pods ok\n[+]leader-election ok\n[+]shutdown ok\nreadyz check passed\n",
    )


def test_a_process_that_shuts_down_is_not_ready():
    health = Health(lambda: PASSES)
    health.shut_down()
    ready, text = health.report(verbose=False)
    assert not ready
    assert "[-]shutdown failed: shutting down\n" in text


def test_checks_are_asked_each_time():
    problem = "not synced yet"
    health = Health(lambda: {"watch-pods": lambda: problem})
    assert not health.report(verbose=False)[0]
    problem = ""
    assert health.report(verbose=False)[0]
