#include "encoding/composition.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace pesuite {

namespace {

[[noreturn]] void collide(const std::string& a, const std::string& b, const std::string& reason) {
  fail(Exit::usage, "encodings '{}' and '{}' cannot both act on one layer: {}", a, b, reason);
}

constexpr int few_tokens = 16;  // of a rehearsal that runs attention

// Tables by distance may be longer than the sequence: only what is read counts.
Tensor add_tables(Tape& t, Tensor a, Tensor b, std::int64_t length) {
  if (!a || !b) return a ? a : b;
  const auto cut = [&](Tensor x) {
    return t.shape(x)[-1] > length ? ops::slice(t, x, -1, 0, length) : x;
  };
  return ops::binary(t, Binary::add, cut(a), cut(b));
}

}  // namespace

TermText full_terms(const Catalog& catalog, std::string source) {
  return [&catalog, source = std::move(source)](const Sum::Factor& f) {
    const std::vector<std::string> names = catalog.encoding_names();
    if (std::find(names.begin(), names.end(), f.term.name) == names.end()) {
      const std::string near = did_you_mean(f.term.name, names);
      fail(Exit::plugin, "encoding '{}': unknown encoding '{}' at column {}{}{}", source,
           f.term.name, f.column, near.empty() ? "; 'pesuite list encoding' shows all" : near,
           catalog.refused());
    }
    const pes_card& card = *catalog.encoding(f.term.name).descriptor->card;
    return full_text(card, f.term.options, fmt::format("encoding '{}'", f.term.name));
  };
}

std::vector<std::string> names_of(const Sum& s) {
  std::vector<std::string> names;
  each_term(s, [&](const Expression& e) {
    if (std::find(names.begin(), names.end(), e.name) == names.end()) names.push_back(e.name);
  });
  return names;
}

const Expression* term_of(const Sum& s, const std::vector<std::string>& names) {
  const Expression* found = nullptr;
  each_term(s, [&](const Expression& e) {
    if (!found && std::find(names.begin(), names.end(), e.name) != names.end()) found = &e;
  });
  return found;
}

Composition compose(const Catalog& catalog, const std::string& text, const ModelShape& shape) {
  const EncodingExpression x = parse_encoding(text);
  to_text(x, full_terms(catalog, text));  // says where in the text an unknown name stands
  if (!x.switches.empty() || !x.evaluation.empty())
    fail(
        Exit::usage,
        "encoding '{}' changes in the course of a run, and nothing is trained here; give what acts "
        "at one time, such as '{}'",
        text, to_text(x.evaluation.empty() ? x.switches.back().to : x.evaluation));
  return {catalog, x.first, shape};
}

Composition::Composition(Encoding e) {
  std::vector<bool> all(static_cast<std::size_t>(e.layers()), true);
  text_ = e.text();
  add(std::move(e), std::move(all));
}

Composition::Composition(const Catalog& catalog, const Sum& sum, const ModelShape& m)
    : text_(to_text(sum)) {
  const auto layers = static_cast<std::size_t>(m.layers);
  for (const Sum::Factor& f : sum.factors) {
    if (f.pattern.empty()) {
      add(Encoding(catalog, f.term, m), std::vector<bool>(layers, true));
      continue;
    }
    // equal terms of a pattern are one encoding, with one set of parameters
    std::vector<std::pair<Expression, std::vector<bool>>> terms;
    for (std::size_t l = 0; l < f.pattern.size(); ++l)
      each_term(f.pattern[l], [&](const Expression& e) {
        auto at = std::find_if(terms.begin(), terms.end(),
                               [&](const auto& t) { return to_text(t.first) == to_text(e); });
        if (at == terms.end()) at = terms.insert(at, {e, std::vector<bool>(layers)});
        for (std::size_t layer = l; layer < layers; layer += f.pattern.size()) {
          if (at->second[layer]) collide(to_text(e), to_text(e), "they are the same");
          at->second[layer] = true;
        }
      });
    for (auto& [term, where] : terms) {
      Encoding e(catalog, term, m);
      if (e.embeds())
        fail(Exit::usage,
             "encoding '{0}' acts on the embedding, which no layer has of its own; write it "
             "outside of 'layers[...]', as in {0} + layers[...]",
             to_text(term));
      if (std::find(where.begin(), where.end(), true) != where.end())
        add(std::move(e), std::move(where));
    }
  }
}

