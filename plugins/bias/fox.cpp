// Forgetting Transformer (FoX), Lin et al. 2025: every head forgets by gates that read
// the layer's input, and what lies behind is lowered by all gates passed since:
//   f_t = sigmoid(x_t W_f + b), S_ij += ln f_(j+1) + .. + ln f_i
// With c_t the running sum of ln f, that is c_i - c_j; c_i is the same for a whole row and is left
// out, since softmax does not see it.
#include <pesuite/pesuite.hpp>

namespace {

struct Fox : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::real("gate_bias", "5", -100, 100,
                "start value of b: at 5, a gate forgets 0.7 % a token and half in about 100")};
  static constexpr pes_card card = pes::card<Fox>(
      {.name = "fox",
       .summary = "forgets what lies behind by gates that read the input",
       .taxonomy = "relative, learned, bias, contextual",
       .paper = "Lin et al. 2025, arXiv:2503.02130",
       .bibtex = "@inproceedings{lin2025forgetting, title={Forgetting Transformer: Softmax "
                 "Attention with a Forget Gate}, author={Lin, Zhixuan and Nikishin, Evgenii and "
                 "He, Xu Owen and Courville, Aaron}, booktitle={ICLR}, year={2025}}",
       .claims = PES_RELATIVE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "low",
       .rating = "good (Lin et al. 2025)",
       .use_if = "content should decide what is forgotten|recency matters and its pace differs "
                 "from text to text"});

  std::int64_t heads;
  pes::Param w_f, b_f;

  Fox(const pes_model& m, const pes::Values& v)
      : heads(m.heads),
        w_f(param("w_f", {m.layers, m.width, heads}, pes::normal(0.02), true)),
        b_f(param("b_f", {m.layers, 1, heads}, pes::constant(v.real("gate_bias")))) {}
  void attend(const pes::Step& s, pes::Attention& a) const {
    const auto of = [&](pes::Param p) { return slice(s[p], 0, a.layer, 1); };
    const pes::Tensor gates = matmul(a.x, of(w_f)) + of(b_f);   // [B, T, H]
    const pes::Tensor forgotten = cumsum(softplus(-gates), 1);  // -c_t
    a.bias = reshape(permute(forgotten, {0, 2, 1}), {s.batch, heads, 1, s.length});
  }
};

}  // namespace

extern const pes_encoding fox = pes::encoding<Fox>;
