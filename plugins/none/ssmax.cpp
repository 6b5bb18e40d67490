// SSMax (Scalable-Softmax), Nakanishi 2025: the more keys a query sees, the flatter a softmax. Its
// scores therefore grow with the logarithm of their number, by a factor each head learns:
//   S_ij = s_h ln(i + 1) q_i.k_j / sqrt(D)
// It says nothing of where keys stand, and is made to be added to what does: rope + ssmax.
#include <pesuite/pesuite.hpp>

namespace {

struct Ssmax : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::real("start", "0", 0, 100,
                "start value of s; 0: 1 over the mean of ln n up to the training length, so that "
                "training starts with scores of the usual size"),
      pes::flag("bias", "false", "s_h ln n + b_h, which learns faster and extends less far"),
      pes::flag("learned", "true", "train s")};
  static constexpr pes_card card = pes::card<Ssmax>(
      {.name = "ssmax",
       .summary = "scores times a learned factor of the logarithm of the number of keys",
       .taxonomy = "absolute, learned, multiplicative",
       .paper = "Nakanishi 2025, arXiv:2501.19399",
       .bibtex = "@article{nakanishi2025ssmax, title={Scalable-Softmax Is Superior for Attention}, "
                 "author={Nakanishi, Ken M.}, journal={arXiv:2501.19399}, year={2025}}",
       .claims = PES_UNBOUNDED,
       .cost = "minimal",
       .rating = "good (Nakanishi 2025, added to rope)",
       .use_if = "long contexts should not flatten attention|it is added to another encoding, as "
                 "rope + ssmax"});

  bool learned;
  double start;
  pes::Param s_h, b_h;
  pes::Table logarithms;
  pes::Tensor ln_n;  // [T, 1]

  Ssmax(const pes_model& m, const pes::Values& v)
      : learned(v.flag("learned")), start(v.real("start") > 0 ? v.real("start") : usual(m)) {
    if (learned) s_h = param("s", {m.layers, m.heads, 1, 1}, pes::constant(start));
    if (v.flag("bias")) b_h = param("b", {m.layers, m.heads, 1, 1}, pes::constant(0));
  }
  static double usual(const pes_model& m) {  // ln 1 + .. + ln L = ln L!
    const double L = std::max(2, m.train_length);
    return L / std::lgamma(L + 1);
  }
  void begin(const pes::Step& s) {
    ln_n = s.upload({s.length, 1}, logarithms.range(s.offset, s.length, 1, [](auto n, auto) {
      return std::log(static_cast<double>(n + 1));
    }));
  }
  void attend(const pes::Step& s, pes::Attention& a) const {
    const auto of_layer = [&](pes::Param p) { return slice(s[p], 0, a.layer, 1); };
    pes::Tensor gain = learned ? ln_n * of_layer(s_h) : ln_n * start;  // [1, H, T, 1]
    if (b_h.index >= 0) gain = gain + of_layer(b_h);
    a.q = a.q * gain;
  }
};

}  // namespace

extern const pes_encoding ssmax = pes::encoding<Ssmax>;
