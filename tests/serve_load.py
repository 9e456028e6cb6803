"""A program that loads a server which a test kills: it says what was acknowledged, on a line of its own, after it was.

It ends when the server does; a patient one sends the same request again until it is answered.
"""

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx


def work(url: str, secret: str, run: str, number: int, say: Callable[[str], object], patient: bool = False) -> None:
    headers, path = {"authorization": f"Bearer {secret}"}, f"{url}/v1/experiments/e"

    def post(client: httpx.Client, what: str, body: Any, more: Any) -> Any:
        while True:
            found = client.post(f"{path}/{what}", json=body, headers={**headers, **more})
            if found.status_code != 503 or not patient:
                return found.raise_for_status().json()
            time.sleep(0.02)

    with httpx.Client(timeout=10) as client:
        for round_number in range(1_000_000):
            key = f"{run}-{number}-{round_number}"
            try:
                made = post(client, "decide", {"subject": key}, {"idempotency-key": key})
                say(f"made {key} {made['id']} {made['arms'][0]}")
                if round_number % 3:
                    reward = (round_number % 7) / 7
                    told = post(client, "reward", {"id": made["id"], "reward": reward}, {})
                    say(f"told {made['id']} {told['outcome']} {reward!r}")
            except httpx.HTTPError:
                return


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(url: str, secret: str, run: str, threads: int, patient: bool) -> None:
    workers = [
        threading.Thread(target=work, args=(url, secret, run, number, say, patient)) for number in range(threads)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), "patient" in sys.argv)
