/* Learners in one dimension, written from their formulas in extended precision: what ten million rounds are held to.

   REAL is long double, or double to see what precision alone makes. Every learner is a struct behind a pointer; run() plays on
   from where it stands. `given` != 0: the input holds gradients; else targets of the absolute loss, whose sign is fed back. */
#include <stdlib.h>
#include <tgmath.h>
#ifndef REAL
#define REAL long double
#endif
typedef REAL R;
#define EXPERTS 40
#define RIDGES 32
#define DRIFTS 15
#define LANE 9
#define STATES 8

static R most(R a, R b) { return a > b ? a : b; }
static R least(R a, R b) { return a < b ? a : b; }
static R within(R x, R low, R high) { return least(most(x, low), high); }
static R gradient(int given, double in, R w) { return given ? (R)in : (R)((w > in) - (w < in)); }

/* --- Tracker ------------------------------------------------------------------------------------------- */
#define LEVELS 8
#define SCALES 8
typedef struct {
    long t, n, due;
    int count, levels;
    R D, top, X, Vk, V, Lh, alarm, w, h, x[EXPERTS], L[EXPERTS];
    R r, sigma, jumps, a[2][LEVELS], b[2][LEVELS], va[LEVELS], vb[LEVELS], mu[2][LEVELS][SCALES];
} Tracker; /* filters: [0] of a level, [1] of a trend */

static R kappa(int k) { return (R)0.5 * pow((R)4, -(R)k); }

static int here(const Tracker *s, int kind, int k) { return k >= 0 && k < (kind ? s->levels - 2 : s->levels); }

static R mass(const R *mu) {
    R total = 0;
    for (int i = 0; i < SCALES; i++) total += mu[i];
    return total;
}

void *tracker_new(void) {
    Tracker *s = calloc(1, sizeof *s);
    s->D = (R)0.001;
    s->sigma = 2 * s->D;
    s->due = s->levels = 1;
    for (int i = 0; i < SCALES; i++) s->mu[0][0][i] = (R)1 / SCALES;
    return s;
}

static R follow(Tracker *s, R g) { /* the filters' mean proposal */
    R x = 0, total = 0, square = g * g;
    s->n++;
    if (s->n == 1) s->r = square;
    else if (square > 100 * s->r) s->r = square / 100;
    R G = g / sqrt(s->r);
    for (int kind = 0; kind < 2; kind++) {
        for (int k = 0; here(s, kind, k); k++) {
            R *a = &s->a[kind][k], *b = &s->b[kind][k], ra = G - *a, rb = s->w - *b, sigma = s->sigma;
            R old_a = *a, old_b = *b;
            if (kind) { s->va[k] += kappa(k) * kappa(k) / 2 * ra; s->vb[k] += kappa(k) * kappa(k) / 2 * rb; }
            *a += kappa(k) * ra + (kind ? s->va[k] : 0);
            *b += kappa(k) * rb + (kind ? s->vb[k] : 0);
            for (int i = 0; i < SCALES; i++, sigma /= 4) {
                R e = within(old_a + (s->w - old_b) / sigma, -1, 1);
                s->mu[kind][k][i] *= pow(1 + within(G * e - e * e / 2, -6, 4) / 8, 8);
                total += s->mu[kind][k][i];
                x += s->mu[kind][k][i] * (*b - sigma * *a);
            }
        }
    }
    s->r += most((R)0.005, (R)1 / s->n) * (square - s->r);
    return x / total;
}

