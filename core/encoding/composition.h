// The encodings of an expression that act at the same time: a sum, or a pattern over the layers.
// They change q and k in the order of the text; their distances and biases add up. Two that cannot
// act on one layer are an Error (usage) that names both.
#pragma once

#include "encoding/encoding.h"

namespace pesuite {

// Writes terms with every option filled in, which identify a cell. Error (plugin, usage) for
// unknown names, with their place in `source`, and for options that do not fit.
TermText full_terms(const Catalog&, std::string source);
// Encodings that occur, each name once, in the order of the text.
std::vector<std::string> names_of(const Sum&);
// The first encoding with one of the names; null: none.
const Expression* term_of(const Sum&, const std::vector<std::string>& names);

class Composition;
// From the text of a sum, made for a model. Error (plugin, usage) with columns, also for switches
// and swaps: nothing is trained here that could go on under another encoding.
Composition compose(const Catalog&, const std::string& text, const ModelShape&);

class Composition {
 public:
  Composition(Encoding);  // NOLINT: an encoding alone is a composition of one
  // Error (plugin, usage) as Encoding's, and where the sum cannot act in any model.
  Composition(const Catalog&, const Sum&, const ModelShape&);
  Composition(Composition&&) noexcept = default;
  Composition& operator=(Composition&&) noexcept = default;

  // Another of the same, as Encoding's. Parameters are the model's: it has none of its own.
  Composition again() const;

  const std::string& text() const { return text_; }  // as it was written
  // Named "encoding.parameter", so that they are the same wherever the encoding stands.
  const std::vector<Encoding::ParameterSpec>& parameters() const { return parameters_; }
  void init(std::size_t parameter, std::uint64_t seed, std::span<float> out) const;
  double untrained(int length) const;  // largest share of its encodings
  bool stale(int from, int to) const;  // as any of its encodings
  bool embeds() const;                 // so does one of them

  // As Encoding's: begin once, embed once, attend once a layer.
  void begin(Tape&, const StepInfo&, std::span<const Tensor> parameters);
  Tensor embed(Tape&, Tensor x) const;
  void attend(Tape&, int layer, Tensor x, Attention&) const;
  // Finds here what would collide in training or at max_length. Runs attention of a few tokens only.
  // Says, where `widths` asks, whether q and k come out wider than they went in.
  bool rehearse(Backend&, const ModelShape&, bool widths);

 private:
  Composition() = default;
  struct Part {
    Encoding encoding;
    std::vector<bool> layers;  // that it acts in
    std::size_t first, count;  // of its parameters
  };
  void add(Encoding, std::vector<bool> layers);
  bool rehearse_pass(Tape&, const ModelShape&, bool training, int length);
  void rehearse_rewrite(Tape&, const Attention&) const;

  std::vector<Part> parts_;
  std::string text_;
  std::vector<Encoding::ParameterSpec> parameters_;
};

}  // namespace pesuite
