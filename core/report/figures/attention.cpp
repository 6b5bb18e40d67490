#include "report/figures/attention.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "model/safetensors.h"
#include "report/figures.h"
#include "report/tables.h"

namespace pesuite {

namespace {

constexpr std::int64_t most_points = 96;  // a side
constexpr std::size_t most_panels = 24;

// The largest of each f x f square, [n, n] -> [m, m].
std::vector<double> coarser(const std::vector<double>& p, std::int64_t n, std::int64_t f,
                            std::int64_t m) {
  std::vector<double> out(static_cast<std::size_t>(m * m));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double& to = out[static_cast<std::size_t>(i / f * m + j / f)];
      to = std::max(to, p[static_cast<std::size_t>(i * n + j)]);
    }
  return out;
}

}  // namespace

AboutMaps about_maps(const SafetensorsReader& file, const fs::path& name) {
  const auto& says = file.metadata();
  const auto text = [&](const char* key) {
    const auto found = says.find(key);
    return found == says.end() ? "" : found->second;
  };
  AboutMaps out;
  try {
    if (text("schema") == "pesuite.attention/1") {
      out.length = Json::parse(text("length")).get<std::int64_t>();
      out.layers = Json::parse(text("layers")).get<std::vector<int>>();
      out.heads = Json::parse(text("heads")).get<std::vector<int>>();
    }
  } catch (const Json::exception&) {
    out.length = 0;
  }
  if (out.length < 1) fail(Exit::data, "{} holds no maps of attention", name.string());
  out.example = text("example"), out.tokens = text("tokens");
  return out;
}

Figure attention_figure(const fs::path& maps, const std::string& name, const std::string& title) {
  const SafetensorsReader file(maps);
  const AboutMaps about = about_maps(file, maps);
  const std::int64_t n = about.length;
  const auto &layers = about.layers, &heads = about.heads;
  const std::int64_t f = (n + most_points - 1) / most_points, m = (n + f - 1) / f;
  std::vector<std::string> panels;
  Figure figure;
  figure.rows = {{"panel", "key", "query", "weight"}};
  const std::size_t all = layers.size() * heads.size();
  for (std::size_t i = 0; i < std::min(all, most_panels); ++i) {
    const int layer = layers[i / heads.size()], head = heads[i % heads.size()];
    const std::vector<double> p =
        coarser(file.read(fmt::format("layers.{}.heads.{}", layer, head), {n, n}), n, f, m);
    panels.push_back(fmt::format("layer {}, head {}", layer, head));
    for (std::int64_t query = 0; query < m; ++query)
      for (std::int64_t key = 0; key < m; ++key) {
        const double middle = static_cast<double>(f - 1) / 2;
        const double weight = p[static_cast<std::size_t>(query * m + key)];
        figure.rows.push_back({std::to_string(panels.size()),
                               format_number(static_cast<double>(key * f) + middle),
                               format_number(static_cast<double>(query * f) + middle),
                               key > query ? "" : fmt::format("{:.3g}", weight)});
      }
  }
  figure.name = name;
  figure.kind = "attention";
  figure.title = title;
  figure.caption = fmt::format(
      "Attention of example {} at {} tokens: each row is a query, each column a key. The scale is "
      "logarithmic; weights below 0.001 are dark{}{}.",
      about.example, n,
      f > 1 ? fmt::format("; a point is the largest of {0} x {0} weights", f) : "",
      all > most_panels
          ? fmt::format("; {} of {} heads, the others stand in the file", most_panels, all)
          : "");
  // a row a layer, where that is not too wide
  const auto count = static_cast<double>(panels.size());
  const double columns =
      heads.size() <= 8 ? std::min(count, static_cast<double>(heads.size())) : std::min(count, 8.0);
  const double rows = std::ceil(count / columns), side = columns > 4 ? 120 : 170;
  constexpr double gap_x = 26, gap_y = 40;
  figure.values = {{"panel", panels},
                   {"legend_width", 70.0},
                   {"left", 74.0},
                   {"panels", count},
                   {"columns", columns},
                   {"side", side},
                   {"gap_x", gap_x},
                   {"gap_y", gap_y},
                   {"panel_width", columns * side + (columns - 1) * gap_x},
                   {"panel_height", rows * side + (rows - 1) * gap_y + 26},
                   {"points", static_cast<double>(m)},
                   {"last", static_cast<double>(n - 1)}};
  figure.x.label = "key", figure.y.label = "query";
  return figure;
}

// Maps of the first seed that has any.
static std::vector<Figure> draw_attention(const RunData& run, const TaskData& t) {
  std::vector<Figure> out;
  for (const MapsFile& m : t.maps) {
    if (m.seed != t.maps[0].seed) continue;
    std::string name =
        file_name(run, t, "attention", fmt::format("{}_{}", run.encodings[m.encoding], m.length));
    for (int n = 2;
         std::any_of(out.begin(), out.end(), [&](const Figure& f) { return f.name == name; }); ++n)
      name = file_name(run, t, "attention",
                       fmt::format("{}_{}_{}", run.encodings[m.encoding], m.length, n));
    Figure f =
        attention_figure(m.file, name,
                         fmt::format("{} · attention of {} at {} tokens, seed {}", t.task,
                                     shorten(run.encodings[m.encoding], 26), m.length, m.seed));
    f.caption += fmt::format(" In full: attention/{}.", m.file.filename().string());
    out.push_back(std::move(f));
  }
  return out;
}

std::vector<FigureKind> attention_figures() {
  return {{FigureSection::probes, 0,
           [](const FigureContext& c) { return draw_attention(c.run, *c.task); }}};
}

}  // namespace pesuite
