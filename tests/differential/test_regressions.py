"""Cases on which koordpy once disagreed with kube-scheduler, with the answer that kube-scheduler gave."""

from pathlib import Path

import pytest

from tests.differential.features import ENABLED
from tests.differential.judge import judge
from tests.differential.recording import Recording

RECORDINGS = {path.stem: Recording(path) for path in sorted((Path(__file__).parent / "regressions").glob("*.yaml"))}


@pytest.mark.parametrize("name", [name for name, recording in RECORDINGS.items() if recording.features <= ENABLED])
def test_koordpy_says_what_kube_scheduler_said(name: str):
    recording = RECORDINGS[name]
    assert judge(recording.answer, recording.surroundings, recording.incoming).found == []
