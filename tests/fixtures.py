"""What must never change: every policy's regret in four worlds, and a saved agent of it with what it chose next.

``python -m tests.fixtures`` writes what is missing, for new policies; ``python -m tests.fixtures --all`` all saved agents again.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import latentbandits as lb
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import Oracle, Policy

FOLDER = Path(__file__).parent / "golden" / "agents" / "1"  # the version of the files
CHOICES = FOLDER / "choices.json"
ROUNDS, MORE = 300, 100
ARMS = "0123"
LEVELS = {3: (0.2, 0.5, 0.8), 4: (0.2, 0.5, 0.8, 0.6)}
UNGROWN = ("ab-test", "bayes-filter", "planning-filter")  # policies that take no new arm
REGRET = FOLDER.parents[1] / "regret.json"
WORLDS = {
    "default": lb.HiddenMarkov(),
    "noisy, three arms": lb.HiddenMarkov(arms=3, noise=0.5, stickiness=0.8),
    "clicks": lb.HiddenMarkov(rewards="bernoulli", states=3),
    "memory": lb.HiddenMarkov(carryover=0.3, states=3),
}


def regret(world: lb.HiddenMarkov, names: list[str]) -> dict[str, list[float]]:
    """Return the regret of some policies in two runs."""
    results = lb.simulate(world, names, horizon=500, draws=2, repeats=1, seed=7)
    return {label: results.regret[i].tolist() for i, label in enumerate(results.labels)}


def policies() -> dict[str, Policy]:
    """Return the registered policies for three arms, small where they can be, and those that take the world as settings."""
    small = {"state-library": {"states": 8}}
    made = {name: lb.policy(name, arms=3, **small.get(name, {})) for name in REGISTRY}
    known = ([[0.9, 0.1], [0.1, 0.9]], [[0.2, 0.5, 0.8], [0.7, 0.5, 0.1]], [0.5, 0.5])
    made["bayes-filter"], made["planning-filter"] = lb.policies.BayesFilter(*known), lb.policies.PlanningFilter(*known)
    made["scripted"] = lb.policies.Scripted(arms=3, script=[0, 2, 1, 1])
    return {name: policy for name, policy in made.items() if not isinstance(policy, Oracle)}


def rewards(number: int, arms: Iterable[int], levels: tuple[float, ...]) -> list[float]:
    """Return rewards that depend on the decision's number and arms alone: two states take turns, with a little noise."""
    return [
        levels[arm if number // 40 % 2 else -1 - arm] + 0.01 * ((7 * number + 3 * group + arm) % 11 - 5)
        for group, arm in enumerate(arms)
    ]


def played(agent: lb.Agent, numbers: range) -> Iterator[str]:
    """Let an agent play on, with decisions that have these numbers; the rewards of every fifth arrive one round late."""
    names = [*agent.arms, *agent.retired]
    levels = LEVELS[len(names)]
    late: list[tuple[str, list[float]]] = []
    for number in numbers:
        decision = agent.ask()
        for waiting in late:
            agent.tell(*waiting)
        late = [(decision.id, rewards(number, map(ARMS.index, map(str, decision.arms)), levels))]
        if number % 5:
            agent.tell(*late.pop())
        yield "".join(map(str, decision.arms))


def write(name: str, policy: Policy) -> str:
    """Write one fixture, with everything that a file can hold, and return what the agent chose after it."""
    fixed = policy.fixed_arms
    floor = 0.1 if policy.groups == 1 and not fixed else 0.0
    agent = lb.Agent(policy, arms=list(ARMS[: policy.arms]), seed=len(name), floor=floor, compiled=False)
    list(played(agent, range(ROUNDS - 100)))
    if not fixed and name not in UNGROWN:
        agent.add(ARMS[policy.arms])
        list(played(agent, range(ROUNDS - 100, ROUNDS - 50)))
        agent.retire(ARMS[0])
    list(played(agent, range(ROUNDS - 50, ROUNDS)))
    agent.ask()
    agent.save(FOLDER / f"{name}.agent")
    return " ".join(played(agent, range(ROUNDS + 1, ROUNDS + 1 + MORE)))


def write_regret() -> None:
    """Write the regret of policies that have none yet; what is there is never written again."""
    known = json.loads(REGRET.read_text())
    for name, world in WORLDS.items():
        missing = [policy for policy in REGISTRY if policy not in known[name]]
        if missing:
            known[name] |= regret(world, missing)
            print(f"regret in world {name!r}: wrote {', '.join(missing)}")
    REGRET.write_text(json.dumps(known, indent=1) + "\n")


def main() -> None:
    """Write fixtures."""
    write_regret()
    FOLDER.mkdir(parents=True, exist_ok=True)
    chosen = {} if "--all" in sys.argv[1:] or not CHOICES.exists() else json.loads(CHOICES.read_text())
    for name, policy in policies().items():
        if name not in chosen:
            chosen[name] = write(name, policy)
            print(f"wrote {name}")
    rows = ",\n".join(f'"{name}": {json.dumps(chosen[name])}' for name in sorted(chosen))
    CHOICES.write_text("{\n" + rows + "\n}\n")


if __name__ == "__main__":
    main()
