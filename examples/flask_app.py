"""Offers behind Flask: ``gunicorn --workers 1 --threads 16 'flask_app:made()'``, one process that holds the store.

GET  /decide?visitor=17&request=a1     {"offer": "b", "decision": "063f0c2a9d4e10b2c4d6e8f0a"}
POST /reward?decision=063f...&value=1  {"outcome": "accepted"}
"""

import atexit
import os

from flask import Flask, request

import latentbandits as lb


def made(store: str | None = None) -> Flask:
    """Return the application, with the store open until the process ends."""
    store = store or os.environ.get("STORE", "decisions.db")
    agent = lb.open_agent(store, "offers", policy="state-library", arms=["a", "b", "c"], window=3600, default=0.0)
    atexit.register(agent.close)
    app = Flask(__name__)
    app.extensions["agent"] = agent

    @app.get("/decide")
    def decide() -> dict[str, str]:
        """Decide for a visitor; the same request, sent again, has the same decision."""
        decision = agent.ask(subject=request.args["visitor"], key=request.args["request"])
        return {"offer": str(decision.arm), "decision": decision.id}

    @app.post("/reward")
    def reward() -> dict[str, str]:
        """Tell what a decision has earned."""
        return {"outcome": agent.tell(request.args["decision"], float(request.args["value"]))}

    @app.errorhandler(ValueError)  # a refusal is one, in one sentence
    def refuse(problem: ValueError) -> tuple[dict[str, str], int]:
        """Say what was wrong."""
        return {"error": str(problem)}, 400

    return app