static void move(Tracker *s) {
    R law[SCALES] = {0}, near[SCALES], far[SCALES], total = 0, rest = 0;
    for (int kind = 0; kind < 2; kind++)
        for (int k = 0; here(s, kind, k); k++)
            for (int i = 0; i < SCALES; i++) law[i] += s->mu[kind][k][i];
    total = mass(law);
    for (int kind = 0; kind < 2; kind++)
        for (int k = 0; here(s, kind, k); k++)
            for (int i = 0; i < SCALES; i++) s->mu[kind][k][i] /= total;
    for (int i = 0; i < SCALES; i++) {
        near[i] = 0;
        for (int j = i; j < SCALES; j++) near[i] += pow((R)0.3, j - i) * law[j];
    }
    for (int i = 0; i < SCALES; i++) {
        far[i] = 0;
        for (int j = 0; j <= i; j++) far[i] += pow((R)0.7, i - j) * near[j];
        rest += far[i];
    }
    if (s->levels > 1) s->jumps += 8 * (R)0.1 * kappa(1) * mass(s->mu[0][1]);
    R H = 8 * least(((R)0.15 + s->jumps) / (30 + s->n), (R)0.02);
    Tracker o = *s; /* as it was */
    for (int kind = 0; kind < 2; kind++) {
        for (int k = 0; here(s, kind, k); k++) {
            R pass = 8 * (R)0.1 * kappa(k), before = 4 * pass;
            int twin = here(s, 1 - kind, k);
            R stay = (1 - H) * (1 - (here(s, kind, k + 1) ? pass : 0) - (twin ? pass : 0));
            R come = k ? (1 - H) * before : 0, cross = twin ? (1 - H) * pass : 0;
            R m0 = stay * mass(o.mu[kind][k]), m1 = k ? come * mass(o.mu[kind][k - 1]) : 0;
            R m2 = twin ? cross * mass(o.mu[1 - kind][k]) : 0, m3 = k == 0 && !kind ? H : 0;
            R all = m0 + m1 + m2 + m3 + (R)1e-250;
            int j = k ? k - 1 : 0;
            s->a[kind][k] = (m0 * o.a[kind][k] + m1 * o.a[kind][j] + m2 * o.a[1 - kind][k]) / all;
            s->b[kind][k] = (m0 * o.b[kind][k] + m1 * o.b[kind][j] + m2 * o.b[1 - kind][k] + m3 * s->h) / all;
            if (kind) {
                s->va[k] = (m0 * o.va[k] + m1 * o.va[j]) / all;
                s->vb[k] = (m0 * o.vb[k] + m1 * o.vb[j]) / all;
            }
            for (int i = 0; i < SCALES; i++)
                s->mu[kind][k][i] = stay * o.mu[kind][k][i] + come * o.mu[kind][j][i]
                    + cross * o.mu[1 - kind][k][i] + m3 * far[i] / rest;
        }
    }
}

static void join(Tracker *s) {
    for (; s->t >= s->due; s->due *= 16) {
        s->x[s->count] = s->w;
        s->L[s->count++] = -s->X;
    }
    if (s->levels < LEVELS && s->t >= 2L << 2 * s->levels) {
        int k = s->levels++;
        s->a[0][k] = s->a[0][k - 1];
        s->b[0][k] = s->b[0][k - 1];
        if (k >= 2) {
            s->a[1][k - 2] = s->a[0][k - 2];
            s->b[1][k - 2] = s->b[0][k - 2];
        }
    }
}

static void grow(Tracker *s) {
    R t = s->n, square = s->top * s->top;
    int alarm = s->alarm >= (R)0.5 * t * pow(log(exp((R)1) + t), 2);
    R share = least((R)1.4, (R)0.2 + (R)0.02 * s->V / square);
    if (s->D >= 1e150 || !(alarm || s->X >= share * s->D * sqrt(s->Vk + square))) return;
    if (alarm) s->alarm /= 2;
    s->D *= 2;
    s->X = s->Vk = s->Lh = 0;
    for (int i = 0; i < s->count; i++) s->L[i] = 0;
    for (; 2 * s->D >= 4 * s->sigma; s->sigma *= 4) {
        for (int kind = 0; kind < 2; kind++)
            for (int k = 0; here(s, kind, k); k++) {
                for (int i = SCALES - 1; i > 0; i--) s->mu[kind][k][i] = s->mu[kind][k][i - 1];
                s->mu[kind][k][0] = 0;
            }
        s->mu[0][0][0] = (R)0.05;
    }
}

