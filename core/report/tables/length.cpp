// Tables of corpora: what a model knows at each length.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/tables.h"
#include "report/text.h"

namespace pesuite {

namespace {

// Rows of encodings against columns of lengths; `cell` writes one.
template <class F>
TextRows by_length(const RunData& run, const TaskData& t, const std::vector<int>& lengths, F cell) {
  TextRows rows = {{"encoding"}};
  for (const int l : lengths) rows[0].push_back(fmt::format("{} ({})", l, t.multiple(l)));
  for (const std::size_t e : t.encodings) {
    rows.push_back({row_name(run, t, e)});
    for (const int l : lengths) rows.back().push_back(cell(e, l));
  }
  return rows;
}

// Differences between a place and another, seed by seed.
std::vector<SeedValue> difference(std::vector<SeedValue> a, const std::vector<SeedValue>& b) {
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (std::isnan(b[i].value)) a[i].lost = b[i].lost;
    a[i].value -= b[i].value;
    if (std::isnan(a[i].value) && a[i].lost == "missing") a[i].lost = "undefined";
  }
  return a;
}

// Builds the blocks of one protocol.
struct LengthTable {
  const RunData& run;
  const TaskData& t;
  const std::string& protocol;
  std::vector<int> lengths = lengths_of(t, protocol);

  std::vector<SeedValue> values(const char* metric, std::size_t e, int l) const {
    return values_at(t, e, whole(metric, protocol, l));
  }
  std::vector<SeedValue> optimum(int l) const { return optimum_at(t, whole("", protocol, l)); }
  bool has(const char* metric) const {
    for (const auto& [key, cell] : t.cells)
      for (const int l : lengths)
        if (cell.find(whole(metric, protocol, l)) != nullptr) return true;
    return false;
  }
  void add_optimum(TextRows& rows, const std::vector<int>& columns,
                   const std::function<std::string(int)>& cell) const {
    if (!has("optimum")) return;
    rows.push_back({emphasis("optimum")});
    for (const int l : columns) rows.back().push_back(cell(l));
  }

  Table perplexity() const {
    Table b{"Perplexity", "", {}, 1};
    b.rows = by_length(run, t, lengths, [&](std::size_t e, int l) {
      return spread_text(in_row(t, e, values("nll", e, l)), perplexity_text);
    });
    add_optimum(b.rows, lengths,
                [&](int l) { return spread_text(summarize(optimum(l)), perplexity_text); });
    b.caption = rich("exp(mean nats per token). {} Protocol {}: {}.", seed_phrase(t),
                     code(protocol), explain_protocol(protocol));
    b.figure = file_name(run, t, "perplexity", protocol);
    if (has("optimum"))
      b.caption += rich(" {}: the exact best that any model could reach on these tokens.",
                        emphasis("optimum"));
    return b;
  }

  Table ratio() const {
    Table b{
        fmt::format("Perplexity relative to the training length ({})", t.train_length), "", {}, 1};
    const auto text = [](double nats) { return format_fixed(std::exp(nats), 3); };
    std::vector<int> others = lengths;  // the training length itself has ratio 1
    std::erase(others, t.train_length);
    b.rows = by_length(run, t, others, [&](std::size_t e, int l) {
      return spread_text(
          in_row(t, e, difference(values("nll", e, l), values("nll", e, t.train_length))), text);
    });
    add_optimum(b.rows, others, [&](int l) {
      return spread_text(summarize(difference(optimum(l), optimum(t.train_length))), text);
    });
    b.caption = fmt::format(
        "ppl(length) / ppl({}), seed by seed. {} 1 means that nothing changes with length.",
        t.train_length, seed_phrase(t));
    if (has("optimum"))
      b.caption +=
          " Compare with the optimum's own ratio: below 1 it shows what more context is worth.";
    return b;
  }

  Table regret() const {
    Table b{"Regret, nats per token", "", {}, 1};
    b.rows = by_length(run, t, lengths, [&](std::size_t e, int l) {
      return spread_text(in_row(t, e, values("regret", e, l)), nats_text);
    });
    b.caption = fmt::format("nats - optimum: what the model loses against the best possible. {}",
                            seed_phrase(t));
    b.figure = file_name(run, t, "regret", protocol);
    return b;
  }

