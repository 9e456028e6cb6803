"""The paper, sentence by sentence: everything in it that can be measured, in our words, and the claims that judge it.

Definitions, descriptions of the policies and statements about other people's work are not listed; the settings that the paper does not
state are in `choices.py`.
"""

from typing import NamedTuple

from latentbandits_studies.experiments.paper.printed import ABLATION, MISSPECIFICATION, PREFERRED, SEQUENTIAL


class Sentence(NamedTuple):
    """Something that the paper says.

    Attributes
    ----------
    place : where it stands
    text : what it says, in our words
    claims : ids of the claims that judge it
    """

    place: str
    text: str
    claims: tuple[str, ...]


FIGURES = tuple(
    f"misspecification/{case}{end}"
    for case in (case.replace(" ", "-") for case in MISSPECIFICATION)
    for end in ("", "-figures")
)

SENTENCES: tuple[Sentence, ...] = (
    Sentence(
        "Abstract",
        "The methods reduce dynamic regret against standard, adversarial and non-stationary baselines where the summaries tell the "
        "states apart and are fresh",
        ("table2/adasp-calm", "table2/lower-calm"),
    ),
    Sentence(
        "Abstract; Conclusion",
        "They fail when fingerprints are badly separated, when noise is high, and when the state changes within a sequential probe",
        ("misspecification/separation", "table2/noisy", "misspecification/sequential"),
    ),
    Sentence(
        "1.1; 3.1",
        "Standard algorithms average over the states, and converge to an arm that is mediocre in all of them",
        ("table2/converges", "table2/persistent"),
    ),
    Sentence(
        "1.1", "Inferring the state becomes harder as the states grow in number", ("table2/harder", "table2/states")
    ),
    Sentence(
        "1.2",
        "Gains are largest where the best arm changes often enough to make timely updates worth it",
        ("table2/gains",),
    ),
    Sentence(
        "2",
        "Regret is the loss of the best rule on a summary plus the learner's loss against it",
        ("decomposition/identity",),
    ),
    Sentence(
        "3.1",
        "The lagged pair tells the state where means are far apart relative to the noise and the chain is predictable",
        ("theory/lagged-decoding",),
    ),
    Sentence(
        "3.1; Example 1",
        "States that pay alike on the last arm but have different best arms leave an error that no rule on the lag avoids",
        ("example/ambiguous", "decomposition/nested"),
    ),
    Sentence(
        "3, Algorithm 1; 5; hedged in 2",
        "LC-UCB's context is the last arm and the last reward; section 2 says only that it could be, and allows one-hot of the arm",
        ("table2/stated-lag",),
    ),
    Sentence("4", "Ambiguity grows with the number of states, so that LC-UCB may degrade", ("table2/states",)),
    Sentence(
        "4; Example 1",
        "A sample of both arms gives every state its own fingerprint, which motivates probing",
        ("example/unique", "example/rescued"),
    ),
    Sentence(
        "4.1; 6.3",
        "Sequential probing becomes less attractive with more arms, since a probe takes as many rounds; a randomized probe stays one round",
        ("many-arms/less-attractive", "many-arms/probe-cost", "many-arms/one-round"),
    ),
    Sentence("4.2", "The lag adds a more recent signal to a fingerprint that ages", ("decomposition/nested",)),
    Sentence(
        "Theorem 1",
        "The regret of probe episodes is at most probe cost, plus error and drift while a probe is reused",
        ("theory/theorem-1",),
    ),
    Sentence(
        "Corollary 1",
        "A fixed period has a bound whose best period is of the order of tau*, shorter for a more volatile chain",
        ("theory/corollary-1", "theory/best-interval", "theory/interval-constant", "timing/volatile"),
    ),
    Sentence(
        "4.2; Appendix C.1",
        "A fingerprint's joint separation replaces that of a single arm; a sequential one pays for changes within the probe",
        ("theory/synchronous-decoding", "theory/sequential-decoding", "decomposition/bound"),
    ),
    Sentence(
        "4.2",
        "Sequential variants degrade under fast switching, randomized ones do not",
        ("table2/switching", "theory/sequential-decoding", "misspecification/sequential"),
    ),
    Sentence("5", "Frequent probing helps early in learning and wastes rounds later", ("timing/early", "timing/late")),
    Sentence(
        "5.1",
        "With a correct model and no change of state the Studentized residual is about standard normal, so that 2 is a 95 % interval",
        ("residuals/normal", "residuals/normal-text"),
    ),
    Sentence("5.1", "The floor within the residual keeps the gate from opening too often", ("residuals/floor",)),
    Sentence(
        "5.1",
        "Large residuals tell of a wrong model or a change of state",
        ("residuals/drift", "gates/residual-calm", "gates/residual-hard"),
    ),
    Sentence(
        "5.1",
        "Where the margin is small, a probe renews the fingerprint before an arm is chosen",
        ("gates/margin-pays",),
    ),
    Sentence(
        "5.1", "The age cap covers cases in which residuals and margins ask for no probe", ("gates/staleness-covers",)
    ),
    Sentence("5.1", "A minimum gap keeps probes from following upon each other", ("sensitivity/fewer-probes-min-gap",)),
    Sentence("5.1", "A hazard rate of 0.1 and a threshold of 0.5 are an age cap of about 7", ("sensitivity/hazard",)),
    Sentence(
        "5.1",
        "Unless stated otherwise the experiments use these gates, with a residual floor equal to the noise",
        ("table2/stated-gates", "table2/floor"),
    ),
    Sentence("6", "Regret is reported per group, with means in [0, 1]", ("table2/scale",)),
    Sentence("6", "AdaRP-UCB is the best randomized method in 12 of 13 configurations", ("table2/adarp-over-rp",)),
    Sentence(
        "6",
        "It improves most over RP-UCB in volatile environments",
        ("table2/volatile",),
    ),
    Sentence(
        "6",
        "LC-UCB, LC-TS, AdaSP-UCB and SP-UCB consistently have less regret than the baselines, the main exception being noise 0.5",
        ("table2/consistently-lower",),
    ),
    Sentence("6", "AdaSP-UCB is the best under little noise, slow mixing or many states", ("table2/adasp-calm",)),
    Sentence("6", "Lagged contexts are stronger under faster mixing", ("table2/lagged-fast",)),
    Sentence("6", "At noise 0.5 fingerprints are weak, and D-UCB or SW-UCB does better", ("table2/noisy",)),
    Sentence("6", "The expected gap between the arms is about 0.1", ("table2/gap",)),
    Sentence(
        "6, winning rates", "A figure without a ranking in words", ("winning-rates/adarp", "winning-rates/single")
    ),
    Sentence(
        "6, optimal-arm frequency",
        "A figure without a ranking in words",
        ("optimal-arm-frequency/default", "optimal-arm-frequency/switching"),
    ),
    Sentence("6.1", "The margin of 0.05 is within 5 % of the best in all eight pairs", ("sensitivity/margin",)),
    Sentence(
        "6.1",
        f"The residual gate prefers {PREFERRED['residual_threshold'][0]:g} in all eight pairs; 2.0 is within 10 % in seven",
        ("sensitivity/residual", "sensitivity/residual-default"),
    ),
    Sentence(
        "6.1",
        f"Probe frequency matters more: an age cap of {PREFERRED['staleness'][0]:g} is best in all eight pairs, a gap of "
        f"{PREFERRED['min_gap'][0]:g} in seven",
        (
            "sensitivity/frequency-staleness",
            "sensitivity/frequency-min-gap",
            "sensitivity/age-cap",
            "sensitivity/min-gap",
        ),
    ),
    Sentence(
        "6.1",
        "Raising the residual threshold, the age cap or the gap reduces excess probing",
        tuple(f"sensitivity/fewer-probes-{name}" for name in ("residual-threshold", "staleness", "min-gap")),
    ),
    Sentence("6.1", "Lowering the age cap or the gap combats stale fingerprints", ("sensitivity/stale",)),
    Sentence(
        "6.2",
        "AdaSP-UCB, sticky: {full:.0f}, {no fingerprint:.0f} without the fingerprint, {fixed schedule:.0f} on a fixed schedule; the "
        "fingerprint is the main gain".format_map(ABLATION["adasp-ucb"]),
        ("ablation/adasp-fingerprint", "ablation/adasp-fixed", "ablation/adasp-figures"),
    ),
    Sentence(
        "6.2",
        "AdaRP-UCB, sticky: {full:.0f}, about {no lag:.0f} without lag or fingerprint, {fixed schedule:.0f} for RP-UCB; adaptive "
        "timing is the main gain".format_map(ABLATION["adarp-ucb"]),
        ("ablation/adarp-timing", "ablation/adarp-figures"),
    ),
    Sentence(
        "6.2",
        "Fast switching: AdaSP-UCB, it without fingerprint and its fixed schedule are nearly identical, since half of "
        "the probes span a change",
        ("ablation/fast-identical", "ablation/half-of-windows"),
    ),
    Sentence(
        "6.3",
        "Misspecified AdaRP-UCB lies between the matched learner and the baselines: switching, memory, overlap, with figures",
        FIGURES,
    ),
    Sentence(
        "6.3",
        "Sequential probing fails faster under switching: {:.0f} matched, {:.0f} misspecified".format(*SEQUENTIAL),
        ("misspecification/sequential", "misspecification/sequential-figures"),
    ),
    Sentence(
        "6.3",
        "Overlap controls how well fingerprints separate",
        ("misspecification/separation", "theory/synchronous-decoding"),
    ),
    Sentence("6.3", "Ablations tell the value of the schedule from that of the features", ("table2/gates-alone",)),
    Sentence("7", "Standard baselines incur persistent dynamic regret", ("table2/persistent",)),
    Sentence(
        "Appendix C.1",
        "App is at most the largest gap times the decoding error of the summary",
        ("decomposition/bound",),
    ),
    Sentence(
        "Appendix C.2, hazard corollary",
        "An age cap bounds the regret of any adaptive schedule behind it, given the error of its completed probes",
        ("theory/hazard-adaptive", "theory/hazard-as-stated", "theory/reuse-cap"),
    ),
)