void tracker_run(Tracker *s, const double *in, int given, double *out, long rounds) {
    for (long t = 0; t < rounds; t++) {
        s->t++;
        join(s);
        if (s->top == 0) {
            s->w = s->h;
        } else {
            R eta = 8 / (2 * s->D * sqrt(s->Vk + s->top * s->top)), delta = (R)1e-5;
            R logs[EXPERTS + 1], best = logs[0] = log(1 - delta) - eta * s->Lh, total = 0, mean = 0;
            for (int i = 0; i < s->count; i++) {
                logs[i + 1] = log(delta / ((R)(i + 1) * (i + 2))) - eta * s->L[i];
                best = most(best, logs[i + 1]);
            }
            for (int i = 0; i <= s->count; i++) {
                R q = exp(logs[i] - best);
                total += q;
                mean += q * (i ? s->x[i - 1] : s->h);
            }
            s->w = mean / total;
        }
        out[t] = s->w;
        R g = gradient(given, in[t], s->w), a = fabs(g);
        if (a == 0) continue;
        if (s->top == 0) s->top = a;
        R after = most(s->top, a);
        g *= least(1, s->top / a);
        a = fabs(g);
        s->X -= g * s->w;
        s->Vk += a * a;
        s->V += a * a;
        s->Lh += g * s->h;
        s->alarm = (1 + s->alarm) * (1 - (R)0.8 * g * s->w / (s->D * s->top));
        R step = s->D / s->top;
        for (int i = 0; i < s->count; i++, step /= 4) {
            s->L[i] += g * s->x[i];
            s->x[i] = within(s->x[i] - step * g, -s->D, s->D);
        }
        s->h = within(follow(s, g), -s->D, s->D);
        if (s->n % 8 == 0) move(s);
        s->top = after;
        grow(s);
    }
}

/* --- potentials ------------------------------------------------------------------------------------------- */
static R integral(R q) { /* of e^{x^2} from 0 to q: all terms positive, nothing cancels */
    R term = q, total = q;
    for (int k = 1; term > total * (R)1e-21; k++) {
        term *= q * q / k;
        total += term / (2 * k + 1);
    }
    return total;
}

static R erfi_size(R S, R V, R h, R scale) {
    R U = V + 2 * h * S + 4 * h * h, q = S / sqrt(3 * U);
    return scale * (integral(q) - h * sqrt((R)0.75 / U) * exp(q * q));
}

static R free_size(R S, R V, R h, R scale) { /* Algorithm 2 with a fixed bound; V begins at 4h^2 */
    R v = V / (h * h), l = log(v), s = S / h;
    return scale / (sqrt(v) * l * l) * expm1(s <= 6 * v ? s * s / (36 * v) : s / 3 - v);
}

/* --- KernelFTRL on a mixture of exponentials, bound 1 on gradients and on k(t, t) ------------------------------------------ */
typedef struct { R fall[STATES], weight[STATES], Z[STATES], S2, V; int P, erfi; long t; } Kernel;

void *kernel_new(const double *rates, const double *weights, int P, int erfi) {
    Kernel *s = calloc(1, sizeof *s);
    s->P = P;
    s->erfi = erfi;
    for (int j = 0; j < P; j++) {
        s->fall[j] = exp(-(R)rates[j]);
        s->weight[j] = weights[j];
    }
    s->V = erfi ? 0 : 4;
    return s;
}

