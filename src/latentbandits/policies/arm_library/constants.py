"""Every chosen number of ArmLibrary, with its reason. All are pure numbers: nothing depends on the unit of rewards."""

import numpy as np

LEVELS = 8  # of an arm that a hypothesis remembers | more than anything that is known has
HYPOTHESES = 8  # kept per arm | one is enough at noise 0.1, 0/1 rewards need several
FLOOR = 1e-6  # share of the heaviest below which a hypothesis is dropped | a tenth of the rarest new level
ALIKE = (
    0.5  # standard errors within which the levels of two hypotheses are the same | a quarter of what can be told apart
)
MERGED = 1.5  # standard errors within which two levels of one hypothesis become one | they then predict alike
MERGE_EVERY = 32  # rewards of the arm after which this is looked for | any rarely
SLACK = 0.02  # variance, in units of the noise's, by which levels differ anyway | else no two long levels ever merge
CAP = 500.0  # rewards that a level is known by at most | so that it can follow a slow change
OUTLIERS = 0.01  # share of rewards that say nothing | 1 % outliers: regret 0.6 of that with 0
OUTREACH = 6.0  # they are spread over the range and so many standard deviations | beyond it a reward is surely one
SURE = 0.9  # probability from which a level counts as the range's | levels that are doubtful would stretch it for ever
SPREAD = 0.35  # standard deviation of a level never seen, in widths of the range of levels | uniform would be 0.29
BEYOND = 0.25  # part of the width by which levels never seen may lie outside | records of n levels grow so
NEW = 4  # points that stand for such levels in the index | one per quarter of the range
NOVELTY = 0.125  # visits to levels never seen, at first ... | 10 arms 172 (1/4: 175, 1/2: 200, 1: 220), mostly good 71 (78, 95, 116)
SINGLES = 0.5  # ... and for every level but one that was visited once | Good and Turing's estimate, halved
DWELL = 1.0  # visits that the usual dwell is worth | the least that is defined for levels that were never left
HAZARDS = 0.25 * 0.5 ** np.arange(
    11
)  # changes per round that are weighed: 1/4 to 1/4096 | beyond, it is noise, or no change
HAZARD_LOGS = np.log(HAZARDS)
BASE = 1.0  # weight of every hazard at first, where the posteriors of all other arms have 1 each | any prior that is soon outvoted
RATES = np.array(
    [0.0, 1e-4, 1e-3, 1e-2, 1e-1]
)  # of drift: variance per round, in units of the noise's | from none to all
REGIMES = len(RATES)  # the explanation behind those: an arm has levels
PRIOR_DRIFT, PRIOR_REGIMES = 0.1, 0.5  # weights of each explanation at first | half, and the other half shared
NEAR = 0.1  # weight in them of a reward right after one of the same arm | such rewards fit any drift: 1 is 2 x on random walks
BOUND = -25.0  # logarithm of the least weight of an explanation | so that one can come back
OPTIMISM = 1.0  # standard errors of a level that are added to it | 0 and 1/2 are within noise of it
OPTIMISM_DRIFT = 2.0  # the same for a mean that drifts | less: random walk 119 and 290, against 58
STILL = 1.0  # for one that never changes: the root of this plus 2 log(rounds / (arms * rewards)) | as MOSS has it
IDLE = (
    0.4  # share of all rounds for which an arm may be left alone ... | 3 arms 162 (0.2: 169, 0.1: 183, no limit: 271)
)
IDLE_LEAST = 30.0  # ... beyond so many rounds per arm | noise 0.3: 217 (none: 249, 60: 222); 10 arms 199 (221, 190)
LEAST_NOISE = 1e-3  # of the width of the range, where no noise was seen | that rewards have three digits
BLANK = 0.5  # chance of either of two values at a level never seen | symmetry
CLICKS_PRIOR = 0.5  # pseudo-rewards of each of two values | Jeffreys
NARROW = 1e-100  # a narrower range of levels counts as empty | its square must not underflow
