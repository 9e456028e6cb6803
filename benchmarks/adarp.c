/* AdaRP-UCB for two arms, two groups and six features, written by hand: the yardstick of `make bench`.
 *
 * Plain scalar C in the order of the paper's Algorithm 4: inverse matrices by Sherman and Morrison's formula, one
 * update per unit, coefficients as inverse times response, and the residual gate computed the plain way (a fresh
 * prediction at the previous features). The features are the fingerprint (2), the last arm as one-hot (2), and the
 * last reward times that one-hot (2).
 */
#include <math.h>
#include <string.h>

#define K 2 /* arms, and groups: a probe takes one round */
#define D 6 /* features */

static double inverse[K][D][D], response[K][D], theta[K][D];

static double dot(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < D; i++)
        sum += a[i] * b[i];
    return sum;
}

static double variance(int arm, const double *phi)
{
    double gain[D];
    for (int i = 0; i < D; i++)
        gain[i] = dot(inverse[arm][i], phi);
    return dot(phi, gain);
}

static void learn(int arm, const double *phi, double reward)
{
    double gain[D];
    for (int i = 0; i < D; i++)
        gain[i] = dot(inverse[arm][i], phi);
    double scale = 1.0 / (1.0 + dot(phi, gain));
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++)
            inverse[arm][i][j] -= scale * gain[i] * gain[j];
    for (int i = 0; i < D; i++)
        response[arm][i] += reward * phi[i];
    for (int i = 0; i < D; i++)
        theta[arm][i] = dot(inverse[arm][i], response[arm]);
}

static void forget(double regularization)
{
    memset(inverse, 0, sizeof inverse);
    memset(response, 0, sizeof response);
    memset(theta, 0, sizeof theta);
    for (int arm = 0; arm < K; arm++)
        for (int i = 0; i < D; i++)
            inverse[arm][i][i] = 1.0 / regularization;
}

/* means[t][arm], rewards[t][unit][arm]; returns the regret per unit and writes the number of probes */
double adarp(long horizon, const double *means, const double *rewards, double exploration, double regularization,
             double residual_threshold, double residual_floor, double margin, long staleness, long min_gap,
             long *probes_out)
{
    double fingerprint[K] = {0}, previous[D] = {0}, last_reward = 0, regret = 0;
    long last_probe = 0, probes = 0;
    int last_arm = 0;
    forget(regularization);
    for (long t = 1; t <= horizon; t++) {
        double phi[D] = {fingerprint[0], fingerprint[1], last_arm == 0, last_arm == 1,
                         last_arm == 0 ? last_reward : 0, last_arm == 1 ? last_reward : 0};
        double ucb[K];
        for (int arm = 0; arm < K; arm++)
            ucb[arm] = dot(theta[arm], phi) + exploration * sqrt(variance(arm, phi));

        double residual = last_reward - dot(theta[last_arm], previous);
        double z = residual / sqrt(variance(last_arm, previous) + residual_floor * residual_floor);
        long age = t - last_probe;
        int gate = fabs(z) >= residual_threshold || fabs(ucb[0] - ucb[1]) <= margin || age >= staleness;
        int probe = gate && age >= min_gap;
        int best = ucb[1] > ucb[0];
        int first = probe ? 0 : best, second = probe ? 1 : best;

        const double *mean = means + (t - 1) * K, *reward = rewards + (t - 1) * K * K;
        double reward_1 = reward[first], reward_2 = reward[K + second];
        learn(first, phi, reward_1);
        learn(second, phi, reward_2);
        if (probe) {
            last_probe = t;
            probes++;
            fingerprint[0] = reward_1;
            fingerprint[1] = reward_2;
            last_arm = reward_2 > reward_1;
            last_reward = last_arm ? reward_2 : reward_1;
        } else {
            last_arm = best;
            last_reward = (reward_1 + reward_2) / 2;
        }
        memcpy(previous, phi, sizeof phi);
        regret += (mean[0] > mean[1] ? mean[0] : mean[1]) - (mean[first] + mean[second]) / 2;
    }
    *probes_out = probes;
    return regret;
}
