// What probes found: tables by encoding, and attention maps.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/text.h"
#include "report/tables.h"

namespace pesuite {

namespace {

double axis(const Place& p, const std::string& name) {
  for (const auto& [axis, value] : p.axes)
    if (axis == name) return value;
  return Number::none;
}
std::string setting_of(const TaskData& t, const Place& p) {  // without what the columns say
  std::string out;
  for (const auto& [name, value] : p.axes)
    if (!std::set<std::string>{"layer", "head", "offset", "kept", "band", "bands", "wavelength_lo",
                               "wavelength_hi"}
             .contains(name))
      out += fmt::format(", {} {}", name, t.label(name, value));
  return out;
}

// Numbers of probes, a row an encoding and a column a place.
class ProbeTable {
 public:
  ProbeTable(const RunData& run, const TaskData& t) : run_(run), t_(t) {
    for (const auto& [key, cell] : t.cells)
      for (const auto& [place, number] : cell.probes) places_.insert(place);
  }

  // Columns: the places of a metric, one a heading, the first of equal headings.
  void add(const std::string& metric, const std::string& title, const std::string& caption,
           const Format& text, const std::function<std::string(const Place&)>& heading) {
    Table b{title, caption + " " + seed_phrase(t_), {{"encoding"}}};
    std::vector<Place> columns;
    for (const Place& p : places_) {
      if (p.metric != metric) continue;
      b.rows[0].push_back(heading(p));
      columns.push_back(p);
    }
    if (columns.empty()) return;
    for (const std::size_t e : t_.encodings) {
      std::vector<Text> row = {row_name(run_, t_, e)};
      bool any = false;
      for (const Place& p : columns) {
        const Spread s = in_row(t_, e, values(e, p));
        row.push_back(s.n == 0 ? "–" : spread_text(s, text));
        any |= s.n > 0;
      }
      if (any) b.rows.push_back(std::move(row));
    }
    blocks.push_back(std::move(b));
  }

  // Bands of frequencies, whose wavelengths differ between encodings.
  void add_bands(const char* unit) {
    Table b{"Bands of frequencies",
            fmt::format("What it costs, in {}, when the pairs of features with the wavelengths in "
                        "brackets (tokens a turn) stand still. {}",
                        unit, seed_phrase(t_)),
            {{"encoding", "length"}},
            2};
    std::map<std::pair<std::size_t, std::string>, std::vector<Text>> rows;
    for (const std::size_t e : t_.encodings)
      for (const Place& p : places_) {
        if (p.metric != "band_cost") continue;
        const Spread s = in_row(t_, e, values(e, p));
        if (s.n == 0) continue;
        auto& row = rows[{e, at(p)}];
        row.push_back(fmt::format("{} ({:.3g} to {:.3g})", spread_text(s, signed_nats_text),
                                  axis(p, "wavelength_lo"), axis(p, "wavelength_hi")));
        for (std::size_t n = b.rows[0].size() - 2; n < row.size(); ++n)
          b.rows[0].push_back(fmt::format("band {}", n));
      }
    for (auto& [key, row] : rows) {
      row.insert(row.begin(), {row_name(run_, t_, key.first), key.second});
      row.resize(b.rows[0].size(), "–");
      b.rows.push_back(std::move(row));
    }
    if (b.rows.size() > 1) blocks.push_back(std::move(b));
  }

  // Statistics of heads, a row an encoding, length and layer: the mean over heads and seeds, the
  // least and the most of any.
  void add_heads() {
    Table b{"Attention",
            "Means over the heads of a layer and over seeds [least, most head]: distance to the "
            "tokens looked at, entropy, mass on the first token.",
            {{"encoding", "length", "layer", "distance (tokens)", "entropy (nats)", "sink (%)"}},
            3};
    std::set<std::pair<int, double>> where;
    for (const Place& p : places_)
      if (p.metric == "attention_distance") where.emplace(p.length, axis(p, "layer"));
    for (const std::size_t e : t_.encodings)
      for (const auto& [length, layer] : where) {
        std::vector<Text> row = {row_name(run_, t_, e), std::to_string(length),
                                 format_number(layer)};
        for (const char* metric : {"attention_distance", "attention_entropy", "attention_sink"}) {
          std::vector<SeedValue> all;
          for (const Place& p : places_)
            if (p.metric == metric && p.length == length && axis(p, "layer") == layer)
              for (const SeedValue& v : values(e, p)) all.push_back(v);
          const Spread s = summarize(all);
          const bool share = std::string_view(metric) == "attention_sink";
          row.push_back(s.n == 0 ? "–" : spread_text(s, [&](double x) {
            return share ? format_fixed(100 * x, 1) : format_fixed(x, 2);
          }));
        }
        if (row[3].plain() != "–") b.rows.push_back(std::move(row));
      }
    if (b.rows.size() > 1) blocks.push_back(std::move(b));
  }

