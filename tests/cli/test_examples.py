"""The manifests in `examples/` that are no gangs: the configuration says what it promises."""

from pathlib import Path

from koordpy.app.configfile import read_settings
from koordpy.app.settings import Settings

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def test_the_example_configuration_can_be_read():
    settings, without_meaning = read_settings(str(EXAMPLES / "config.yaml"))
    assert [profile.scheduler_name for profile in settings.profiles] == ["koord-scheduler", "batch-scheduler"]
    assert without_meaning == []


def test_the_example_configuration_says_the_defaults():
    settings, _ = read_settings(str(EXAMPLES / "config.yaml"))
    defaults = Settings()
    assert (settings.gang_defaults, settings.gangs) == (defaults.gang_defaults, defaults.gangs)
    assert settings.leader_election == defaults.leader_election
    assert (settings.first_backoff_s, settings.most_backoff_s) == (defaults.first_backoff_s, defaults.most_backoff_s)
