"""Every number that was chosen and not learned: its value, the reason, and after the bar what is known of its sensitivity.

Settings of the policy are not here: whoever uses the policy may change those. "Measured" refers to the ledger, where a ratio is regret
after over regret before; "not measured alone" means that only the mechanism it belongs to was. Numbers that fix a size or a resolution
are marked as such: they cost memory or time and change hardly any choice.
"""

# --- emissions ---
MOST_REWARDS = 512  # rewards that a mean can weigh; older ones fade | not measured alone
IMPOSSIBLE = 25.0  # exponent, seven deviations, beyond which no return is considered | resolution: saves time
OUTLIER_FROM = 4.5  # exponent, three deviations, of an outlier at least | measured: two groups at noise 0.5 0.88
LARGEST_EXPONENT = 60.0  # so that one outlier cannot kill all particles | 25 instead, with 3 flat others, 1.007
OUTLIERS = 0.01  # outliers counted before the first | measured as a whole: 1 % outliers 0.45, a rare disaster 1.15
OUTLIER_ROUNDS = 100.0  # rounds in which these were | as above
NEW_BINARY = 0.5  # yes-or-no rewards in a new state count by half | measured: 1 instead 1.33 in one world, 0.24 1.03
BINARY_REWARDS = 2.0  # rewards that the guess of a yes is worth | measured: 1 instead, with 1/2 in a new state, 1.30
LASTING = 0.2  # chance of another value, of values that last until the state changes | not measured alone
AMOUNTS_FIRST = (
    3.0  # log evidence by which another explanation must beat amounts, once values repeat | not measured alone
)
ABSURD_AMOUNT = 5.0  # deviations, of a factor e at least, above all amounts: as rare as outliers | not measured alone
AMOUNTS = 2.0  # amounts that the arm's mean of all states is worth in one | not measured alone
LEAST_MASS = 1e-100  # smallest height of a value among amounts | numbers: its logarithm stays finite
LEAST_AMOUNTS = 0.05  # deviation of the logarithm of amounts at least | not measured alone
GUESS = (
    0.5  # share of amounts where nothing is known | even; the share of all rewards instead: rare clicks become states
)
LEAST_GUESS = 0.01  # no range that is given makes yes or no rarer than this | not measured alone
DECAY_STEPS = 32.0  # entries per unit in the table of exponentials | resolution: 11 digits

# --- transitions ---
STAYS = 29.0  # rounds, before any, in which the state stayed: dwells of 60 rounds | not measured alone
CHANGES = 0.5  # and in which it changed | measured: 1.5 instead 0.996
NOVELTY = 1.0  # entries that states never seen are worth, beside those entered once | measured: 0.5 and 2 instead 1.014, 0.997
RICHER = 0.05  # prior odds of transitions by state, of a hazard by age, and of arms that tell nothing about others | not measured alone
BACKOFF = 1.0  # weight of the entry counts in the learned transitions | not measured alone
MOST_ODDS = 1000.0  # neither of two models is ever given up | none, with LAG_PACE 0.001: 1.013, two modes 1.08
AGES = 64  # ages that are told apart | size
EXACT_AGES = 20  # rounds up to which each is an age of its own | resolution
AGE_RATIO = 1.1  # width of later ages | resolution
VISITS = 4  # past visits that a late reward can belong to | size

# --- filter ---
FAST_SWITCHING = 0.02  # weight at first of a particle that expects it | measured: with no merging none 1.042, alternation 0.34 to 0.48

# --- outlook ---
BLOCKS = 32  # blocks of open decisions, between which the state may change | resolution
NEGLIGIBLE = 1e-4  # share of a particle below which one of its states is left out | resolution: saves time

# --- standardise ---
NARROW = 1e-100  # a narrower range counts as empty: squares of wider ones can be divided by | resolution
WIDE = 1e50  # and a wider one is refused | resolution
HISTORY = 256  # rounds learned again when noise or range turn out quite different | size; not measured alone
NOISE_SHARE = 0.1  # noise at first, as a share of the range | not measured alone
NOISE_PAIRS = 4.0  # pairs that this counts for | not measured alone
LEAST_NOISE = 1e-12  # share of the range | resolution
CAUTION = 0.5  # standard errors added to the noise: too little makes states of nothing | measured: 1 instead 1.025
PROOF = 3.0  # log likelihood by which a mixture must beat noise alone | measured with the noise: one state 0.54 to 0.79
ALTERNATING = 0.6  # share of the noise one round apart below which they do | measured with the noise
LOUDER = 1.4  # noise, in that of the start, above which all begins again | not measured alone
QUIETER = 0.5  # and below which it does | measured with fast switching: alternation 0.34 to 0.48
OTHER_NOISE = 0.03  # relative change of the noise that is worth new tables | 0 instead, with 3 flat others, 1.007
UNIFORM = 0.29  # standard deviation of a uniform number on [0, 1] | mathematics
OUTSIDE = 4.2  # deviations outside at which means, and confirmed rewards, widen the range | not measured alone
WIDEN = 0.25  # widths added when it is widened | not measured alone
ABSURD = 64.0  # widths of the rewards seen that are far too wide a range | measured: 8 instead 1.26 in one state
REACH = 1.0  # widths outside the range at which rewards are cut off | measured: 1 % outliers 0.69, 500 rounds 1.03
REACH_AT_FIRST = 30.0  # the same in the first 256 rounds | not measured alone
REACH_NOISE = 10.0  # noises that are added to both | as REACH

