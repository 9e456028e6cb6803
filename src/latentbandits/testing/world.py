"""What every world must do."""

import numpy as np

from latentbandits.protocols import Realisation, World


class WorldChecks:
    """Inherit it in a pytest class and return a world from `world`."""

    rounds = 300

    def world(self) -> World:
        """Return the world to check."""
        raise NotImplementedError

    def _realised(self, groups: int = 1, seed: int = 1, draw: int = 0, repeat: int = 0) -> Realisation:
        return self.world().realise(self.rounds, groups, seed, draw, repeat)

    @staticmethod
    def _arrays(realisation: Realisation) -> dict[str, np.ndarray]:
        """Return the arrays of a realisation by name, also those that may be None: all arms available, and rewards that are not late."""
        means, available, delays = realisation.means, realisation.available, realisation.delays
        return {
            "means": means,
            "rewards": realisation.rewards,
            "context": realisation.context,
            "states": realisation.states,
            "available": np.ones(means.shape, bool) if available is None else np.asarray(available),
            "delays": np.zeros(len(means), np.int64) if delays is None else np.asarray(delays),
        }

    def test_every_round_has_an_available_arm(self) -> None:
        """`available` is None for a world whose arms always are, else a row of booleans, or of 0 and 1, for every round."""
        available = self._arrays(self._realised(groups=2))["available"]
        wanted = (self.rounds, self.world().arms)
        assert available.shape == wanted, f"available has shape {available.shape} but must have {wanted}"
        assert available.dtype.kind in "bui", f"available has type {available.dtype} but must have bool or integers"
        assert np.isin(available, (0, 1)).all(), "available has numbers other than 0 and 1"
        empty = np.flatnonzero(~available.any(axis=1))
        assert len(empty) == 0, f"no arm is available in round {empty[0]} but every round must have at least one"

    def test_delays_are_rounds_or_never(self) -> None:
        """`delays` is None for a world whose rewards arrive at once, else an integer (or a pair) for every round, -1 for never."""
        delays = self._arrays(self._realised(groups=2))["delays"]
        wanted = ((self.rounds,), (self.rounds, 2))
        assert delays.shape in wanted, f"delays has shape {delays.shape} but must have {wanted[0]} or {wanted[1]}"
        assert delays.dtype.kind in "iu", f"delays has type {delays.dtype} but must have integers"
        assert delays.min() >= -1, f"delays has {delays.min()} but must have -1 or more"

    def test_shapes(self) -> None:
        """One row per round; arrays that compiled code can read."""
        arms = self.world().arms
        realisation = self._realised(groups=2)
        assert realisation.means.shape == (self.rounds, arms)
        assert realisation.rewards.shape == (self.rounds, 2, arms)
        assert realisation.context.ndim == 2
        assert len(realisation.context) == self.rounds
        assert realisation.states.shape == (self.rounds,)
        for part in (realisation.means, realisation.rewards, realisation.context):
            assert part.dtype == np.float64
            assert part.flags.c_contiguous
            assert np.isfinite(part).all()

    def test_depends_on_its_arguments_alone(self) -> None:
        """The same arguments give the same realisation, whatever was realised in between."""
        first = self._arrays(self._realised(draw=3, repeat=1))
        self._realised(draw=4, repeat=0)
        again = self._arrays(self._realised(draw=3, repeat=1))
        for name, array in first.items():
            np.testing.assert_array_equal(array, again[name], name)

    def test_groups_share_all_but_the_noise(self) -> None:
        """A policy with two groups meets the same world as one with a single group."""
        one, two = (self._arrays(self._realised(groups=groups)) for groups in (1, 2))
        for name in one.keys() - {"rewards"}:
            np.testing.assert_array_equal(one[name], two[name], name)

    def test_a_longer_realisation_begins_like_a_shorter_one(self) -> None:
        """Rounds do not depend on those that come after them."""
        half = self.rounds // 2
        long, short = (self._arrays(self.world().realise(rounds, 1, 1, 0, 0)) for rounds in (self.rounds, half))
        for name, array in short.items():
            np.testing.assert_array_equal(array, long[name][:half], name)

    def test_truth_fits_the_realisation(self) -> None:
        """What oracles are given is a proper chain over the realisation's arms."""
        realisation = self._realised()
        if realisation.truth is None:
            return
        truth = realisation.truth
        states = len(truth.start)
        assert truth.means.shape == (states, self.world().arms)
        assert truth.transition.shape == (states, states)
        np.testing.assert_allclose(truth.transition.sum(axis=1), 1)
        np.testing.assert_allclose(truth.start @ truth.transition, truth.start, atol=1e-9)