void kernel_run(Kernel *s, const double *in, int given, double *out, long rounds) {
    for (long t = 0; t < rounds; t++) {
        R pull = 0, diagonal = 0, w = 0;
        for (int j = 0; j < s->P; j++) {
            s->Z[j] *= s->fall[j];
            pull += s->Z[j];
            diagonal += s->weight[j];
        }
        R S = most(sqrt(most(s->S2, 0)), fabs(pull) / sqrt(diagonal));
        if (S > 0) w = -(s->erfi ? erfi_size(S, s->V, 1, 1) : free_size(S, s->V, 1, 1)) / S * pull;
        out[t] = w;
        R g = gradient(given, in[t], w);
        s->S2 += diagonal * g * g + 2 * g * pull;
        s->V += diagonal * g * g;
        for (int j = 0; j < s->P; j++) s->Z[j] += s->weight[j] * g;
    }
}

/* --- MultiScale, bound 1 on gradients ---------------------------------------------------------------------- */
typedef struct { R fall[EXPERTS], theta[EXPERTS], S2[EXPERTS], V[EXPERTS]; int levels; double due; long t; } Levels;

void *levels_new(void) {
    Levels *s = calloc(1, sizeof *s);
    s->fall[0] = 1;
    s->levels = 1;
    s->due = 1;
    return s;
}

void levels_run(Levels *s, const double *in, int given, double *out, long rounds) {
    for (long t = 0; t < rounds; t++) {
        for (s->t++; s->t >= s->due; s->due *= 4) s->fall[s->levels++] = exp(-1 / (R)s->due);
        R w = 0;
        for (int j = 0; j < s->levels; j++) {
            s->theta[j] *= s->fall[j];
            R S = sqrt(most(s->S2[j], 0));
            if (s->S2[j] < (R)1e-8 * s->V[j]) S = most(S, fabs(s->theta[j]));
            if (S > 0) w -= erfi_size(S, s->V[j], 1, (R)0.1) / S * s->theta[j];
        }
        out[t] = w;
        R g = gradient(given, in[t], w);
        for (int j = 0; j < s->levels; j++) {
            s->S2[j] += g * g + 2 * g * s->theta[j];
            s->V[j] += g * g;
            s->theta[j] += g;
        }
    }
}

/* --- KernelVAW on a mixture of exponentials: the Kalman filter with full covariances ---------------------- */
typedef struct { R fall[STATES], weight[STATES], C[STATES][STATES], x[STATES], ridge; int P, spline; long t; } Vaw;

void *vaw_new(const double *rates, const double *weights, int P, double ridge) { /* P = 0: the spline with offset 1 */
    Vaw *s = calloc(1, sizeof *s);
    s->spline = P == 0;
    s->P = P ? P : 1;
    s->ridge = ridge;
    for (int j = 0; j < s->P; j++) {
        s->fall[j] = P ? exp(-(R)rates[j]) : 1;
        s->weight[j] = P ? weights[j] : 1;
        s->C[j][j] = s->weight[j];
    }
    return s;
}

void vaw_run(Vaw *s, const double *y, int given, double *out, long rounds) {
    (void)given;
    for (long t = 0; t < rounds; t++, s->t++) {
        R v = 0, mean = 0, gain[STATES];
        for (int i = 0; i < s->P; i++) {
            if (s->t || s->spline) {
                for (int j = 0; j < s->P; j++) s->C[i][j] *= s->fall[i] * s->fall[j];
                s->C[i][i] += s->spline ? 1 : s->weight[i] * (1 - s->fall[i] * s->fall[i]);
                s->x[i] *= s->fall[i];
            }
            mean += s->x[i];
        }
        for (int i = 0; i < s->P; i++) {
            gain[i] = 0;
            for (int j = 0; j < s->P; j++) gain[i] += s->C[i][j];
            v += gain[i];
        }
        R S = v + s->ridge;
        out[t] = s->ridge / S * mean;
        for (int i = 0; i < s->P; i++) {
            s->x[i] += gain[i] / S * (y[t] - mean);
            for (int j = 0; j < s->P; j++) s->C[i][j] -= gain[i] * gain[j] / S;
        }
    }
}

