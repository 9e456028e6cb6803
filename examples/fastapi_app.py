"""Offers behind FastAPI: ``uvicorn fastapi_app:app``, one process and as many threads as you like.

GET  /decide?visitor=17&request=a1     {"offer": "b", "decision": "063f0c2a9d4e10b2c4d6e8f0a"}
POST /reward?decision=063f...&value=1  {"outcome": "accepted"}
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

import latentbandits as lb


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Hold the store for as long as the application runs."""
    store = os.environ.get("STORE", "decisions.db")
    with lb.open_agent(
        store, "offers", policy="state-library", arms=["a", "b", "c"], window=3600, default=0.0
    ) as agent:
        app.state.agent = agent
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/decide")
def decide(visitor: str, request: str) -> dict[str, str]:
    """Decide for a visitor; the same request, sent again, has the same decision."""
    decision = app.state.agent.ask(subject=visitor, key=request)
    return {"offer": decision.arm, "decision": decision.id}


@app.post("/reward")
def reward(decision: str, value: float) -> dict[str, str]:
    """Tell what a decision has earned."""
    return {"outcome": app.state.agent.tell(decision, value)}


@app.exception_handler(ValueError)  # a refusal is one, in one sentence
def refuse(_request: Request, problem: Exception) -> JSONResponse:
    """Say what was wrong."""
    return JSONResponse({"error": str(problem)}, status_code=400)
