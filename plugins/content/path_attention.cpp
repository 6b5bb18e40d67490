// PaTH, Yang et al. 2025: on its way from j to i a key passes a reflection-like matrix of every
// token between them,
//   S_ij = scale q_i^T H_i H_(i-1) .. H_(j+1) k_j,  H_t = 1 - beta_t w_t w_t^T.
// The products of a chunk of C tokens are taken at once in their WY form: with W the chunk's w_t as
// rows, V those of beta_t w_t, L the strictly lower part of V W^T and N = (1 + L)^-1,
//   H_last .. H_first = 1 - W^T N V.
// Keys are moved to the end of their chunk once; queries walk from chunk to chunk to the first.
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
       .claims = PES_RELATIVE | PES_UNBOUNDED,
       .cost = "high",
       .rating = "good (Yang et al. 2025)",
       .use_if = "the task tracks a state along the sequence|speed does not matter"});
  static constexpr std::int64_t C = 32;  // tokens of a chunk

  std::int64_t heads, groups, head_dim;
  bool raw, forget, scaled;
  pes::Param w, beta, gate;
  pes::Tensor one, lower;            // [C, C]
  std::vector<pes::Tensor> corners;  // of n = 1, 2, 4 ..: the lower left quarters of blocks of 2n

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
    corners.clear();
    for (std::int64_t n = 1; n < C; n *= 2)
      corners.push_back(s.table({C, C}, [n](auto i, auto j) {
        return i / (2 * n) == j / (2 * n) && i / n > j / n ? 1.0 : 0.0;
      }));
  }
  void attend(const pes::Step&, pes::Attention& a) const { a.rewrite = true; }

  // Keys up to the block's last row: those behind it, if the host shows any, are none of its rows'.
  static std::int64_t seen(const pes::Scores& b) { return b.first + b.scores.extent(2); }

  // ---- what a token brings: [B H, keys, n], projected from the layer's input
  pes::Tensor project(const pes::Step& s, const pes::Scores& b, pes::Param p,
                      std::int64_t n) const {
    const std::int64_t keys = seen(b);
    const pes::Tensor y = matmul(slice(b.x, 1, 0, keys), slice(s[p], 0, b.layer, 1));
    return reshape(permute(reshape(y, {s.batch, keys, heads, n}), {0, 2, 1, 3}),
                   {s.batch * heads, keys, n});
  }
  pes::Tensor directions(const pes::Step& s, const pes::Scores& b) const {
    const pes::Tensor x = project(s, b, w, head_dim);
    return raw ? x : x / sqrt(sum(x * x, -1) + 1e-6);
  }
  pes::Tensor strengths(const pes::Step& s, const pes::Scores& b) const {
    const pes::Tensor x = project(s, b, beta, 1);
    return raw ? x : sigmoid(x) * 2.0;
  }
  // The gates passed from the start on. Those up to the query are the same for a whole row of
  // scores, which softmax does not see, so the gates between are these with a minus.
  pes::Tensor forgotten(const pes::Step& s, const pes::Scores& b) const {  // [B H, 1, keys]
    const pes::Tensor g = project(s, b, gate, 1);
    const pes::Tensor sum = cumsum(raw ? g : -softplus(-g), 1);
    return reshape(sum, {s.batch * heads, 1, seen(b)}) * (scaled ? b.scale : 1.0);
  }
  pes::Tensor keys_by_head(const pes::Step& s, const pes::Scores& b) const {  // [B H, keys, D]
    const std::int64_t size = seen(b) * head_dim, share = heads / groups;
    const pes::Tensor copies = zeros(s, 1, share, 1);  // the heads of a group share their keys
    const pes::Tensor k = reshape(slice(b.k, 2, 0, seen(b)), {s.batch * groups, 1, size}) + copies;
    return reshape(k, {s.batch * heads, seen(b), head_dim});
  }

  // ---- chunks
  static pes::Tensor zeros(const pes::Step& s, std::int64_t n, std::int64_t rows,
                           std::int64_t columns) {
    return s.table({n, rows, columns}, [](auto, auto) { return 0.0; });
  }
  // x [N, n, D] with zeros before and behind, [N, chunks, C, D]. For a token of zeros H is 1.
  static pes::Tensor chunked(const pes::Step& s, pes::Tensor x, std::int64_t before,
                             std::int64_t behind) {
    const std::int64_t n = x.extent(0), length = x.extent(1), width = x.extent(2);
    if (before > 0) x = concat(zeros(s, n, before, width), x, 1);
    if (behind > 0) x = concat(x, zeros(s, n, behind, width), 1);
    return reshape(x, {n, (before + length + behind) / C, C, width});
  }
  static pes::Tensor chunk(pes::Tensor x, std::int64_t c) {  // [N, C, D]
    return reshape(slice(x, 1, c, 1), {x.extent(0), C, x.extent(3)});
  }
  static pes::Tensor above(pes::Tensor a, pes::Tensor b) {  // b may not be there yet
    return b.step == nullptr ? a : concat(a, b, 1);
  }
  // Side by side, as a balanced tree: each number is copied log(count) times.
  static pes::Tensor join(const std::vector<pes::Tensor>& parts, std::size_t from, std::size_t to) {
    if (to - from == 1) return parts[from];
    const std::size_t middle = (from + to) / 2;
    return concat(join(parts, from, middle), join(parts, middle, to), -1);
  }
  // (1 + L)^-1, blocks of twice the size at a time: that of [A 0; B D] has -D^-1 B A^-1 in its
  // corner. The series in powers of L is shorter to write, and useless in fp32 where tokens repeat.
  pes::Tensor inverse(pes::Tensor l) const {
    pes::Tensor x = one - l * corners[0];
    for (std::size_t n = 1; n < corners.size(); ++n) x = x - matmul(matmul(x, l * corners[n]), x);
    return x;
  }

  void rewrite(const pes::Step& s, pes::Scores& b) const {
    const std::int64_t rows = b.scores.extent(2), keys = seen(b), N = s.batch * heads,
                       before = (C - b.first % C) % C, behind = (C - rows % C) % C,
                       past = (b.first + before) / C, own = (rows + behind) / C;
    const pes::Tensor q = reshape(b.q, {N, rows, head_dim}), k = keys_by_head(s, b),
                      direction = directions(s, b);
    const pes::Tensor Q = chunked(s, q, 0, behind), K = chunked(s, k, before, behind),
                      W = chunked(s, direction, before, behind),
                      V = chunked(s, direction * strengths(s, b), before, behind);
    const pes::Tensor inverses = inverse(matmul(V, W, true) * (lower - one));
    const pes::Tensor Z = matmul(inverses, matmul(V, K, true) * (lower - one));  // [N, .., C, C]
    const pes::Tensor U = matmul(inverses, V);
    const pes::Tensor far = K - matmul(permute(Z, {0, 1, 3, 2}), W);  // keys at their chunk's end
    // queries against the keys of their own chunk, and moved to its start
    const auto of_own = [&](pes::Tensor x) { return slice(x, 1, past, own); };
    const pes::Tensor QW = matmul(Q, of_own(W), true) * lower;
    const pes::Tensor near = matmul(Q, of_own(K), true) - matmul(QW, of_own(Z));
    const pes::Tensor start = Q - matmul(QW, of_own(U));

    std::vector<pes::Tensor> columns(static_cast<std::size_t>(past + own));
    pes::Tensor moved;  // the queries of all later chunks, at the end of chunk c
    for (std::int64_t c = past + own - 1; c >= 0; --c) {
      pes::Tensor column;
      if (moved.step != nullptr) {
        column = matmul(moved, chunk(far, c), true);
        moved = moved - matmul(matmul(moved, chunk(W, c), true), chunk(U, c));
      }
      if (const std::int64_t r = c - past; r >= 0) {
        column = above(chunk(near, r), column);
        if (r > 0) column = concat(zeros(s, N, r * C, C), column, 1);
        moved = above(chunk(start, r), moved);
      }
      columns[static_cast<std::size_t>(c)] = column;
    }
    pes::Tensor product = join(columns, 0, columns.size());
    product = slice(slice(product, 1, 0, rows), 2, before, keys) - matmul(q, k, true);
    product = product * b.scale;
    if (forget) product = product - forgotten(s, b);
    const std::int64_t unseen = b.scores.extent(3) - keys;
    if (unseen > 0) product = concat(product, zeros(s, N, rows, unseen), -1);
    b.scores = b.scores + reshape(product, {s.batch, heads, rows, keys + unseen});
  }
};

}  // namespace

extern const pes_encoding path_attention = pes::encoding<PathAttention>;
