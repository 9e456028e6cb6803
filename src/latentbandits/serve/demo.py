"""A simulated stream of visitors: three offers, a hidden regime that changes now and then, rewards that come late or never."""

import asyncio
import heapq
import random
import time

from latentbandits.agent.decision import Decision
from latentbandits.serve.service import Service
from latentbandits.settings import InvalidValueError
from latentbandits.store import Create, Decide, Ledger, Reward, Spec, Storage, StoreUnavailableError

NAME = "demo-offers"
ARMS = ("discount", "free-shipping", "gift")
# What each offer earns on average in each regime, which nobody is told
MEANS = {"weekday": (0.30, 0.62, 0.45), "sale": (0.70, 0.25, 0.40), "holiday": (0.20, 0.35, 0.72)}
NOISE, LOST, DELAY = 0.12, 0.08, 4.0  # of rewards: standard deviation, share that never comes, mean seconds
PER_SECOND = 8.0
STAY = 90.0  # seconds that a regime lasts on average, from now on
PAST_MINUTES, PAST_PER_MINUTE, PAST_STAY = 60, 12, 9  # an hour, with regimes of about so many minutes


class World:
    """The hidden regime, and what offers earn in it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.regime = "weekday"

    def move(self) -> None:
        """Go to another regime."""
        self.regime = self.random.choice([name for name in MEANS if name != self.regime])

    def reward(self, arm: str) -> float:
        """Return what an offer earns now."""
        return self.random.gauss(MEANS[self.regime][ARMS.index(arm)], NOISE)

    def visitor(self) -> str:
        """Return who comes."""
        return f"visitor-{self.random.randrange(100_000)}"


def past(storage: Storage, compiled: bool = True) -> None:
    """Make the experiment with an hour of its past, so that there is something to see; if it is there, nothing happens."""
    if storage.experiment(NAME) is not None:
        return
    clock = _Clock(time.time_ns() // 1000 - PAST_MINUTES * 60_000_000)
    ledger = Ledger(storage, clock, compiled=None if compiled else False)
    spec = Spec.of("state-library", ARMS, holdback=0.1, floor=0.03, window=30.0, control="discount", max_open=1000)
    ledger.call(Create(NAME, spec, "live", "demo"))
    world = World(1)
    step = 60_000_000 // PAST_PER_MINUTE
    left = PAST_STAY
    for _ in range(PAST_MINUTES):
        left -= 1
        if left < 0:
            world.move()
            left = world.random.randint(PAST_STAY - 3, PAST_STAY + 3)
        for _ in range(PAST_PER_MINUTE):
            clock.now += step // 2
            decision: Decision = ledger.call(Decide(NAME, subject=world.visitor()))
            clock.now += step - step // 2
            if world.random.random() >= LOST:
                ledger.call(Reward(NAME, decision.id, world.reward(decision.arm)))
    ledger.snapshot(NAME)


async def visitors(service: Service) -> None:
    """Let visitors come, for as long as the service runs."""
    world, loop = World(time.time_ns()), asyncio.get_running_loop()
    due: list[tuple[float, str, float]] = []
    change = loop.time() + world.random.expovariate(1 / STAY)
    while not service.stopping:
        await asyncio.sleep(world.random.expovariate(PER_SECOND))
        now = loop.time()
        if now >= change:
            world.move()
            change = now + world.random.uniform(0.5, 1.5) * STAY
        try:
            decision: Decision = await service.do(Decide(NAME, subject=world.visitor()))
            if world.random.random() >= LOST:
                wait = world.random.expovariate(1 / DELAY)
                heapq.heappush(due, (now + wait, decision.id, world.reward(decision.arm)))
            while due and due[0][0] <= now:
                _, decision_id, reward = heapq.heappop(due)
                await service.do(Reward(NAME, decision_id, reward))
        except (InvalidValueError, StoreUnavailableError):
            await asyncio.sleep(1.0)  # somebody has archived it, or the disk is full: visitors are patient


class _Clock:
    def __init__(self, now: int) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now
