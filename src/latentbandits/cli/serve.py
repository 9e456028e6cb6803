"""Serve decisions over HTTP: from a store on disk, with keys, a page and counters. Stops gracefully on SIGTERM."""

import argparse
import sys

SUMMARY = "serve decisions over HTTP, from a store on disk"
EXAMPLES = (
    "latentbandits serve --demo",
    "latentbandits serve --store decisions.db --port 8080",
)

# What a setting means; all of them can be in the file as well
WORDS = {
    "store": ("PATH", "the store: a path, or postgresql://... for several replicas (default: latentbandits.db)"),
    "host": ("HOST", "the address to listen at (default: 127.0.0.1); another one needs an admin key in the store"),
    "port": ("PORT", "the port (default: 8000; 0 for a free one)"),
    "reached_at": ("URL", "where other replicas reach this one (default: the host and port of this one)"),
    "lease": ("SECONDS", "without a sign of life after which another replica takes over (default: 5)"),
    "body": ("BYTES", "the most that a request may have (default: 4194304)"),
    "open": ("N", "decisions of one experiment that may wait for rewards (default: 100000)"),
    "waiting": ("N", "requests that may wait for the store (default: 10000)"),
    "webhook": ("URL", "where alerts are sent, signed by the secret in LATENTBANDITS_WEBHOOK_SECRET"),
    "export_days": ("DAYS", "how old the decisions of an exported log may be (default: any age)"),
    "stop": ("SECONDS", "that requests have to end when it stops (default: 10)"),
}
NUMBERS = {"lease": float, "export_days": float} | dict.fromkeys(("port", "body", "open", "waiting", "stop"), int)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--config", metavar="FILE", help="a TOML file with any of these settings; options go before it")
    for name, (shown, text) in WORDS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar=shown, type=NUMBERS.get(name, str), help=text)
    parser.add_argument(
        "--demo", action="store_true", default=None, help="serve a simulated stream of visitors as well"
    )
    parser.add_argument("--log-requests", action="store_true", default=None, help="log every request")
    parser.add_argument(
        "--no-compile",
        dest="compiled",
        action="store_false",
        default=None,
        help="run no machine code (it starts faster)",
    )
    parser.add_argument("--new-key", metavar="NAME", help="make a key in the store, print it, and end")
    parser.add_argument(
        "--roles",
        nargs="+",
        default=["admin"],
        metavar="ROLE",
        help="of --new-key: read, decide, reward, admin (default: admin)",
    )
    parser.add_argument("--days", type=float, metavar="N", help="for which --new-key is good (default: for good)")


def run(options: argparse.Namespace) -> int:
    """Serve, or make a key; exit code 1 if the store cannot be used now."""
    from latentbandits.serve.run import new_key
    from latentbandits.serve.run import run as serve
    from latentbandits.serve.settings import read
    from latentbandits.store import StoreUnavailableError

    names = (*WORDS, "demo", "log_requests", "compiled")
    given = {name: value for name, value in vars(options).items() if name in names and value is not None}
    settings = read(options.config, given)
    try:
        if options.new_key is not None:
            print(new_key(settings, options.new_key, options.roles, options.days))
            return 0
        return serve(settings, lambda line: print(line, flush=True))
    except StoreUnavailableError as problem:
        print(problem, file=sys.stderr)
        return 1
