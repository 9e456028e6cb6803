"""A policy online: ask for a decision, tell its rewards."""

import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from latentbandits import compiled as machine
from latentbandits.agent import file
from latentbandits.agent.contents import Contents, copied
from latentbandits.agent.decision import EARLIEST, TIME_DIGITS, WORDS, Decision, Name, OpenDecisionsWarning, Stats
from latentbandits.agent.decision import is_id, time_of
from latentbandits.agent.explain import Explanation, explanation
from latentbandits.agent.inputs import observed, received
from latentbandits.agent.mixing import POLICY, mixing
from latentbandits.agent.names import as_name, number_of, online
from latentbandits.agent.processes import refuse_in_children
from latentbandits.agent.slots import Slot, Slots
from latentbandits.agent.steps import steps
from latentbandits.policies.growth import grown, grown_choice
from latentbandits.protocols import LARGEST_REWARD, WHY, Choice, Policy
from latentbandits.random import stream
from latentbandits.settings import Refusal, whole

Record = dict[str, Any]
Journal = Callable[[Record], object]
_new = tuple.__new__
