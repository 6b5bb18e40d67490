#include "search/search.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "encoding/composition.h"
#include "encoding/swap.h"
#include "suite/config.h"
#include "tensor/ops.h"

namespace pesuite {

namespace {

std::vector<SearchRule> rules_beside(const Catalog& catalog) {
  std::vector<SearchRule> rules;
  Problems problems;
  for (const Offer& library : catalog.offers) {
    const std::string stem = library.path().stem().stem();  // NAME of NAME.plugin.so
    const fs::path file = library.path().parent_path() / (stem + ".search.toml");
    std::error_code error;
    if (!fs::is_regular_file(file, error)) continue;
    const Config config = Config::from_toml(file, problems);
    Reader root(config, config.root(), "", problems);
    root.tables("search", [&](Reader& r, const std::string&) {
      rules.push_back({r.text("encoding", ""), r.text("list", ""), r.text("factor", ""),
                       r.text("file", ""), r.text("plain", ""), r.texts("from", {})});
      for (const char* key : {"encoding", "list", "factor", "file", "plain", "from"})
        if (!r.has(key)) r.problem(key, "is missing");
    });
    root.finish();
  }
  problems.throw_if_any();
  return rules;
}

// One forward pass of the hooks over queries [1, 1, T, D] of ones in `features` of position 1.
class Turner {
 public:
  Turner(const Catalog& catalog, const Expression& e, const ModelShape& shape)
      : backend_(open_backend("reference", {})), encoding_(catalog, e, shape), shape_(shape) {}
  std::vector<double> turned(const std::vector<int>& features, int length) {
    Tape tape(*backend_);
    const std::int64_t H = shape_.heads, D = shape_.head_dim;
    std::vector<double> data(static_cast<std::size_t>(H * length * D), 0.0);
    for (const int f : features) data[static_cast<std::size_t>(D + f)] = 1;  // head 0, position 1
    StepInfo step;
    step.batch = 1, step.length = length;
    encoding_.begin(tape, step, {});
    Attention a;
    a.q = tape.constant({1, H, length, D}, data.data());
    a.k = a.v = a.q;
    a.scale = 1;
    encoding_.attend(tape, 0, {}, a);
    if (tape.failed()) fail(Exit::plugin, "{}", tape.failure());
    if (!(tape.shape(a.q) == Shape({1, H, length, D}))) return {};
    std::vector<double> out(data.size());
    backend_->download(out.data(), tape.view(a.q));
    return {out.begin() + D, out.begin() + 2 * D};
  }
  const Encoding& encoding() const { return encoding_; }

