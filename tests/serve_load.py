"""A program that loads a server which a test kills: it says what was acknowledged, on a line of its own, after it was."""

import sys
import threading

import httpx


def work(url: str, secret: str, run: str, number: int) -> None:
    headers, path = {"authorization": f"Bearer {secret}"}, f"{url}/v1/experiments/e"
    with httpx.Client(timeout=10) as client:
        for round_number in range(1_000_000):
            key = f"{run}-{number}-{round_number}"
            keyed = {**headers, "idempotency-key": key}
            try:
                made = client.post(f"{path}/decide", json={"unit": key}, headers=keyed).raise_for_status().json()
                say(f"made {key} {made['id']} {made['arm']}")
                if round_number % 3:
                    reward = (round_number % 7) / 7
                    told = client.post(f"{path}/reward", json={"id": made["id"], "reward": reward}, headers=headers)
                    say(f"told {made['id']} {told.raise_for_status().json()['outcome']} {reward!r}")
            except httpx.HTTPError:
                return


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(url: str, secret: str, run: str, threads: int) -> None:
    workers = [threading.Thread(target=work, args=(url, secret, run, number)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
