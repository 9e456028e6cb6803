"""The durable core: what is answered is stored, what is stored is what was answered, and nothing else ever happens."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.agent.events import KINDS
from latentbandits.settings import InvalidValueError
from latentbandits.store import (
    Censor,
    Change,
    ClosedError,
    ConflictError,
    Create,
    Decide,
    Expire,
    FencedError,
    Group,
    Reward,
    Spec,
)
from tests.stores import Case, played

Make = Callable[..., Case]


@pytest.mark.parametrize("policy", ["state-library", "ts", "exp3", "adasp-ucb", "scaled(ucb1)"])
def test_a_store_opened_again_goes_on_exactly(make: Make, policy: str) -> None:
    settings: dict[str, Any] = {"floor": 0.1, "holdback": 0.1, "control": "b"} if policy != "adasp-ucb" else {}
    case = make(policy, **settings)
    played(case, 30)
    case.ledger.call(Change("e", "add", {"arm": "d"}))
    case.ledger.call(Change("e", "retire", {"arm": "a" if settings else "c"}))
    played(case, 10)
    live = case.ledger.digest("e")
    case.again()  # from the log alone
    assert case.ledger.digest("e") == live == case.repeated()
    case.ledger.snapshot("e")
    played(case, 5)
    live = case.ledger.digest("e")
    case.again()  # from a snapshot and the log after it
    assert case.ledger.view("e").snapshot > 0
    assert case.ledger.digest("e") == live == case.repeated()


@pytest.mark.parametrize("status", ["shadow", "frozen", "killed"])
def test_every_status_is_repeated_exactly(make: Make, status: str) -> None:
    case = make("state-library", control="b")
    waiting = played(case, 12)[0]
    memory = case.ledger.state("e", lambda state: state.player.memory.core.copy())
    case.ledger.call(Change("e", "status", {"status": status}, actor="ann"))
    decisions = played(case, 12)
    assert case.tell(waiting, 0.5) == "accepted"
    told = case.ledger.state("e", lambda state: state.learned)
    # mutation: `_end` that learns whatever the status is
    assert told == (9 + 9 + 1 if status == "shadow" else 9)
    if status in ("shadow", "killed"):
        assert {(one.arm, one.by, one.probability) for one in decisions} == {("b", "control", 1.0)}
    if status == "killed":  # the policy was not even asked
        assert (case.ledger.state("e", lambda state: state.player.memory.core.copy()) == memory).all()
    if status == "shadow":
        event = case.ledger.storage.story(1, decisions[0].id)[0]
        assert event.payload["policy"] in ("a", "b", "c")
    live = case.ledger.digest("e")
    case.again()
    assert case.ledger.digest("e") == live == case.repeated()
    assert case.ledger.storage.changes(1)[-1].actor == "ann"


@pytest.mark.parametrize(("policy", "sizes"), [("state-library", (1, 3, 17, 64, 5)), ("exp3", (512, 1, 512, 2, 300))])
def test_shuffled_arrivals_in_groups_of_any_size_are_repeated_exactly(
    make: Make, policy: str, sizes: tuple[int, ...]
) -> None:
    """The order of the log is the order of memory (mutation: number the events of a group by their kind)."""
    case = make(policy, floor=0.2)
    random, waiting = np.random.default_rng(3), list[str]()
    for size in sizes:
        random.shuffle(waiting)
        told = [waiting.pop() for _ in range(min(len(waiting), size))]
        wanted: list[Any] = [Decide("e") for _ in range(size)] + [Reward("e", one, random.random()) for one in told]
        random.shuffle(wanted)
        for answer in case.ledger.run(wanted):
            if isinstance(answer, lb.Decision):
                waiting.append(answer.id)
            else:
                assert answer == "accepted"
    assert case.ledger.digest("e") == case.repeated()


def test_a_reward_is_learned_once(case: Case) -> None:
    """Mutation: leave out the look into the store for decisions that are not open, or the dictionary of those that end within a group."""
    decision = case.decide()
    answers = case.ledger.run([Reward("e", decision.id, 1.0)] * 64)
    assert answers == ["accepted"] + ["duplicate"] * 63
    assert case.tell(decision, 1) == "duplicate"
    with pytest.raises(
        ConflictError, match=r"rewards is 0\.0 but must be 1\.0, as they were told for this decision before"
    ):
        case.tell(decision, 0.0)
    assert case.kinds()[2:] == ["decide", "reward"]
    view = case.ledger.view("e")
    assert (view.counts["rewarded"], view.counts["duplicates"], view.counts["conflicts"]) == (1, 64, 1)
    assert case.ledger.state("e", lambda state: state.learned) == 1


def test_the_store_itself_refuses_a_second_end(case: Case) -> None:
    """Whatever the memory says (mutation: drop the index `event_about`)."""
    decision = case.decide()
    storage = case.ledger.storage
    row = storage.experiment("e")
    assert row is not None
    story = storage.story(1, decision.id)
    case.tell(decision, 1.0)
    again = story[0]._replace(seq=row.head + 2, kind="censor")
    with pytest.raises(FencedError):
        storage.append([Group(1, row.epoch, row.head + 1, [again])])
    assert case.kinds() == ["create", "status", "decide", "reward"]


def test_a_key_is_one_decision(case: Case) -> None:
    wanted = Decide("e", subject="v", idempotency_key="k")
    first, again = case.ledger.run([wanted, wanted])
    assert again == first
    case.tell(first, 0.5)
    case.ledger.call(Change("e", "retire", {"arm": "c"}))
    case.again()
    assert case.ledger.call(wanted) == again
    assert case.kinds().count("decide") == 1
    with pytest.raises(ConflictError, match="key is 'k' but must be new, or sent with the same request as before"):
        case.ledger.call(wanted._replace(subject="w"))
    for bad in ("", "x" * 201, "\ud800", 7):
        with pytest.raises(InvalidValueError, match="key is"):
            case.ledger.call(Decide("e", idempotency_key=bad))  # type: ignore[arg-type]
    assert case.kinds().count("decide") == 1


@pytest.mark.parametrize("default", [None, 0.25])
def test_a_window_ends_decisions(make: Make, default: float | None) -> None:
    """By an event, with the default value or without one (mutation: read "not yet" as zero)."""
    case = make(window=60, default=default)
    early, told = case.decide(), case.decide()
    case.tell(told, 1.0)
    case.clock.move(59.9)
    later = case.decide()
    assert case.ledger.due() == []
    case.clock.move(0.2)
    assert case.ledger.due() == ["e"]
    assert case.ledger.call(Expire("e")) == 2
    end = case.ledger.storage.story(1, early.id)[-1]
    assert (end.kind, end.value) == (("expire", 0.25) if default else ("censor", None))
    sums = case.ledger.state("e", lambda state: state.player.memory.sums.sum())
    assert sums == 1.0 + (default or 0.0)
    # mutation: learn a late reward
    assert [case.tell(early, 1.0), case.tell(early, 1.0)] == ["late", "duplicate"]
    with pytest.raises(ConflictError):
        case.tell(early, 2.0)
    assert case.ledger.state("e", lambda state: state.player.memory.sums.sum()) == sums
    case.clock.move(60)
    assert case.tell(later, 1.0) == "late"  # the window is over, whether or not anybody has looked
    assert case.ledger.view("e").counts["late"] == 2
    live = case.ledger.digest("e")
    case.again()
    assert case.ledger.digest("e") == live == case.repeated()


def test_a_clock_that_is_set_back_changes_no_order(make: Make) -> None:
    case = make(window=7200)
    first = case.decide()
    case.clock.move(-3600)
    second = case.decide()
    case.again()
    third = case.decide()
    case.tell(first, 1.0)
    assert first.id[:13] < second.id[:13] < third.id[:13]
    times = [event.at_us for event in case.ledger.storage.events(1)]
    assert times == sorted(times)  # mutation: take the clock for the time of an event
    assert case.ledger.digest("e") == case.repeated()


def test_open_decisions_are_bounded(make: Make) -> None:
    case = make(max_open=3)
    decisions = [case.decide() for _ in range(5)]
    assert case.ledger.view("e").open == 3
    assert case.ledger.storage.story(1, decisions[0].id)[-1].payload == {"cause": "room"}
    assert case.tell(decisions[0], 1.0) == "late"
    assert case.tell(decisions[2], 1.0) == "accepted"
    case.ledger.call(Change("e", "configure", {"max_open": 1}))
    assert case.ledger.view("e").open == 1
    assert case.ledger.digest("e") == case.repeated()


def test_an_arm_that_is_retired_still_takes_rewards(case: Case) -> None:
    decisions = {arm: case.decide(available=[arm]) for arm in ("a", "b", "c")}
    case.ledger.call(Change("e", "retire", {"arm": "b"}, actor="ann"))
    assert case.tell(decisions["b"], 1.0) == "accepted"
    assert {case.decide().arm for _ in range(6)} <= {"a", "c"}
    with pytest.raises(InvalidValueError, match="another than the control arm"):
        case.ledger.call(Change("e", "retire", {"arm": "a"}))
    case.ledger.call(Change("e", "add", {"arm": "new"}))
    case.ledger.call(Change("e", "configure", {"control": "new"}))
    case.ledger.call(Change("e", "retire", {"arm": "a"}))
    with pytest.raises(InvalidValueError, match="not retired"):
        case.ledger.call(Change("e", "configure", {"control": "a"}))
    assert case.ledger.state("e", lambda state: state.player.memory.sums.tolist()) == [0.0, 1.0, 0.0, 0.0]
    live = case.ledger.digest("e")
    case.again()
    assert case.ledger.digest("e") == live == case.repeated()


def test_an_archived_experiment_stays_so(case: Case) -> None:
    with pytest.raises(ClosedError, match=r"setting is 'seed' but must be one of max_open, floor, .*: the others stay"):
        case.ledger.call(Change("e", "configure", {"seed": 3}))
    with pytest.raises(InvalidValueError, match="did you mean frozen"):
        case.ledger.call(Change("e", "status", {"status": "frozn"}))
    case.ledger.call(Change("e", "status", {"status": "archived"}))
    for request in (Decide("e"), Change("e", "status", {"status": "live"})):
        with pytest.raises(ClosedError):
            case.ledger.call(request)


def test_bad_input_changes_nothing(case: Case) -> None:
    decision = case.decide()
    before, head = case.ledger.digest("e"), case.ledger.view("e").head
    keys: list[Any] = ["x", "\ud800", 7, None, "0" * 25, []]
    names: list[Any] = ["nobody", "\ud800", None, [], "e'; DROP TABLE event; --"]
    bad: list[Any] = [
        *(Reward("e", decision.id, value) for value in (float("nan"), float("inf"), 1e300, "1", None, [1.0, 2.0])),
        *(Reward("e", key, 1.0) for key in keys),
        *(Decide("e", **given) for given in ({"context": [1.0]}, {"available": ["z"]}, {"subject": 1.5})),
        Decide("e", subject="\ud800"),
        Change("e", "add", {"arm": "a"}),
        Change("e", "add", {"arm": 1.5}),
        Change("e", "retire", {"arm": "z"}),
        Change("e", "explode", {}),
        Change("e", "configure", {"seed": 3}),
        Change("e", "configure", {"window": -1}),
        Change("e", "configure", {"colour": "red"}),
        Change("e", "status", {"status": ["live"]}),
        Create("e", Spec.of("ucb1", arms=["a", "b"])),
        Create("../e", Spec.of("ucb1", arms=["a", "b"])),
        *(Decide(name) for name in names),
    ]
    for request, answer in zip(bad, case.ledger.run(bad), strict=True):
        assert isinstance(answer, InvalidValueError), request
        assert "\n" not in str(answer)
    assert (case.ledger.digest("e"), case.ledger.view("e").head) == (before, head)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"arms": ["1", 1]}, "arms is ['1', 1] but must be names that differ when they are written (1 and '1' do not)"),
        ({"arms": ["a", "  "]}, "but must be a text that can be seen"),
        ({"arms": ["a", "b\n"]}, "without line breaks and control characters"),
        ({"arms": ["a", "b\0"]}, "without line breaks and control characters"),
        ({"arms": ["a", "b"], "default": 0.0}, "default is 0.0 but must be given with a window"),
    ],
)
def test_names_that_cannot_be_told_apart_and_a_default_without_a_window_are_refused(
    make: Make, settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidValueError, match=re.escape(sentence)):
        Spec.of("ucb1", **settings)
    case = make(arms=["a", 1, "\N{FAMILY}\N{ZERO WIDTH JOINER}\N{GIRL}", "two words"])
    for wrong in ("1", "  ", "b\n", "b\0", ""):
        with pytest.raises(InvalidValueError, match=r"experiment: arms? is"):
            case.ledger.call(Change("e", "add", {"arm": wrong}))
    with pytest.raises(InvalidValueError, match="given with a window"):
        case.ledger.call(Change("e", "configure", {"default": 0.5}))


def test_shares_are_those_that_were_asked_for(make: Make) -> None:
    """A sample-ratio test on what the log says, and propensities that add up (mutation: draw the holdback by the parity of the round)."""
    case = make("exp3", durable=False, holdback=0.2, floor=0.3, control="b")
    made = [one for _ in range(4) for one in case.ledger.run([Decide("e")] * 1000)]
    shares = {"control": 0.2, "floor": 0.8 * 0.3, "policy": 0.8 * 0.7}
    for who, share in shares.items():
        count = sum(one.by == who for one in made)
        assert abs(count - 4000 * share) < 4 * math.sqrt(4000 * share * (1 - share)), who
    for arm in "abc":  # inverse propensities count every round once
        weights = [1 / one.probabilities[0] for one in made if one.arm == arm and one.probabilities[0]]
        assert abs(sum(weights) - 4000) < 4 * math.sqrt(sum(one * one for one in weights)), arm


def test_other_shares_go_on_with_the_same_random_stream(make: Make) -> None:
    """Mutation: begin the stream of the floor anew, so that its numbers come again."""
    case = make(floor=0.5)
    played(case, 5)
    before = case.ledger.state("e", lambda state: state.player.mixing.random.copy())
    case.ledger.call(Change("e", "configure", {"floor": 0.25, "holdback": 0.1}))
    after = case.ledger.state("e", lambda state: state.player.mixing)
    assert (after.floor, after.holdback, after.random.tolist()) == (0.25, 0.1, before.tolist())


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"policy": "ubc1", "arms": 2}, "did you mean ucb1"),
        ({}, "^open_agent: arms is None but must be given, since the store has no experiment offers yet"),
        ({"arms": ["a", "a"]}, "arms is"),
        ({"arms": 2, "window": -1}, "window is -1"),
        (
            {"arms": 2, "flor": 1},
            "experiment: setting is 'flor' but must be one of .* .did you mean floor",
        ),
    ],
)
def test_what_is_refused_leaves_no_file_behind(given: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match=sentence):
        lb.open_agent(tmp_path / "d.db", "offers", **given)
    assert list(tmp_path.iterdir()) == []


def test_the_same_line_opens_and_makes(tmp_path: Path) -> None:
    def opened(**given: Any) -> lb.DurableAgent:
        return lb.open_agent(f"sqlite:///{tmp_path}/d.db", "offers", **{"policy": "ucb1", "arms": ["a", "b"], **given})

    with pytest.raises(
        InvalidValueError, match="arms is None but must be given, since the store has no experiment offers yet"
    ):
        opened(policy=None, arms=None)
    with lb.open_agent(tmp_path / "d.db", "usual", arms=["a", "b"], compiled=False) as usual:  # as the service does
        assert isinstance(usual.policy, lb.policies.StateLibrary)
    agent = opened(window=60, compiled=False)
    agent.add("c")
    decision = agent.ask(available=(name for name in ("c",)), key="k")
    twin = opened()  # the same process may share the file
    for policy in ("ts", "ucb1:exploration=3"):
        with pytest.raises(InvalidValueError, match="policy of the file"):
            opened(policy=policy)
    other = lb.open_agent(tmp_path / "d.db", "other", policy="ts", arms=3)
    assert twin.tell(decision.id, 1.0) == "accepted"
    assert agent.tell(decision, 1.0) == "duplicate"
    assert (twin.arms, other.arms, twin.stats.waiting) == (("a", "b", "c"), (0, 1, 2), 1)
    for one in (agent, twin, other, other):
        one.close()
    with pytest.raises(InvalidValueError, match="this agent was closed"):
        agent.ask()
    for given, sentence in (
        ({"policy": "ts"}, "policy of the file"),
        ({"policy": "ucb1:exploration=3"}, "policy of the file"),
        ({"arms": ["a", "x"]}, "^open_agent: arms is"),
        ({"window": 61}, r"^open_agent: window is 61\.0 but must be 60\.0, as the store has it"),
        ({"seed": 1}, "seed is 1 but must be 0, as the store has it .it cannot change"),
        ({"flor": 1}, "setting is 'flor'"),
    ):
        with pytest.raises(InvalidValueError, match=sentence):
            opened(**given)
    with opened(arms=["a", "b", "c"], window=60) as again:  # as they are now
        assert again.ask(available=["c"], key="k") == decision
        assert again.explain(decision).arms == ("c",)
        again.status = "frozen"
        assert again.status == "frozen"


def test_scores_of_a_group_in_which_an_arm_is_added(make: Make) -> None:
    """They are computed for all decisions of a group at once (mutation: as if all of them had the arms of the last one)."""
    case = make("ucb1")
    first, _, *others = case.ledger.run([Decide("e"), Change("e", "add", {"arm": "d"}), Decide("e"), Decide("e")])
    made = [first, *others]
    assert [len(case.ledger.explain("e", one.id).options) for one in made] == [3, 4, 4]
    for one in made:
        assert [option.name for option in case.ledger.explain("e", one.id).options if option.played] == [one.arm]


def test_who_did_it_is_recorded_for_every_kind_of_event(case: Case) -> None:
    """Of what time does (expire, and a reward when its window closes), nobody."""

    def by(number: int) -> str:
        return f"person {number}"

    ledger = case.ledger
    ledger.call(Create("other", Spec.of("ucb1", arms=["a", "b"], window=60, default=0.5, corrections=9), actor=by(0)))
    ledger.call(Change("other", "configure", {"floor": 0.1}, by(1)))
    ledger.call(Change("other", "status", {"status": "shadow"}, by(2)))
    told, censored, expired = ledger.run([Decide("other", actor=by(3))] * 3)
    ledger.call(Reward("other", told.id, 0.5, by(4)))
    ledger.call(Censor("other", censored.id, by(5)))
    ledger.call(Change("other", "add", {"arm": "c"}, by(6)))
    ledger.call(Change("other", "retire", {"arm": "b"}, by(7)))
    case.clock.move(61)
    ledger.call(Reward("other", expired.id, 0.5, by(8)))
    assert ledger.call(Reward("other", told.id, 0.7, by(9), correct=True)) == "corrected"
    ledger.call(Change("other", "erase", {"erased": "x"}, by(10)))
    actors = {event.kind: event.actor for event in ledger.storage.events(2)}
    kinds = "create configure status decide told censor add retire late correct erase"
    assert actors == {"expire": None, "reward": None} | {kind: by(number) for number, kind in enumerate(kinds.split())}
    assert set(actors) == set(KINDS)
