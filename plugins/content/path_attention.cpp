// PaTH, Yang et al. 2025: on its way from j to i a key passes a reflection-like matrix
// of every token between them,
//   S_ij = scale q_i^T H_i H_(i-1) .. H_(j+1) k_j,  H_t = 1 - beta_t w_t w_t^T.
// The products of a chunk of C tokens are taken at once in their WY form: with W the
// chunk's w_t as rows, V those of beta_t w_t, L its strictly lower part of V W^T and N = (1 +
// L)^-1,
//   H_last .. H_first = 1 - W^T N V as it acts from the right on q_i^T.
#include <pesuite/pesuite.hpp>

namespace {

struct PathAttention : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::choice("forget", "none", "none|plain|scaled",
                  "add the logarithms of forgetting gates between j and i (PaTH-FoX), as they are "
                  "or times the scale of q.k, as in the authors' reference code"),
      pes::flag("raw", "false",
                "take w, beta and the gates' logarithms from the projections as they are, instead "
                "of unit vectors, 2 sigmoid and ln sigmoid")};
  static constexpr pes_card card = pes::card<PathAttention>(
      {.name = "path_attention",
       .summary = "keys pass a learned reflection of every token between them and the query (PaTH)",
       .taxonomy = "relative, learned, multiplicative, contextual",
       .paper = "Yang et al. 2025, arXiv:2505.16381",
       .bibtex =
           "@inproceedings{yang2025path, title={PaTH Attention: Position Encoding via "
           "Accumulating Householder Transformations}, author={Yang, Songlin and Shen, Yikang "
           "and Wen, Kaiyue and Tan, Shawn and Mishra, Mayank and Ren, Liliang and Panda, "
           "Rameswar and Kim, Yoon}, booktitle={NeurIPS}, year={2025}}",
       .claims = PES_RELATIVE | PES_UNBOUNDED});
  static constexpr std::int64_t C = 32;  // tokens of a chunk

  std::int64_t heads, groups, head_dim;
  bool raw, forget, scaled;
  pes::Param w, beta, gate;
  pes::Tensor one, lower, strictly_lower;  // [C, C]

  PathAttention(const pes_model& m, const pes::Values& v)
      : heads(m.heads),
        groups(m.kv_heads),
        head_dim(m.head_dim),
        raw(v.flag("raw")),
        forget(!v.is("forget", "none")),
        scaled(v.is("forget", "scaled")),
        w(param("w", {m.layers, m.width, heads * head_dim}, pes::normal(0.02), true)),
        beta(param("beta", {m.layers, m.width, heads}, pes::normal(0.02), true)) {
    if (forget) gate = param("gate", {m.layers, m.width, heads}, pes::normal(0.02), true);
  }
  void begin(const pes::Step& s) {
    one = s.table({C, C}, [](auto i, auto j) { return i == j ? 1.0 : 0.0; });
    lower = s.table({C, C}, [](auto i, auto j) { return i >= j ? 1.0 : 0.0; });
    strictly_lower = lower - one;
  }
  void attend(const pes::Step&, pes::Attention& a) const { a.rewrite = true; }

  // x[:, :keys] projected, [B H, keys, n]
  pes::Tensor project(const pes::Step& s, const pes::Scores& b, pes::Param p,
                      std::int64_t n) const {
    const std::int64_t keys = b.scores.extent(3);
    const pes::Tensor y = matmul(slice(b.x, 1, 0, keys), slice(s[p], 0, b.layer, 1));
    return reshape(permute(reshape(y, {s.batch, keys, heads, n}), {0, 2, 1, 3}),
                   {s.batch * heads, keys, n});
  }
  static pes::Tensor unit(pes::Tensor x) { return x / sqrt(sum(x * x, -1) + 1e-6); }
  static pes::Tensor turned(pes::Tensor x) { return permute(x, {0, 1, 3, 2}); }

  // x [N, n, D] with zeros before and behind, in chunks [N, .., C, D]. A token of zeros is H = 1.
  static pes::Tensor chunks(pes::Tensor x, std::int64_t before, std::int64_t behind) {
    const std::int64_t n = x.extent(0), length = x.extent(1), width = x.extent(2);
    const auto zeros = [&](std::int64_t count) { return Zeros{n, count, width}.on(*x.step); };
    if (before > 0) x = concat(zeros(before), x, 1);
    if (behind > 0) x = concat(x, zeros(behind), 1);
    return reshape(x, {n, (before + length + behind) / C, C, width});
  }
  struct Zeros {
    std::int64_t n, count, width;
    pes::Tensor on(const pes_step& s) const {
      return pes::Step{&s}.table({n, count, width}, [](auto, auto) { return 0.0; });
    }
  };
  static pes::Tensor chunk(pes::Tensor x, std::int64_t c) {  // [N, C, D]
    return reshape(slice(x, 1, c, 1), {x.extent(0), C, x.extent(3)});
  }
  // Side by side, as a balanced tree: each number is copied log(count) times.
  static pes::Tensor join(const std::vector<pes::Tensor>& parts, std::size_t from, std::size_t to) {
    if (to - from == 1) return parts[from];
    const std::size_t middle = (from + to) / 2;
    return concat(join(parts, from, middle), join(parts, middle, to), -1);
  }

  void rewrite(const pes::Step& s, pes::Scores& b) const {
    const std::int64_t rows = b.scores.extent(2), keys = b.scores.extent(3), D = head_dim,
                       N = s.batch * heads, before = (C - b.first % C) % C,
                       behind = (C - rows % C) % C, past = (b.first + before) / C;
    const pes::Tensor q = reshape(b.q, {N, rows, D});
    // the heads of a group share their keys
    const pes::Tensor copies = s.table({1, heads / groups, 1}, [](auto, auto) { return 0.0; });
    const pes::Tensor k =
        reshape(reshape(b.k, {s.batch * groups, 1, keys * D}) + copies, {N, keys, D});
    const pes::Tensor direction = raw ? project(s, b, w, D) : unit(project(s, b, w, D));
    const pes::Tensor strength =
        raw ? project(s, b, beta, 1) : sigmoid(project(s, b, beta, 1)) * 2.0;

    const pes::Tensor Q = chunks(q, 0, behind), K = chunks(k, before, behind),
                      W = chunks(direction, before, behind),
                      V = chunks(direction * strength, before, behind);  // [N, chunks, C, D]
    // (1 + L)^-1 = (1 - L)(1 + L^2)(1 + L^4) .., since L^C = 0
    pes::Tensor power = matmul(V, W, true) * strictly_lower * -1.0, inverse = power + one;
    for (std::int64_t n = 2; n < C; n *= 2) {
      power = matmul(power, power);
      inverse = inverse + matmul(inverse, power);
    }
    const pes::Tensor Z = matmul(inverse, matmul(V, K, true) * strictly_lower);
    const pes::Tensor U = matmul(inverse, V);
    const pes::Tensor far_keys = K - matmul(turned(Z), W);  // k_j, moved to its chunk's end
    // queries against their own chunk, and moved to its start
    const std::int64_t own = Q.extent(1);
    const auto of_own = [&](pes::Tensor x) { return slice(x, 1, past, own); };
    const pes::Tensor QW = matmul(Q, of_own(W), true) * lower;
    const pes::Tensor near = matmul(Q, of_own(K), true) - matmul(QW, of_own(Z));
    const pes::Tensor start = Q - matmul(QW, of_own(U));

    std::vector<pes::Tensor> columns(static_cast<std::size_t>(past + own));
    pes::Tensor moved;  // the queries of all later chunks, moved to the end of chunk c
    for (std::int64_t c = past + own - 1; c >= 0; --c) {
      pes::Tensor column = moved.step == nullptr ? moved : matmul(moved, chunk(far_keys, c), true);
      if (moved.step != nullptr)
        moved = moved - matmul(matmul(moved, chunk(W, c), true), chunk(U, c));
      if (c >= past) {
        const std::int64_t r = c - past;
        column = column.step == nullptr ? chunk(near, r) : concat(chunk(near, r), column, 1);
        if (r > 0) column = concat(Zeros{N, r * C, C}.on(*s.c), column, 1);
        moved = moved.step == nullptr ? chunk(start, r) : concat(chunk(start, r), moved, 1);
      }
      columns[static_cast<std::size_t>(c)] = column;
    }
    pes::Tensor product = join(columns, 0, columns.size());
    product = slice(slice(product, 1, 0, rows), 2, before, keys) - matmul(q, k, true);
    if (forget) {  // the part of the queries is the same for a whole row, which softmax ignores
      const pes::Tensor g = project(s, b, gate, 1);
      const pes::Tensor passed = cumsum(raw ? g : -softplus(-g), 1);  // [N, keys, 1]
      product = product - reshape(passed, {N, 1, keys}) * (scaled ? 1 : 1 / b.scale);
    }
    b.scores = b.scores + reshape(product * b.scale, {s.batch, heads, rows, keys});
  }
};

}  // namespace

extern const pes_encoding path_attention = pes::encoding<PathAttention>;
