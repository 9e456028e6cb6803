"""The picture at the top of the README is the run that its command plays, and shows what its caption claims."""

import numpy as np
from website import picture

from tests.test_problems_docs import ROOT, same


def test_it_is_what_the_command_draws_and_needs_nothing() -> None:
    """If it changed on purpose: `python -m website.picture`."""
    stored = picture.PICTURE.read_bytes()
    assert same(stored, picture.picture())
    assert len(stored) < 150_000
    assert "](docs/run.svg)" in (ROOT / "README.md").read_text()


def test_its_caption_is_true() -> None:
    hidden = picture.conditions()
    best = np.array([int(np.argmax(picture.MEANS[name])) for name in hidden])
    runs = {policy: picture.play(policy, hidden) for policy in ("state-library", "ts")}
    shares = {policy: np.mean(np.array(run.arms) == best) for policy, run in runs.items()}
    assert shares["state-library"] > 0.9 > 0.6 > shares["ts"]
    assert runs["ts"].regret[-1] > 10 * runs["state-library"].regret[-1]
