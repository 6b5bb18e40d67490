// Attention, one row of scores at a time.
#include "backend/reference/reference.h"

namespace pesuite::reference {

namespace {

struct Sizes {
  Index B, H, T, D, G, S, E, group;
  Index row, end, keys;  // queries row .. end - 1 see the first keys
  explicit Sizes(const AttentionInput& a)
      : B(a.q.shape[0]),
        H(a.q.shape[1]),
        T(a.q.shape[2]),
        D(a.q.shape[3]),
        G(a.k.shape[1]),
        S(a.k.shape[2]),
        E(a.v.shape[3]),
        group(H / G),
        row(a.row),
        end(a.row + a.own_rows()),
        keys(a.keys()) {}
  Strides bias(const AttentionInput& a) const {
    return broadcast_strides(a.bias.shape, {B, H, end - row, keys});
  }
};
// Scores of query i against the keys it sees.
std::vector<double> score_row(const Sizes& z, const AttentionInput& a, Index b, Index h, Index i) {
  const Strides sb = z.bias(a);
  std::vector<double> s(static_cast<std::size_t>(std::min(z.S, a.first + i + 1)));
  for (std::size_t j = 0; j < s.size(); ++j) {
    const Index jj = static_cast<Index>(j);
    const double* q = in(a.q) + ((b * z.H + h) * z.T + i) * z.D;
    const double* k = in(a.k) + ((b * z.G + h / z.group) * z.S + jj) * z.D;
    for (Index d = 0; d < z.D; ++d) s[j] += q[d] * k[d];
    s[j] *= a.scale;
    if (a.distance)
      s[j] += in(
          a.distance)[(a.distance.shape[0] > 1 ? h * a.distance.shape[1] : 0) + a.first + i - jj];
    if (a.bias)
      s[j] += in(a.bias)[b * sb.s[0] + h * sb.s[1] + (i - z.row) * sb.s[2] + jj * sb.s[3]];
  }
  if (!a.starts.empty())
    std::fill_n(s.begin(), a.starts[static_cast<std::size_t>(b * z.T + i)],
                -std::numeric_limits<double>::infinity());
  return s;
}
double mask(const Sizes& z, const AttentionInput& a, Index b, Index h, Index i, Index j) {
  return a.dropout.p == 0 ? 1 : kept(a.dropout, (b * z.H + h) * z.T + i, j);
}

}  // namespace

void Reference::attention_forward(Out y, Out lse, const AttentionInput& a) {
  const Sizes z(a);
  for (Index b = 0; b < z.B; ++b)
    for (Index h = 0; h < z.H; ++h)
      for (Index i = z.row; i < z.end; ++i) {
        const std::vector<double> s = score_row(z, a, b, h, i);
        const double top = *std::max_element(s.begin(), s.end());
        double total = 0;
        for (const double x : s) total += std::exp(x - top);
        const double l = top + std::log(total);
        out(lse)[(b * z.H + h) * z.T + i] = l;
        for (Index e = 0; e < z.E; ++e) {
          double sum = 0;
          for (std::size_t j = 0; j < s.size(); ++j)
            sum += std::exp(s[j] - l) * mask(z, a, b, h, i, static_cast<Index>(j)) *
                   in(a.v)[((b * z.G + h / z.group) * z.S + static_cast<Index>(j)) * z.E + e];
          put(y, (b * z.T + i) * z.H * z.E + h * z.E + e, sum);
        }
      }
}

void Reference::attention_backward(Out dq, Out dk, Out dv, Out ddistance, Out dbias, View dy, View,
                                   View lse, const AttentionInput& a) {
  const Sizes z(a);
  if (dq && !dq.add)
    for (Index h = 0; h < z.B * z.H; ++h)
      std::fill_n(out(dq) + (h * z.T + z.row) * z.D, (z.end - z.row) * z.D, 0.0);
  dq.add = true;
  dk = accumulator(dk);
  dv = accumulator(dv);
  ddistance = accumulator(ddistance);
  dbias = accumulator(dbias);
  const Strides sb = z.bias(a);
  for (Index b = 0; b < z.B; ++b)
    for (Index h = 0; h < z.H; ++h)
      for (Index i = z.row; i < z.end; ++i) {
        const std::vector<double> s = score_row(z, a, b, h, i);
        const double l = in(lse)[(b * z.H + h) * z.T + i];
        const double* g = in(dy) + (b * z.T + i) * z.H * z.E + h * z.E;
        std::vector<double> p(s.size()), dp(s.size());
        double delta = 0;
        for (std::size_t j = 0; j < s.size(); ++j) {
          const Index jj = static_cast<Index>(j);
          const Index kv = (b * z.G + h / z.group) * z.S + jj;
          const double keep = mask(z, a, b, h, i, jj);
          p[j] = std::exp(s[j] - l);
          for (Index e = 0; e < z.E; ++e) {
            dp[j] += keep * g[e] * in(a.v)[kv * z.E + e];
            if (dv) put(dv, kv * z.E + e, keep * p[j] * g[e]);
          }
          delta += p[j] * dp[j];
        }
        for (std::size_t j = 0; j < s.size(); ++j) {
          const Index jj = static_cast<Index>(j);
          const double ds = p[j] * (dp[j] - delta);
          const Index q = ((b * z.H + h) * z.T + i) * z.D,
                      k = ((b * z.G + h / z.group) * z.S + jj) * z.D;
          for (Index d = 0; d < z.D; ++d) {
            if (dq) put(dq, q + d, a.scale * ds * in(a.k)[k + d]);
            if (dk) put(dk, k + d, a.scale * ds * in(a.q)[q + d]);
          }
          if (ddistance)
            put(ddistance,
                (a.distance.shape[0] > 1 ? h * a.distance.shape[1] : 0) + a.first + i - jj, ds);
          if (dbias)
            put(dbias, b * sb.s[0] + h * sb.s[1] + (i - z.row) * sb.s[2] + jj * sb.s[3], ds);
        }
      }
}

// Packed keys are the keys.
Shape Reference::packed_shape(const Shape& keys) const {
  return keys;
}
void Reference::pack_keys(Out packed, View keys) {
  std::copy_n(in(keys), keys.shape.count(), out(packed));
}

namespace {
// Calls body(element of a block of scores, row of q or y's head, row of k or v) for each (row,
// key).
template <class F>
void each_score(const Shape& scores, Index G, Index T, Index S, Index first, F body) {
  const Index B = scores[0], H = scores[1], R = scores[2], K = scores[3];
  for (Index b = 0; b < B; ++b)
    for (Index h = 0; h < H; ++h)
      for (Index r = 0; r < R; ++r)
        for (Index j = 0; j < K; ++j)
          body(((b * H + h) * R + r) * K + j, (b * H + h) * T + first + r,
               (b * G + h / (H / G)) * S + j);
}
}  // namespace

void Reference::score_rows_forward(Out scores, View q, View k, Index first, double scale) {
  const Index D = q.shape[3];
  each_score(scores.shape, k.shape[1], q.shape[2], k.shape[2], first,
             [&](Index s, Index i, Index j) {
               double sum = 0;
               for (Index d = 0; d < D; ++d) sum += in(q)[i * D + d] * in(k)[j * D + d];
               put(scores, s, scale * sum);
             });
}
void Reference::score_rows_backward(Out dq, Out dk, View dscores, View q, View k, Index first,
                                    double scale) {
  const Index D = q.shape[3], T = q.shape[2], R = dscores.shape[2];
  if (dq && !dq.add)
    for (Index h = 0; h < q.shape[0] * q.shape[1]; ++h)
      std::fill_n(out(dq) + (h * T + first) * D, R * D, 0.0);
  dq.add = dk.add = true;
  each_score(dscores.shape, k.shape[1], T, k.shape[2], first, [&](Index s, Index i, Index j) {
    const double g = scale * in(dscores)[s];
    for (Index d = 0; d < D; ++d) {
      if (dq) put(dq, i * D + d, g * in(k)[j * D + d]);
      if (dk) put(dk, j * D + d, g * in(q)[i * D + d]);
    }
  });
}

namespace {
// Place in y [B, T, H E] of row i of [B, H, T].
Index mixed_row(Index i, Index H, Index T, Index E) {
  return (i / T / H * T + i % T) * H * E + i / T % H * E;
}
}  // namespace

void Reference::mix_rows_forward(Out y, View p, View v, Index first) {
  const Index E = v.shape[3], T = y.shape[1], H = p.shape[1];
  if (!y.add)
    for (Index b = 0; b < p.shape[0]; ++b)
      std::fill_n(out(y) + (b * T + first) * H * E, p.shape[2] * H * E, 0.0);
  y.add = true;
  each_score(p.shape, v.shape[1], T, v.shape[2], first, [&](Index s, Index i, Index j) {
    for (Index e = 0; e < E; ++e) put(y, mixed_row(i, H, T, E) + e, in(p)[s] * in(v)[j * E + e]);
  });
}
void Reference::mix_rows_backward(Out dp, Out dv, View dy, View p, View v, Index first) {
  const Index E = v.shape[3], T = dy.shape[1], H = p.shape[1];
  dv.add = true;
  each_score(p.shape, v.shape[1], T, v.shape[2], first, [&](Index s, Index i, Index j) {
    const double* g = in(dy) + mixed_row(i, H, T, E);
    double sum = 0;
    for (Index e = 0; e < E; ++e) {
      sum += g[e] * in(v)[j * E + e];
      if (dv) put(dv, j * E + e, in(p)[s] * g[e]);
    }
    if (dp) put(dp, s, sum);
  });
}

}  // namespace pesuite::reference