 private:
  std::unique_ptr<Backend> backend_;
  Encoding encoding_;
  ModelShape shape_;
};

// The longest that the numbers may grow is that of the beginnings, whose last is the largest.
double largest(const std::vector<std::vector<double>>& starts) {
  double out = 1;
  for (const auto& s : starts) out = std::max(out, s.back());
  return out;
}

std::string list_text(std::span<const double> numbers) {
  std::vector<std::string> texts;
  for (const double x : numbers) texts.push_back(fmt::format("{}", x));
  return fmt::format("[{}]", join(texts, ", "));
}

}  // namespace

SearchRule search_rule(const Catalog& catalog, const std::string& encoding) {
  std::vector<std::string> names;
  for (SearchRule& r : rules_beside(catalog)) {
    if (r.encoding == encoding) return r;
    names.push_back(r.encoding);
  }
  catalog.encoding(encoding);  // an unknown name is another mistake
  fail(Exit::usage, "encoding '{}' has nothing to search; {}", encoding,
       names.empty() ? "no library says what has" : join(names, ", ") + " has");
}

Turns turns_of(const Catalog& catalog, const Expression& e, const ModelShape& shape, int length) {
  Turner turner(catalog, e, shape);
  const auto refuse = [&] {
    fail(Exit::usage, "encoding '{}' does not turn pairs of features", to_text(e));
  };
  if (!turner.encoding().parameters().empty()) refuse();
  // feature 0 alone: its partner is where a part of it goes
  const std::vector<double> first = turner.turned({0}, length);
  std::size_t partner = 1;
  for (std::size_t i = 2; i < first.size(); ++i)
    if (std::fabs(first[i]) > std::fabs(first[partner])) partner = i;
  if (first.size() < 2 || std::fabs(first[partner]) < 1e-9) refuse();
  const bool half = partner > 1;
  const std::size_t pairs = half ? partner : first.size() / 2, apart = half ? partner : 1;
  std::vector<int> features;
  for (std::size_t r = 0; r < pairs; ++r) features.push_back(static_cast<int>(half ? r : 2 * r));
  const std::vector<double> y = turner.turned(features, length);
  Turns t;
  for (const int f : features) {
    const double a = y[static_cast<std::size_t>(f)], b = y[static_cast<std::size_t>(f) + apart];
    if (b == 0) break;  // of partial rotations the rest stands still
    t.angles.push_back(std::atan2(b, a));
    t.factor = std::hypot(a, b);
  }
  return t;
}

namespace {

// What the search extends in a trained sum.
const Expression& extended(const Sum& sum, const SearchRule& rule) {
  if (sum.factors.size() == 1 && sum.factors[0].pattern.empty()) return sum.factors[0].term;
  std::vector<std::string> names = {rule.plain, rule.encoding};
  for (const std::string& from : rule.from) names.push_back(parse_expression(from).name);
  if (const Expression* e = term_of(sum, names)) return *e;
  fail(Exit::usage, "the model was trained with '{}', in which there is nothing that {} extends",
       to_text(sum), rule.encoding);
}

}  // namespace

std::string in_place(const Sum& trained, const SearchRule& rule, const Expression& e) {
  const std::string replaced = to_text(extended(trained, rule));
  return to_text(trained, [&](const Sum::Factor& f) {
    const std::string term = to_text(f.term);
    return term == replaced ? to_text(e) : term;
  });
}

SearchResult search(const Catalog& catalog, const SearchRule& rule, const Expression& wanted,
                    const Sum& sum, const ModelShape& shape, int length, EvolutionConfig config,
                    std::uint64_t seed, const std::function<double(const std::string&)>& loss,
                    const std::function<bool(int, const Individual&)>& heard) {
  const Expression& trained = extended(sum, rule);
  const Turns plain = turns_of(
      catalog, with_options_of(catalog, parse_expression(rule.plain), trained), shape, length);
  const auto expression = [&](std::span<const double> list, double factor) {
    Expression e = with_options_of(catalog, wanted, trained);
    e.options[rule.list] = list_text(list);
    e.options[rule.factor] = fmt::format("{}", factor);
    return in_place(sum, rule, e);
  };
  struct Start {
    std::vector<double> list;
    double factor, loss;
  };
  SearchResult result;
  std::vector<Start> starts;
  for (const std::string& from : rule.from) {
    Expression e = with_options_of(catalog, parse_expression(from), trained);
    if (e.name == wanted.name)
      for (const auto& [name, value] : wanted.options) e.options[name] = value;
    const Turns t = turns_of(catalog, e, shape, length);
    if (t.angles.size() != plain.angles.size())
      fail(Exit::usage, "'{}' turns {} pairs and '{}' {}; a search wants equal numbers", to_text(e),
           t.angles.size(), rule.plain, plain.angles.size());
    Start s{{}, t.factor, 0};
    for (std::size_t r = 0; r < t.angles.size(); ++r) {  // not falling in spite of rounding
      const double x = plain.angles[r] / t.angles[r];
      s.list.push_back(std::max(x, s.list.empty() ? 0 : s.list.back()));
    }
    s.loss = loss(expression(s.list, s.factor));
    result.from.push_back({in_place(sum, rule, e), s.loss});
    starts.push_back(std::move(s));
  }
  std::stable_sort(starts.begin(), starts.end(),
                   [](const Start& a, const Start& b) { return a.loss < b.loss; });
  result.factor = starts[0].factor;
  std::vector<std::vector<double>> lists;
  for (const Start& s : starts) lists.push_back(s.list);
  config.scale = largest(lists);
  SeededDraws draws(seed);
  const Evolution e = evolve(
      config, lists,
      [&](std::span<const double> list) { return loss(expression(list, result.factor)); }, draws,
      heard);
  result.list = e.best.genes;
  result.best = {expression(result.list, result.factor), e.best.loss};
  result.tried = starts.size() + e.history.size();
  return result;
}

}  // namespace pesuite
