// Hard-ALiBi, Jelassi et al. 2024, windows as in its code: some heads see their last m_h tokens
// alone, the others all of them, without a word about distance.
#include <pesuite/pesuite.hpp>

namespace {

struct HardAlibi : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::integer("masked_heads", "0", 0, 1 << 16,
                   "heads that see their last tokens alone, the first ones; 0: half of them"),
      pes::reals("windows", "[]", 1, 1 << 24,
                 "tokens that each of them sees, its own included; []: 1, 2, 3, ...")};
  static constexpr pes_card card = pes::card<HardAlibi>(
      {.name = "hard_alibi",
       .summary = "some heads see their last tokens alone, the others all of them",
       .taxonomy = "relative, fixed, bias",
       .paper = "Jelassi et al. 2024, arXiv:2402.01032",
       .bibtex =
           "@inproceedings{jelassi2024repeat, title={Repeat After Me: Transformers are Better "
           "than State Space Models at Copying}, author={Jelassi, Samy and Brandfonbrener, "
           "David and Kakade, Sham M. and Malach, Eran}, booktitle={ICML}, year={2024}}",
       .claims = PES_RELATIVE | PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_MONOTONE_DECAY |
                 PES_UNBOUNDED,
       .cost = "minimal",
       .rating = "excellent (Jelassi et al. 2024, copying)",
       .use_if =
           "what is asked for follows the same few tokens as before|deployment is longer than "
           "training, without further training|nothing may be learned",
       .tune = "masked_heads=1"});

  std::int64_t heads;
  std::vector<std::int64_t> windows;  // of the first heads
  pes::Tensor distance;

  HardAlibi(const pes_model& m, const pes::Values& v) : heads(m.heads) {
    const std::vector<double> given = v.reals("windows");
    const std::int64_t asked = v.integer("masked_heads");
    const auto listed = static_cast<std::int64_t>(given.size());
    const std::int64_t masked = asked > 0 ? asked : listed > 0 ? listed : heads / 2;
    if (masked > heads)
      throw pes::Refusal("option '" + std::string(asked > 0 ? "masked_heads" : "windows") +
                         "' wants at most the model's " + std::to_string(heads) + " heads, not " +
                         std::to_string(masked));
    if (masked == 0)
      throw pes::Refusal(
          "half of one head is none: option 'masked_heads' or a second head is needed");
    if (listed > 0 && listed != masked)
      throw pes::Refusal("option 'windows' wants one for each of the " + std::to_string(masked) +
                         " masked heads, not " + std::to_string(listed));
    for (std::int64_t h = 0; h < masked; ++h) {
      const double tokens =
          listed > 0 ? given[static_cast<std::size_t>(h)] : static_cast<double>(h + 1);
      if (tokens != std::floor(tokens)) throw pes::Refusal("option 'windows' wants whole numbers");
      windows.push_back(static_cast<std::int64_t>(tokens));
    }
  }
  void begin(const pes::Step& s) {
    constexpr double hidden = -3e4;  // e^-30000 is 0, and 16 bits can hold it
    const auto masked = static_cast<std::int64_t>(windows.size());
    distance = s.table({heads, s.offset + s.length}, [&](auto h, auto n) {
      return h < masked && n >= windows[static_cast<std::size_t>(h)] ? hidden : 0;
    });
  }
  void attend(const pes::Step&, pes::Attention& a) const { a.distance = distance; }
};

}  // namespace

extern const pes_encoding hard_alibi = pes::encoding<HardAlibi>;