Composition Composition::again() const {
  Composition c;
  c.text_ = text_, c.parameters_ = parameters_;
  for (const Part& p : parts_) c.parts_.push_back({p.encoding.again(), p.layers, p.first, p.count});
  return c;
}

void Composition::add(Encoding e, std::vector<bool> layers) {
  for (const Part& p : parts_)
    for (std::size_t l = 0; l < layers.size(); ++l)
      if (p.layers[l] && layers[l] && p.encoding.text() == e.text())
        collide(e.text(), e.text(), "they are the same");
  const std::string base = e.card().name;
  std::string name = base;  // base_2, ... when it occurs again with other options
  for (int n = 2; std::any_of(parts_.begin(), parts_.end(),
                              [&](const Part& p) {
                                return p.count > 0 &&
                                       parameters_[p.first].name.starts_with(name + ".");
                              });
       ++n)
    name = fmt::format("{}_{}", base, n);
  const std::size_t first = parameters_.size();
  for (Encoding::ParameterSpec p : e.parameters()) {
    p.name = name + "." + p.name;
    parameters_.push_back(std::move(p));
  }
  parts_.push_back({std::move(e), std::move(layers), first, parameters_.size() - first});
}

void Composition::init(std::size_t parameter, std::uint64_t seed, std::span<float> out) const {
  for (const Part& p : parts_)
    if (parameter >= p.first && parameter < p.first + p.count)
      return p.encoding.init(parameter - p.first, seed, out);
}

double Composition::untrained(int length) const {
  double most = 0;
  for (const Part& p : parts_) most = std::max(most, p.encoding.untrained(length));
  return most;
}

bool Composition::stale(int from, int to) const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [&](const Part& p) { return p.encoding.stale(from, to); });
}
bool Composition::embeds() const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const Part& p) { return p.encoding.embeds(); });
}

void Composition::begin(Tape& tape, const StepInfo& info, std::span<const Tensor> parameters) {
  for (Part& p : parts_) p.encoding.begin(tape, info, parameters.subspan(p.first, p.count));
}

Tensor Composition::embed(Tape& tape, Tensor x) const {
  for (const Part& p : parts_) x = p.encoding.embed(tape, x);
  return x;
}

void Composition::attend(Tape& tape, int layer, Tensor x, Attention& a) const {
  const Attention before = a;
  const std::int64_t head = tape.shape(a.q)[-1], length = tape.shape(a.q)[2];
  const Part *turned = nullptr, *widened = nullptr, *scaled = nullptr, *rewrites = nullptr;
  for (const Part& p : parts_) {
    if (!p.layers[static_cast<std::size_t>(layer)]) continue;
    Attention own = a;
    own.distance = own.bias = {};
    own.scale = before.scale;
    own.rewrite = {};
    try {
      p.encoding.attend(tape, layer, x, own);
    } catch (const Refusal&) {
      throw;
    } catch (const Error& error) {
      if (widened == nullptr) throw;
      collide(widened->encoding.text(), p.encoding.text(),
              fmt::format("the first widens the heads of q and k for itself ({})", error.what()));
    }
    const bool changes_q = own.q.id != a.q.id, changes_k = own.k.id != a.k.id;
    if ((changes_q || changes_k) && widened != nullptr)
      collide(widened->encoding.text(), p.encoding.text(),
              "the first widens the heads of q and k for itself");
    if (changes_q && changes_k && turned != nullptr)
      collide(turned->encoding.text(), p.encoding.text(),
              fmt::format("both change q and k; to train with one and evaluate with the other "
                          "write '{} => {}'",
                          turned->encoding.text(), p.encoding.text()));
    if (own.scale != before.scale && scaled != nullptr)
      collide(scaled->encoding.text(), p.encoding.text(), "both set the scale of q.k");
    if (own.rewrite && rewrites != nullptr)
      collide(rewrites->encoding.text(), p.encoding.text(), "both rewrite the scores by content");
    if (changes_q && changes_k) turned = &p;
    if (tape.shape(own.q)[-1] != head) widened = &p;
    if (own.scale != before.scale) scaled = &p, a.scale = own.scale;
    if (own.rewrite) rewrites = &p, a.rewrite = own.rewrite;
    a.q = own.q, a.k = own.k;
    a.distance = add_tables(tape, a.distance, own.distance, length);
    a.bias = a.bias && own.bias ? ops::binary(tape, Binary::add, a.bias, own.bias)
             : a.bias           ? a.bias
                                : own.bias;
  }
  if (tape.failed()) fail(Exit::plugin, "encoding '{}': {}", text_, tape.failure());
  if (rewrites != nullptr) rewrites->encoding.rewrite_with(layer, a.scale);
}