/* --- KernelForecaster: splines on ridges 4^i, ML-Poly ------------------------------------------------------------ */
typedef struct { R lam[RIDGES], m[RIDGES], C[RIDGES], regret[RIDGES], V[RIDGES], range, record, centre; long t; } Grid;

void *grid_new(void) {
    Grid *s = calloc(1, sizeof *s);
    for (int i = 0; i < RIDGES; i++) s->C[i] = s->lam[i] = ldexp((R)1, 2 * i);
    return s;
}

void grid_run(Grid *s, const double *y, int given, double *out, long rounds) {
    (void)given;
    for (long t = 0; t < rounds; t++) {
        int experts = 1;
        out[t] = 0;
        if (s->t++ == 0) s->centre = y[t];
        else out[t] = s->centre;
        while (experts < RIDGES && (1L << (experts - 1)) < s->t) experts++;
        R p[RIDGES], w[RIDGES], total = 0, f = 0, Y = s->range;
        for (int i = 0; i < experts; i++) {
            R lam = s->lam[i];
            p[i] = within(lam / (s->C[i] + 1 + lam) * s->m[i], -Y, Y);
            w[i] = s->record > 0 ? most(s->regret[i], 0) / (s->record + s->V[i]) : 0;
            total += w[i];
        }
        for (int i = 0; i < experts; i++) f += (total > 0 ? w[i] / total : (R)1 / experts) * p[i];
        f = Y > 0 ? within(f, -Y, Y) : 0;
        out[t] += f;
        R own = y[t] - s->centre;
        if (Y > 0) {
            R seen = within(own, -Y, Y);
            for (int i = 0; i < experts; i++) {
                R r = (f - seen) * (f - p[i]);
                s->record = most(s->record, r * r);
                s->regret[i] += r;
                s->V[i] += r * r;
            }
        }
        s->range = most(Y, fabs(own));
        for (int i = 0; i < RIDGES; i++) {
            R lam = s->lam[i], v = s->C[i] + 1, part = v / (v + lam);
            s->m[i] += part * (own - s->m[i]);
            s->C[i] = part * lam;
        }
    }
}

/* --- ML-Poly and its blend, as all tracking models have it ---------------------------------------------- */
static void weigh(int K, const R *regret, const R *squared, const R *loss, R top, R learned, R *poly, R *blend) {
    R total = 0, mass = 0, low = loss[0], early = 300 / (300 + learned);
    for (int k = 0; k < K; k++) {
        R spread = top + squared[k];
        total += poly[k] = regret[k] > 0 && spread > 0 ? regret[k] / spread : 0;
        low = least(low, loss[k]);
    }
    for (int k = 0; k < K; k++) mass += blend[k] = exp((low - loss[k]) / 4);
    for (int k = 0; k < K; k++) {
        poly[k] = total > 0 ? poly[k] / total : (R)1 / K;
        blend[k] = (1 - early) * poly[k] + early * blend[k] / mass;
    }
}

/* --- TrackingForecaster on one feature, squared loss ---------------------------------------------------- */
static const double DRIFT[DRIFTS][2] = {{0, 0}, {0, 1e-4}, {0, 1e-2}, {0, 1}, {0, 1e2}, {1e-6, 1e-6}, {1e-4, 1e-4}, {1e-2, 1e-2},
    {1, 1}, {1e-6, 1e-4}, {1e-4, 1e-2}, {1e-2, 1}, {1, 1e2}, {1e-2, 0}, {1, 0}};
typedef struct {
    R mean, squares, centre, scale; /* of the feature */
    R a[DRIFTS], b[DRIFTS], aa[DRIFTS], ab[DRIFTS], bb[DRIFTS]; /* slope, intercept and their covariances */
    R regret[DRIFTS], squared[DRIFTS], loss[DRIFTS], top, learned, noise, memory, origin, low, high;
    long count;
} Regression;

void *regression_new(void) {
    Regression *s = calloc(1, sizeof *s);
    for (int k = 0; k < DRIFTS; k++) { s->aa[k] = 10; s->bb[k] = 100; }
    return s;
}