# --- covariates ---
SLOPE_AGE = 8  # rounds after which a reward is attributed to a state for the regression | not measured alone
SLOPE_VARIANCE = 0.02  # of slopes at first, in noise^2 per variance of a feature | not measured alone
SLOPE_EFFECT = 0.0325  # effect to expect, in ranges | measured: by the noise instead, clicks 1.22, not 1.07
SLOPE_ARMS = 0.3  # arms that this counts for | not measured alone
SLOPE_EVERY = 16  # rounds from one estimate of the variance to the next | resolution
RETELL_FROM = 16  # rounds before the past is learned again with better slopes; then doubled | not measured alone
RETELL_CHANGE = 0.5  # change of effects, in noises, that makes that worth it | not measured alone
LOOK = 0.2  # effect to look for where slopes are hardly known, in ranges | measured: 0.1 left some runs stuck
FAR_FEATURE = 10.0  # deviations from its average at which a feature is cut off | measured: only absurd ones matter
USUAL_ROUNDS = 30  # rounds that show what is usual | not measured alone
LEAST_DIFFERENCE = 0.1  # least variance of a difference without effects, in that of noise | not measured alone

# --- evidence: no choice depends on it ---
PACES = (0.0, 0.002, 0.05)  # of means, in variances of the noise per round; the first is one state | resolution

# --- index ---
OPTIMISM = 2.0  # bonus of an arm, in standard errors | measured: 1.5 and 3 instead 1.032, 0.998; growing 1.032
TESTING = 0.35  # of the worth of telling particles apart | measured: 0.25, 0.5 and 0.8 instead 0.998, 1.006, 1.043
RARE = 0.002  # chance of a change below which what follows it is left out | resolution: saves time
LIKELY = 0.1  # chance of a change above which what is unknown of it counts | measured as a whole: alternation 0.82
TEST_NOISE = 4.0  # variances of the noise against which a test tells particles apart | not measured alone
LEAVING = 2.0  # pseudo-changes of the hazard of one state in tests | measured: none instead a rare disaster 1.20, 104 worlds 0.992

# --- correctors: lag ---
LAG_REWARDS = 2.0  # rewards that an arm's overall mean is worth in every cell | not measured alone
LAG_RADIUS = 3.0  # noises from all levels at which a reward makes a new one | measured: 1.5 instead 1.00 but for one
LAG_CELLS = 2**20  # of the table, 32 MB: all 32 levels of up to 181 arms, none of more than 1,024 | a bound of memory
LAG_FADING = 1000  # rewards that a level can weigh | 512 instead, with 3 flat others, 1.007
LAG_MEMORY = 0.999  # per round, of the regression that sets the blend | not measured alone
LAG_PRIOR = 0.5  # what the library starts with in it, in squared ranges | not measured alone
LAG_ENOUGH = 0.9  # a blend above it counts as the library alone | 1 instead, with 3 flat others, 1.007
LAG_PACE = 0.01  # of the squared error's average | 0.001 instead, with unbounded odds, 1.013

# --- correctors: trust ---
TRUST_PRIOR = 4.0  # before any the untrue part is 0, give or take 1 / sqrt(4) | no trust: real tables 1.033, two dominated arms 1.10
SUSPECT = 0.5  # untrue part from which on the library is suspected | not measured alone
SURE = 2.0  # standard errors by which a gap must be above 0 to be out of question | not measured alone
SELDOM = 0.125  # share of rounds in which it decides although not trusted | measured: 1/16 loses on one real table
ALLOWANCE = 10.0  # what tests may cost, in ranges | measured: no limit 1.003, two dominated arms 1.08
ALLOWED_SHARE = 0.3  # and of what leaving the usual arm has gained | measured: 0.1 1.04 and 1.08, 0.15 1.11
WAITING = 1024  # rounds whose rewards may be under way | size

# --- own: shared or own regimes, as log odds ---
OWN_FIRST = (
    -1.0
)  # before any evidence | measured: 0 instead is 0.94 with 3 arms of their own, and 1.03 with 6 shared states
OWN_STEP = 1.0  # that one reward can add or take at most | measured: 0.5 to 3 are within 3 %; none is in the hands of an outlier
OWN_MOST = 10.0  # neither is ever given up: ten looks turn them round | not measured alone

# --- belief and regimes: no choice depends on them ---
SAME_STATE = 3.0  # standard errors within which states of two particles, or a state and a regime, are the same | not measured alone
SAME_CHANGE = 2  # rounds within which two particles speak of the same change | not measured alone