  Table nats() const {
    Table b{"Nats per token", "", {}, 1};
    const bool alone = t.seeds.size() == 1;
    b.rows = by_length(run, t, lengths, [&](std::size_t e, int l) {
      std::string out = spread_text(in_row(t, e, values("nll", e, l)), nats_text);
      const CellData* c = alone ? t.cell(e, t.seeds[0]) : nullptr;
      const Number* n = c == nullptr ? nullptr : c->find(whole("nll", protocol, l));
      if (n != nullptr && std::isfinite(n->standard_error) && std::isfinite(n->value))
        out += fmt::format(" ± {}", nats_text(n->standard_error));
      return out;
    });
    add_optimum(b.rows, lengths,
                [&](int l) { return spread_text(summarize(optimum(l)), nats_text); });
    b.caption = seed_phrase(t);
    if (alone)
      b.caption +=
          " ± is the standard error over documents; all encodings read the same documents, "
          "so differences between them are surer than it suggests.";
    return b;
  }

  Table bits() const {
    Table b{"Bits per byte", "", {}, 1};
    b.rows = by_length(run, t, lengths, [&](std::size_t e, int l) {
      return spread_text(in_row(t, e, values("bpb", e, l)), nats_text);
    });
    b.caption = seed_phrase(t);
    return b;
  }

  Rows csv() const {
    Rows rows = {{"encoding",  "expression", "task",       "model",     "protocol",
                  "train_len", "eval_len",   "multiple",   "seed",      "status",
                  "nll",       "nll_stderr", "perplexity", "ratio",     "optimum",
                  "regret",    "bpb",        "untrained",  "documents", "targets"}};
    for (const std::size_t e : t.encodings)
      for (const int l : lengths)
        for (const SeedValue& v : values("nll", e, l)) rows.push_back(csv_row(e, l, v));
    return rows;
  }

  std::vector<std::string> csv_row(std::size_t e, int l, const SeedValue& of_seed) const {
    const std::uint64_t seed = of_seed.seed;
    const CellData* c = t.cell(e, seed);
    const auto find = [&](const Place& p) {
      const Number* n = c == nullptr ? nullptr : c->find(p);
      return n == nullptr ? Number() : *n;
    };
    const Number nll = find(whole("nll", protocol, l));
    const double base = find(whole("nll", protocol, t.train_length)).value;
    const std::string status = std::isnan(of_seed.value)   ? of_seed.lost
                               : std::isinf(of_seed.value) ? "inf"
                                                           : "ok";
    return {run.encodings[e],
            t.encoded.contains(e) ? t.encoded.at(e) : run.expressions[e],
            t.task,
            t.model,
            protocol,
            std::to_string(t.train_length),
            std::to_string(l),
            format_number(static_cast<double>(l) / t.train_length),
            std::to_string(seed),
            status,
            csv_number(nll.value),
            csv_number(nll.standard_error),
            csv_number(std::exp(nll.value)),
            csv_number(std::exp(nll.value - base)),
            csv_number(find(whole("optimum", protocol, l)).value),
            csv_number(find(whole("regret", protocol, l)).value),
            csv_number(find(whole("bpb", protocol, l)).value),
            csv_number(find(whole("untrained", "", l)).value),
            std::to_string(nll.n),
            std::to_string(nll.count)};
  }
};

}  // namespace

TableFile length_table(const RunData& run, const TaskData& t, const std::string& protocol) {
  const LengthTable table{run, t, protocol};
  TableFile out{file_name(run, t, "length", protocol), {table.perplexity()}, table.csv()};
  const bool trained = std::count(table.lengths.begin(), table.lengths.end(), t.train_length) > 0;
  if (trained && table.lengths.size() > 1) out.blocks.push_back(table.ratio());
  if (table.has("regret")) out.blocks.push_back(table.regret());
  out.blocks.push_back(table.nats());
  if (table.has("bpb")) out.blocks.push_back(table.bits());
  return out;
}

}  // namespace pesuite