static R standardised(Regression *s, R x) {
    R before = s->count >= 10 ? sqrt(s->squares / s->count) : 0, value = x;
    if (before > 0) value = within(x, s->mean - 20 * before, s->mean + 20 * before);
    long number = ++s->count;
    R gap = value - s->mean;
    s->mean += gap / number;
    s->squares += gap * (value - s->mean);
    R spread = sqrt(s->squares / number);
    if (spread > 0 && s->scale == 0) {
        s->centre = s->mean;
        s->scale = spread;
    } else if (spread > 0 && ((number & (number - 1)) == 0 || spread > 2 * s->scale)) {
        R ratio = spread / s->scale, shift = (s->mean - s->centre) / s->scale;
        s->centre = s->mean;
        s->scale = spread;
        for (int k = 0; k < DRIFTS; k++) {
            if (ratio > 100) {
                s->a[k] = s->ab[k] = 0;
                s->aa[k] = 10;
                continue;
            }
            s->b[k] += shift * s->a[k];
            s->a[k] *= ratio;
            s->bb[k] += 2 * shift * s->ab[k] + shift * shift * s->aa[k];
            s->ab[k] = ratio * (s->ab[k] + shift * s->aa[k]);
            s->aa[k] *= ratio * ratio;
        }
    }
    return s->scale > 0 ? (within(x, s->mean - 10 * spread, s->mean + 10 * spread) - s->centre) / s->scale : 0;
}

void regression_run(Regression *s, const double *xy, int given, double *out, long rounds) { /* pairs (x, y) */
    (void)given;
    for (long t = 0; t < rounds; t++) {
        R z = standardised(s, xy[2 * t]), y = xy[2 * t + 1];
        R poly[DRIFTS], blend[DRIFTS], raw[DRIFTS], p[DRIFTS], v[DRIFTS], ga[DRIFTS], gb[DRIFTS], pooled = 0, f = 0;
        weigh(DRIFTS, s->regret, s->squared, s->loss, s->top, s->learned, poly, blend);
        R reach = s->high - s->low;
        for (int k = 0; k < DRIFTS; k++) {
            s->aa[k] += (R)DRIFT[k][0];
            s->bb[k] += (R)DRIFT[k][1];
            raw[k] = z * s->a[k] + s->b[k];
            ga[k] = s->aa[k] * z + s->ab[k];
            gb[k] = s->ab[k] * z + s->bb[k];
            v[k] = ga[k] * z + gb[k];
            p[k] = within(raw[k], s->low - reach, s->high + reach);
            pooled += poly[k] * p[k];
            f += blend[k] * p[k];
        }
        out[t] = s->origin + f;
        if (s->learned == 0) s->origin = y;
        s->learned += 1;
        y -= s->origin;
        s->low = least(s->low, y);
        s->high = most(s->high, y);
        s->memory = (R)0.99 * s->memory + 1;
        R error = (y - f) * (y - f), counted = error, far = 0, steep = 2 * (pooled - y), digits = (R)1e-50 * (s->high - s->low);
        if (s->memory >= 11 && s->noise > 0) counted = least(counted, 100 * s->noise);
        s->noise += (counted - s->noise) / s->memory;
        R unit = most(most(s->noise, error / 100), digits * digits), scale = unit > (R)1e-290 ? 1 / unit : 0;
        for (int k = 0; k < DRIFTS; k++) far = most(far, fabs(steep * (pooled - p[k]) * scale));
        R share = far > 200 ? scale * (200 / far) : scale;
        for (int k = 0; k < DRIFTS; k++) {
            R loss = (p[k] - y) * (p[k] - y), regret = steep * (pooled - p[k]) * share;
            s->loss[k] += loss * scale;
            if (regret > 0) regret = most(regret - most((loss - (pooled - y) * (pooled - y)) * share - 25, 0), 0);
            s->regret[k] += regret;
            s->squared[k] += regret * regret;
            s->top = most(s->top, regret * regret);
            R S = v[k] + 1, step = (y - raw[k]) / S;
            s->a[k] += ga[k] * step;
            s->b[k] += gb[k] * step;
            s->aa[k] -= ga[k] * ga[k] / S;
            s->ab[k] -= ga[k] * gb[k] / S;
            s->bb[k] -= gb[k] * gb[k] / S;
        }
    }
}