// Once through the rewriter, with few tokens: one that reads q and k may not take widened ones.
void Composition::rehearse_rewrite(Tape& tape, const Attention& a) const {
  if (!a.rewrite || tape.shape(a.q)[2] > few_tokens) return;
  std::string reason;
  try {
    pesuite::attend(tape, a);
    if (tape.failed()) reason = tape.failure();
  } catch (const Error& error) {
    reason = error.what();
  }
  if (!reason.empty())
    fail(Exit::usage,
         "encodings of '{}' cannot act on one layer: one widens the heads of q and k for itself, "
         "another rewrites the scores from them ({})",
         text_, reason);
}

bool Composition::rehearse(Backend& backend, const ModelShape& m, bool widths) {
  // enough to leave every training length of a suite behind, and little enough to rewrite scores
  constexpr int most = 4096;
  const bool alone = parts_.size() < 2;
  if (alone && !widths) return false;
  Tape tape(backend);
  const bool widens = rehearse_pass(tape, m, true, std::min(few_tokens, m.train_length));
  if (alone) return widens;
  rehearse_pass(tape, m, true, std::min(most, m.train_length));
  rehearse_pass(tape, m, false, std::min(most, m.max_length));
  return widens;
}

bool Composition::rehearse_pass(Tape& tape, const ModelShape& m, bool training, int length) {
  tape.reset();
  tape.set_recording(false);
  StepInfo s;
  s.training = training, s.batch = 1, s.length = length;
  const std::int64_t T = s.length, D = m.head_dim;
  const auto zeros = [&](const Shape& shape) {
    const std::vector<double> data(static_cast<std::size_t>(shape.count()));
    return tape.constant(shape, data.data());
  };
  std::vector<Tensor> parameters;
  std::vector<float> values;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    values.resize(static_cast<std::size_t>(parameters_[i].shape.count()));
    init(i, 0, values);
    const std::vector<double> data(values.begin(), values.end());
    parameters.push_back(tape.constant(parameters_[i].shape, data.data()));
  }
  begin(tape, s, parameters);
  const Tensor x = zeros({1, T, m.width});
  bool widens = false;
  for (int layer = 0; layer < m.layers; ++layer) {
    Attention a;
    a.q = zeros({1, m.heads, T, D});
    a.k = zeros({1, m.kv_heads, T, D});
    a.v = a.k;
    a.scale = 1 / std::sqrt(static_cast<double>(D));
    const Tape::Mark mark = tape.mark();
    attend(tape, layer, x, a);
    if (tape.shape(a.q)[-1] != D) {
      widens = true;
      if (parts_.size() > 1) rehearse_rewrite(tape, a);
    }
    tape.release_since(mark);
  }
  return widens;
}

}  // namespace pesuite
