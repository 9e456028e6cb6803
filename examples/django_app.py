"""Offers behind Django, in one file: ``gunicorn --workers 1 --threads 16 django_app:application``, one process that holds the store.

In a project of yours the agent belongs into an `AppConfig`, the two views into views.py and the paths into urls.py.

GET  /decide?visitor=17&request=a1     {"offer": "b", "decision": "063f0c2a9d4e10b2c4d6e8f0a"}
POST /reward?decision=063f...&value=1  {"outcome": "accepted"}
"""

import os
from functools import cache

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

import latentbandits as lb

if not settings.configured:
    settings.configure(
        SECRET_KEY=os.environ.get("SECRET_KEY", "only for a first try"),
        ALLOWED_HOSTS=["127.0.0.1", "testserver"],
        ROOT_URLCONF=__name__,
        STORE=os.environ.get("STORE", "decisions.db"),
    )


@cache
def agent() -> lb.DurableAgent:
    """Return the agent; it is opened in the process that serves, not in one that forks."""
    return lb.open_agent(
        settings.STORE, "offers", policy="state-library", arms=["a", "b", "c"], window=3600, default=0.0
    )


@require_GET
def decide(request: HttpRequest) -> JsonResponse:
    """Decide for a visitor; the same request, sent again, has the same decision."""
    decision = agent().ask(subject=request.GET["visitor"], key=request.GET["request"])
    return JsonResponse({"offer": decision.arm, "decision": decision.id})


@csrf_exempt  # for other programs; a browser sends a token
@require_POST
def reward(request: HttpRequest) -> JsonResponse:
    """Tell what a decision has earned; what is refused is the sender's mistake."""
    try:
        return JsonResponse({"outcome": agent().tell(request.GET["decision"], float(request.GET["value"]))})
    except ValueError as problem:
        return JsonResponse({"error": str(problem)}, status=400)


urlpatterns = [path("decide", decide), path("reward", reward)]
application = get_wsgi_application()