/* --- IntervalTracker (radii of scores) and QuantileTracker (values) ------------------------------- */
static const double MEMORY[6] = {2, 5, 15, 50, 200, 1000};
static const double SCORE_STEP[LANE] = {0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.06, 0.2};
static const double VALUE_STEP[LANE] = {0.04, 0.04, 0.04, 0.04, 0.04, 0.04, 0.05, 0.15, 0.5};
typedef struct {
    R centre[LANE], scale[LANE], multiple[LANE], count[LANE], value[LANE], heard[LANE];
    R regret[LANE], squared[LANE], loss[LANE], top, learned, noise, memory, origin, low, high, pooled, forecast;
    R q, first, start, seen, misses;
    int values, begun;
} Estimator;

void *estimator_new(double q, double first, int values) {
    Estimator *s = calloc(1, sizeof *s);
    s->q = q;
    s->first = first;
    s->values = values;
    return s;
}

static R pinball(R q, R p, R y) { return most(-q * (p - y), (1 - q) * (p - y)); }

static void pool(Estimator *s) {
    R poly[LANE], blend[LANE], middle = 0, rare = least(s->q, 1 - s->q);
    weigh(LANE, s->regret, s->squared, s->loss, s->top, s->learned, poly, blend);
    if (s->noise > 0) {
        for (int i = 0; i < LANE; i++) middle += poly[i] * s->heard[i];
        for (int i = 0; i < LANE; i++) s->heard[i] = within(s->heard[i], middle - 3 / rare * s->noise, middle + 3 / rare * s->noise);
    }
    s->pooled = s->forecast = 0;
    for (int i = 0; i < LANE; i++) {
        s->pooled += poly[i] * s->heard[i];
        s->forecast += blend[i] * s->heard[i];
    }
}

static void credit(Estimator *s, R y) {
    R loss = pinball(s->q, s->forecast, y), counted = loss;
    s->memory = (R)0.99 * s->memory + 1;
    if (s->memory >= 11 && s->noise > 0) counted = least(loss, 100 * s->noise);
    s->noise += (counted - s->noise) / s->memory;
    R unit = most(most(s->noise, loss / 100), (R)1e-40 * (s->high - s->low)), slope = s->pooled >= y ? 1 - s->q : -s->q;
    for (int i = 0; i < LANE; i++) {
        R regret = slope * ((s->pooled - s->heard[i]) / unit);
        s->regret[i] += regret;
        s->squared[i] += regret * regret;
        s->loss[i] += pinball(s->q, s->heard[i], y) / unit;
        s->top = most(s->top, regret * regret);
    }
}

static void learn_score(Estimator *s, R y) {
    if (!s->begun) {
        if (y > 0) {
            s->begun = 1;
            s->start = s->high = y;
            for (int i = 0; i < LANE; i++) { s->scale[i] = y; s->count[i] = 1; s->multiple[i] = s->first; }
        }
        return;
    }
    credit(s, y);
    s->high = most(s->high, y);
    R rare = least(s->q, 1 - s->q), early = 1 / (3 * (1 + rare * s->learned));
    s->learned += 1;
    for (int i = 0; i < LANE; i++) {
        R p = s->value[i], multiple = s->multiple[i] - most(early, (R)SCORE_STEP[i]) * (p >= y ? 1 - s->q : -s->q);
        if (i >= 6) {
            s->multiple[i] = within(multiple, -690, 690);
            continue;
        }
        s->multiple[i] = within(multiple, s->first - 3, 3 - log(rare));
        s->count[i] = (1 - 1 / (R)MEMORY[i]) * s->count[i] + 1;
        R counted = least(y, 30 * most(p, s->scale[i]));
        s->scale[i] = most(s->scale[i] + (counted - s->scale[i]) / s->count[i], (R)1e-40 * s->high);
    }
}

