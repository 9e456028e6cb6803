"""The policies whose names end in -stated against Algorithms 1 to 5 of the paper, written down line by line for two arms."""

from collections.abc import Generator, Sequence

import numpy as np
import pytest

import latentbandits as lb

Play = tuple[int, ...]  # the arm of each group
ROUNDS, NOISE, RIDGE = 600, 0.05, 0.1  # the text leaves the ridge open, and alpha and tau below


class LinUCB:
    """The model of one arm."""

    def __init__(self, features: int, alpha: float) -> None:
        self.alpha, self.precision, self.b = alpha, RIDGE * np.eye(features), np.zeros(features)

    def predict(self, phi: np.ndarray) -> tuple[float, float]:
        return float(phi @ np.linalg.solve(self.precision, self.b)), float(phi @ np.linalg.solve(self.precision, phi))

    def ucb(self, phi: np.ndarray) -> float:
        mean, variance = self.predict(phi)
        return mean + self.alpha * float(np.sqrt(variance))

    def update(self, phi: np.ndarray, reward: float) -> None:
        self.precision += np.outer(phi, phi)
        self.b += reward * phi


def algorithm(name: str, alpha: float, tau: int = 0) -> Generator[Play, Sequence[float], None]:
    """Yield the arms of each round, and be sent their rewards; tau is 0 where gates decide."""
    together, sequential = name in ("rp-ucb", "adarp-ucb"), name in ("sp-ucb", "adasp-ucb")
    models = [LinUCB(2 if name == "lc-ucb" else 4, alpha) for _ in range(2)]
    fingerprint, a, r, previous = [0.0, 0.0], 0, 0.0, np.zeros(len(models[0].b))
    t_probe = probe_arm = 0
    probing = False  # within a sequential probe
    for t in range(1, 10**9):
        phi = np.array([float(a), r] if name == "lc-ucb" else [*fingerprint, float(a), r])
        scores = [model.ucb(phi) for model in models]
        mean, variance = models[a].predict(previous)
        z = (r - mean) / (variance + NOISE**2) ** 0.5
        gates = abs(z) >= 2 or abs(scores[0] - scores[1]) <= 0.05 or 1 - np.exp(-0.1 * (t - t_probe)) >= 0.5
        gates &= t - t_probe >= 2
        if name == "lc-ucb":
            probe = False
        elif together:
            probe = t % tau == 0 if tau else gates
            t_probe = t if probe else t_probe
        elif tau:
            probe, probe_arm = t % tau in (0, 1), t % tau
        else:
            if not probing and gates:
                probing, probe_arm, t_probe = True, 0, t
            probe = probing
        best = int(np.argmax(scores))
        arms = (0, 1) if together and probe else (best, best) if together else (probe_arm if probe else best,)
        rewards = yield arms
        for arm, reward in zip(arms, rewards, strict=True):
            models[arm].update(phi, reward)
        if together and probe:
            fingerprint = list(rewards)
        elif sequential and probe and arms == (1,):
            fingerprint, probing = [r, rewards[0]], False
        probe_arm += 1
        previous = phi
        a, r = arms[int(probe and together and rewards[1] > rewards[0])], float(np.mean(rewards))
        r = max(rewards) if probe and together else r


@pytest.mark.parametrize("stickiness", [0.5, 0.95])
@pytest.mark.parametrize(
    ("name", "alpha", "tau"),
    [("lc-ucb", 1.0, 0), ("rp-ucb", 0.5, 10), ("sp-ucb", 0.5, 40), ("adarp-ucb", 0.5, 0), ("adasp-ucb", 0.5, 0)],
)
def test_the_text_is_played(name: str, alpha: float, tau: int, stickiness: float) -> None:
    world = lb.HiddenMarkov(states=4, stickiness=stickiness, noise=NOISE)
    spec = f"{name}-stated" + ("" if tau or name == "lc-ucb" else f":residual_floor={NOISE}")
    agent, paper = lb.Agent(spec, compiled=False), algorithm(name, alpha, tau)
    groups = agent.policy.groups
    truth = world.realise(ROUNDS, groups, seed=0, draw=0, repeat=0).rewards
    wanted = next(paper)
    for t in range(ROUNDS):
        decision = agent.ask()
        assert decision.arms == wanted, t
        rewards = [float(truth[t, group, arm]) for group, arm in enumerate(wanted)]
        agent.tell(decision, rewards)
        wanted = paper.send(rewards)
