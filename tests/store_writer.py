"""A program under load that a test kills: it says what was acknowledged, on a line of its own, after it was."""

import sys
import threading

import latentbandits as lb


def work(agent: lb.DurableAgent, number: int, run: str) -> None:
    round_number = 0
    while True:
        round_number += 1
        key = f"{run}-{number}-{round_number}"
        decision = agent.ask(subject=key, key=key)
        say(f"made {key} {decision.id} {decision.arm}")
        if round_number % 3:
            reward = (round_number % 7) / 7
            agent.tell(decision, reward)
            say(f"told {decision.id} {reward!r}")
        if round_number % 4 == 1:
            agent.tell(decision, 0.875, correct=True)
            say(f"told {decision.id} 0.875")


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(store: str, run: str, threads: int) -> None:
    rules = {"max_open": 50, "floor": 0.1, "window": 0.2, "default": 0.0, "corrections": 20}
    agent = lb.open_agent(store, "e", policy="exp3", arms=["a", "b", "c"], compiled=False, **rules)
    say("begun")
    for number in range(threads):
        threading.Thread(target=work, args=(agent, number, run), daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
