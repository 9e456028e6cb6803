"""What the probes of a fixed schedule cost."""

import numpy as np

from latentbandits.policies.oracles import Scripted
from latentbandits.protocols import Oracle, Policy, Realisation


class Price(Oracle):
    """Oracle: the best arm in every round but those of a probe. Its regret is the price of probing, the same for all rungs.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits_studies.experiments.ladder.price import Price
    >>> realised = lb.HiddenMarkov(means=[[0.0, 1.0]], noise=0.0).realise(horizon=6, units=1, seed=0, draw=0, repeat=0)
    >>> Price(arms=2, interval=4).informed(realised).script.tolist()
    [1, 1, 1, 0, 1, 1]
    """

    arms: int
    interval: int
    units: int = 1

    def informed(self, realisation: Realisation) -> Policy:
        """Return the arms for this realisation."""
        phase = np.arange(1, len(realisation.means) + 1) % self.interval
        return Scripted(self.arms, self.units, np.where(phase < self.arms, phase, realisation.means.argmax(axis=1)))