  Rows csv() const {
    Rows rows = {{"encoding", "seed", "metric", "length", "protocol", "setting", "layer", "head",
                  "offset", "kept", "band", "wavelength_lo", "wavelength_hi", "value", "stderr",
                  "n"}};
    for (const auto& [key, cell] : t_.cells)
      for (const auto& [p, x] : cell.probes) {
        std::vector<std::string> row = {run_.encodings[key.first],
                                        std::to_string(key.second),
                                        p.metric,
                                        std::to_string(p.length),
                                        p.protocol,
                                        setting_of(t_, p)};
        for (const char* name :
             {"layer", "head", "offset", "kept", "band", "wavelength_lo", "wavelength_hi"})
          row.push_back(csv_number(axis(p, name)));
        row.insert(row.end(),
                   {csv_number(x.value), csv_number(x.standard_error), std::to_string(x.n)});
        rows.push_back(std::move(row));
      }
    return rows;
  }
  std::string at(const Place& p) const {  // "64 (1x), last(32), depth 0.5"
    return fmt::format("{} ({}){}{}", p.length, t_.multiple(p.length),
                       p.protocol.empty() ? "" : ", " + p.protocol, setting_of(t_, p));
  }
  std::vector<Table> blocks;

 private:
  std::vector<SeedValue> values(std::size_t e, const Place& p) const {
    return values_of(t_, e, [&](const CellData& c) {
      const auto it = c.probes.find(p);
      return it == c.probes.end() ? Number::none : it->second.value;
    });
  }

  const RunData& run_;
  const TaskData& t_;
  std::set<Place> places_;
};

}  // namespace

TableFile probe_table(const RunData& run, const TaskData& t) {
  ProbeTable table(run, t);
  const char* unit = t.corpus ? "nats a token" : "nats a target";
  const auto at = [&](const Place& p) { return table.at(p); };
  const auto moved = [&](const Place& p) {
    return fmt::format("{} moved by {}", table.at(p), format_number(axis(p, "offset")));
  };
  const auto kept = [&](const Place& p) {
    return fmt::format("{}, {} kept", table.at(p), format_number(axis(p, "kept")));
  };
  const auto layer = [&](const Place& p) {
    return fmt::format("{}, layer {}", table.at(p), format_number(axis(p, "layer")));
  };
  table.add("zeroed_cost", "Without the encoding",
            fmt::format("What it costs, in {}, to evaluate with no encoding at all.", unit),
            signed_nats_text, at);
  table.add("zeroed_acc", "", "Accuracy (%) that is left without the encoding.", percent_text, at);
  table.add("generated_em", "Written by the model",
            "Examples (%) whose answer is right as the model writes it, token by token.",
            percent_text, at);
  table.add("generated_acc", "",
            "Targets (%) that are right in answers that the model writes, token by token.",
            percent_text, at);
  table.add("offset_change", "Moved",
            fmt::format("How far the {} lie from those at positions 0, 1, ..., in the mean, when "
                        "all positions are moved. 0: only distances count.",
                        unit),
            nats_text, moved);
  table.add("offset_cost", "", fmt::format("What being moved costs, in {}.", unit),
            signed_nats_text, moved);
  table.add("shuffled_cost", "Shuffled",
            fmt::format("What it costs, in {}, to read the tokens before the first scored one in "
                        "another order; the last ones keep theirs.",
                        unit),
            signed_nats_text, kept);
  table.add("shuffled_acc", "", "Accuracy (%) that is left then.", percent_text, kept);
  table.add(
      "position_r2", "Position in the states",
      "Share of the position's variance that a linear map reads from the states: layer 0 is "
      "the embedding, layer l what l layers have made of it.",
      [](double x) { return format_fixed(x, 3); }, layer);
  table.add_bands(unit);
  table.add_heads();
  TableFile out{file_name(run, t, "probes"), std::move(table.blocks), {}};
  if (!out.blocks.empty()) out.csv = table.csv();
  return out;
}

TableFile prediction_table(const RunData& run, const TaskData& t) {
  TableFile out{file_name(run, t, "predictions"), {}, {}};
  if (t.predictions.empty()) return out;
  Table table{
      "Predictions",
      "Single examples, tokens by number: what the model reads up to its first answer, what "
      "is wanted, what it finds where the right beginning is shown.",
      {{"encoding", "seed", "length", "example", "read", "wanted", "found", "right (%)"}},
      7};
  out.csv = {{"encoding", "seed", "length", "example", "read", "wanted", "found", "right"}};
  constexpr std::size_t most = 400;  // on a page; all stand in the CSV
  for (const Prediction& p : t.predictions) {
    const std::vector<std::string> row = {run.encodings[p.encoding],
                                          std::to_string(p.seed),
                                          std::to_string(p.length),
                                          std::to_string(p.example),
                                          p.read,
                                          p.wanted,
                                          p.found};
    out.csv.push_back(row);
    out.csv.back().push_back(csv_number(p.right));
    if (table.rows.size() > most) continue;
    std::vector<Text> shown(row.begin(), row.end());
    shown[4] = code(p.read), shown[5] = code(p.wanted), shown[6] = code(p.found);
    shown.push_back(percent_text(p.right));
    table.rows.push_back(std::move(shown));
  }
  if (t.predictions.size() > most)
    table.caption += fmt::format(" The first {} of {}.", most, t.predictions.size());
  out.blocks.push_back(std::move(table));
  return out;
}

}  // namespace pesuite