static void learn_value(Estimator *s, R y) {
    if (s->begun == 0) {
        s->origin = y;
        s->begun = 1;
        return;
    }
    y -= s->origin;
    if (s->begun == 1) {
        if (y != 0) {
            s->begun = 2;
            s->low = least(y, 0);
            s->high = most(y, 0);
            for (int i = 0; i < LANE; i++) {
                s->centre[i] = y / 2;
                s->scale[i] = fabs(y) / 2;
                s->count[i] = 2;
                s->multiple[i] = s->first;
                if (i >= 6) s->centre[i] += s->first * s->scale[i];
            }
        }
        return;
    }
    credit(s, y);
    s->low = least(s->low, y);
    s->high = most(s->high, y);
    R rare = least(s->q, 1 - s->q), early = 2 / (3 * (1 + rare * s->learned)), unit = s->scale[3];
    s->learned += 1;
    for (int i = 0; i < LANE; i++) {
        R move = most(early, (R)VALUE_STEP[i]) * (s->value[i] >= y ? 1 - s->q : -s->q);
        if (i >= 6) {
            s->centre[i] -= move * unit;
            continue;
        }
        s->multiple[i] = within(s->multiple[i] - move, -30 / rare, 30 / rare);
        s->count[i] = (1 - 1 / (R)MEMORY[i]) * s->count[i] + 1;
        R gap = within(y - s->centre[i], -30 * s->scale[i], 30 * s->scale[i]);
        s->centre[i] += gap / s->count[i];
        s->scale[i] = most(s->scale[i] + (fabs(gap) - s->scale[i]) / s->count[i], (R)1e-40 * (s->high - s->low));
    }
}

void estimator_run(Estimator *s, const double *y, int given, double *out, long rounds) { /* scores |y| around 0, or values y */
    (void)given;
    for (long t = 0; t < rounds; t++) {
        R reach = s->high - s->low, x, push, play;
        if (s->begun == (s->values ? 2 : 1)) {
            for (int i = 0; i < LANE; i++) {
                if (s->values) {
                    s->value[i] = s->centre[i] + (i < 6 ? s->multiple[i] * s->scale[i] : 0);
                    s->heard[i] = within(s->value[i], s->low - reach, s->high + reach);
                } else {
                    s->value[i] = exp(s->multiple[i]) * (i < 6 ? s->scale[i] : s->start);
                    s->heard[i] = least(s->value[i], 2 * s->high);
                }
            }
            pool(s);
        }
        x = (s->misses - (1 - s->q) * s->seen) / (3 * sqrt(s->q * (1 - s->q) * (s->seen + 100)));
        push = within((R)0.1 * x / (1 - x * x), -2, 2);
        R known = s->seen - 1, b = (8 * known + 3) / (8 * known + 1), z = (R)0.7979 * exp(s->first);
        if (x >= 1 || (!s->values && known < 2)) play = INFINITY; /* the first score does not count, and two are needed */
        else if (x <= -1) play = -INFINITY;
        else if (s->values) play = s->origin + (s->forecast + 2 * push * s->scale[3]);
        else play = s->forecast * exp(push) * (known <= 20 ? sqrt(known * expm1(b * z * b * z / known)) / z : 1);
        out[t] = play;
        if (!s->values || s->begun) {
            s->seen += 1;
            s->misses += (s->values ? (R)y[t] : fabs((R)y[t])) > play;
        }
        if (s->values) learn_value(s, y[t]);
        else if (s->seen > 1) learn_score(s, fabs((R)y[t]));
    }
}
