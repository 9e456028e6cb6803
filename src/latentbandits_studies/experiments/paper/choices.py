"""Choices that the paper leaves open: what was chosen, and why."""

# What, what was chosen, and why
CHOICES: tuple[tuple[str, str, str], ...] = (
    (
        "number of the main table",
        "Table 3 by order in the source; table2 is only the experiment's id",
        "tables are numbered in the order of the source; the printed page was not at hand",
    ),
    (
        "scale of the main table",
        "twice the regret per group",
        "Optimal single arm with means uniform on [0, 1] tends to T/6 per group; the table tends to T/3",
    ),
    ("default world", "10 states, stay 0.99, noise 0.01, 20,000 rounds", "every row of the table changes one of these"),
    (
        "jumps of the chain",
        "uniform over the other states; start in the stationary distribution",
        "the simplest reading",
    ),
    (
        "lag features",
        "LC-UCB, LC-TS, SP-UCB: one-hot of the last arm times 1, r and r squared; AdaRP, AdaSP: times 1 and r; RP: the pair (a, r)",
        "the encodings that fit the table best; policies whose names end in -stated have the text's: (a, r) for two arms, one-hot of a "
        "and r for more",
    ),
    ("LinUCB", "ridge 0.1; exploration 1.0 for LC-UCB, 0.6 as LC-TS's scale, 0.5 for the probing family", "fit"),
    ("intervals of the fixed schedules", "RP-UCB 10, SP-UCB 40", "fit"),
    (
        "what the text leaves open of the stated policies",
        "alpha, lambda and tau are those above",
        "the text gives no values; for LC-UCB, alpha and lambda are also swept (table2/stated-lag)",
    ),
    (
        "gates of the table",
        "z 2, margin 0.05, age cap 50, minimum gap 4, residual floor 0.05 (adarp-ucb-table) and 0.1 (adasp-ucb-table)",
        "with the stated age cap of 7, probes alone would cost more than the published regret; with an age "
        "cap of 50 and a floor equal to the noise, regret at noise 0.5 would be a third lower than published",
    ),
    (
        "baselines",
        "D-UCB discount 0.99, exploration 0.5 (4 xi); SW-UCB window 50, exploration 0.5 (sqrt xi); EXP3 0.1; EXP3-S "
        "0.2 with share 0.001; UCB1 factor 2; TS noise 0.1",
        "fit",
    ),
    ("values of the sensitivity sweeps", "five to seven around the stated ones", "the paper names only the best"),
    (
        "horizon and noise of the ablation",
        "3,000 rounds; noise 0.05 and 0.01, both shown",
        "0.05 is that of the robustness experiments, 0.01 that of the main table",
    ),
    (
        "intervals of the fixed schedules in the ablation",
        "4, 10 and 20 rounds for AdaRP-UCB; 4, 10 and 40 for AdaSP-UCB",
        "they decide the verdict: every 4 rounds AdaRP-UCB's four figures come out within 15 % (noise 0.01, lag as slopes)",
    ),
    (
        "features of the fixed schedules in the ablation",
        "those of the adaptive policy",
        "the paper compares with RP-UCB and SP-UCB, whose features may differ; like is compared with like here",
    ),
    (
        "time of the last probe in Algorithm 5",
        "the first round of the probe",
        "as printed, the algorithm never sets it; the text says that a probe's first round does",
    ),
    (
        "many arms",
        "5,000 rounds; one-hot lag; age caps, gaps and intervals in proportion to the rounds of a probe; as many groups as arms",
        "the paper gives no figures; the gaps contribute to the growth of sequential probing",
    ),
    (
        "horizon of the misspecification checks",
        "5,000 rounds",
        "the figures of switching come out at the scale of regret per group",
    ),
    (
        "D-UCB of the misspecification checks",
        "fitted there to its own published figures",
        "with the setting that fits the main table its regret would be 40 % lower than published",
    ),
    (
        "reward memory",
        "a mean of the previous and the current state's means, weighted by rho",
        "the paper names only rho; the order of the policies comes out, the size of the figures does not",
    ),
    (
        "statistic of the matched learner with reward memory",
        "the expected rewards of the round",
        "the paper says only that it is the correct one",
    ),
    (
        "overlap worlds",
        "states sampled at least delta apart, the last at exactly delta from another",
        "the paper gives only delta; the order of the policies comes out, the size of two of the figures does not",
    ),
)
