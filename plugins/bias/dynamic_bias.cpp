// Dynamic position bias, Wang et al. 2021 (CrossFormer): a small MLP maps the distance
// to a bias for each head, here of causal distances. One MLP serves all layers.
#include <pesuite/pesuite.hpp>

namespace {

struct DynamicBias : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::integer("width", "32", 1, 4096, "units of each hidden layer"),
      pes::integer("depth", "2", 1, 16, "hidden layers"),
      pes::choice("input", "log", "log|plain",
                  "the MLP sees ln(1 + i - j), or i - j, which soon leaves the range of training")};
  static constexpr pes_card card = pes::card<DynamicBias>(
      {.name = "dynamic_bias",
       .summary = "a small MLP of the distance gives each head's bias",
       .taxonomy = "relative, learned, bias",
       .used_in = "CrossFormer",
       .paper = "Wang et al. 2021, arXiv:2108.00154",
       .bibtex = "@inproceedings{wang2022crossformer, title={CrossFormer: A Versatile Vision "
                 "Transformer Hinging on Cross-scale Attention}, author={Wang, Wenxiao and Yao, Lu "
                 "and Chen, Long and Lin, Binbin and Cai, Deng and He, Xiaofei and Liu, Wei}, "
                 "booktitle={ICLR}, year={2022}}",
       .claims = PES_RELATIVE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "low",
       .use_if = "the bias should be a learned function of distance|deployment is near the "
                 "training length"});

  std::int64_t width, depth;
  bool logarithm;
  pes::Param w_in, b_in, w_hidden, b_hidden, w_out, b_out;
  pes::Table inputs;
  pes::Tensor distance;

  DynamicBias(const pes_model& m, const pes::Values& v)
      : width(v.integer("width")), depth(v.integer("depth")), logarithm(v.is("input", "log")) {
    const double fan_in = 1 / std::sqrt(static_cast<double>(width));  // as torch.nn.Linear starts
    w_in = param("w_in", {width, 1}, pes::uniform(-1, 1), true);
    b_in = param("b_in", {width, 1}, pes::uniform(-1, 1));
    if (depth > 1) {
      w_hidden = param("w_hidden", {depth - 1, width, width}, pes::uniform(-fan_in, fan_in), true);
      b_hidden = param("b_hidden", {depth - 1, width, 1}, pes::uniform(-fan_in, fan_in));
    }
    w_out = param("w_out", {m.heads, width}, pes::uniform(-fan_in, fan_in), true);
    b_out = param("b_out", {m.heads, 1}, pes::uniform(-fan_in, fan_in));
  }
  void begin(const pes::Step& s) {
    const std::int64_t length = s.offset + s.length;
    const double* of = inputs.extend(length, 1, [&](auto n, auto) {
      return logarithm ? std::log1p(static_cast<double>(n)) : static_cast<double>(n);
    });
    const pes::Tensor x = s.upload({1, length}, of);
    pes::Tensor hidden = relu(matmul(s[w_in], x) + s[b_in]);  // [F, T]
    for (std::int64_t l = 0; l + 1 < depth; ++l) {
      const pes::Tensor w = reshape(slice(s[w_hidden], 0, l, 1), {width, width});
      hidden = relu(matmul(w, hidden) + reshape(slice(s[b_hidden], 0, l, 1), {width, 1}));
    }
    distance = matmul(s[w_out], hidden) + s[b_out];  // [H, T]
  }
  void attend(const pes::Step&, pes::Attention& a) const { a.distance = distance; }
};

}  // namespace

extern const pes_encoding dynamic_bias = pes::encoding<DynamicBias>;
