// How alike the attention of two encodings looks, on the same example (Kazemnejad et al. 2023,
// section 5.2): the Jensen-Shannon divergence of two heads' rows, mean over queries; of two
// encodings the least over pairs of heads of a layer, mean over layers. In bits: 0 is the same,
// 1 looks at nothing in common.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "report/figures/attention.h"
#include "report/tables.h"

namespace pesuite {

namespace {

constexpr std::int64_t longest = 1024;     // of an example, whose maps are held whole
constexpr std::int64_t most_queries = 64;  // evenly spaced
constexpr std::int64_t first_query = 8;    // before it there is little to choose from

using Head = std::vector<double>;  // [queries, keys]

struct KeptAttention {
  std::int64_t length = 0;
  std::string example;  // its tokens
  std::vector<int> layers;
  std::vector<std::vector<Head>> heads;  // of each layer
};

std::vector<std::int64_t> queries_of(std::int64_t n) {
  std::vector<std::int64_t> out;
  const std::int64_t first = std::min(first_query, n - 1), all = n - first;
  const std::int64_t count = std::min(all, most_queries);
  for (std::int64_t i = 0; i < count; ++i) out.push_back(first + (i + 1) * all / count - 1);
  return out;
}

KeptAttention read_attention(const fs::path& file) {
  const SafetensorsReader maps(file);
  const AboutMaps about = about_maps(maps, file);
  KeptAttention a{about.length, about.tokens, about.layers, {}};
  if (a.length > longest || a.length < 2) return a;
  for (const int layer : a.layers) {
    a.heads.emplace_back();
    for (const int head : about.heads) {
      const std::vector<double> all =
          maps.read(fmt::format("layers.{}.heads.{}", layer, head), {a.length, a.length});
      Head& h = a.heads.back().emplace_back();
      for (const std::int64_t q : queries_of(a.length))
        h.insert(h.end(), all.begin() + q * a.length, all.begin() + (q + 1) * a.length);
    }
  }
  return a;
}

double divergence(const Head& p, const Head& q, std::size_t queries) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double m = (p[i] + q[i]) / 2;
    if (p[i] > 0) sum += p[i] * std::log2(p[i] / m) / 2;
    if (q[i] > 0) sum += q[i] * std::log2(q[i] / m) / 2;
  }
  return std::max(0.0, sum / static_cast<double>(queries));
}

// Of each layer, the least over pairs of heads; empty where they cannot be compared.
std::vector<double> divergences(const KeptAttention& a, const KeptAttention& b) {
  std::vector<double> out;
  if (a.length != b.length || a.example != b.example || a.layers != b.layers || a.heads.empty())
    return out;
  const std::size_t queries = queries_of(a.length).size();
  for (std::size_t l = 0; l < a.heads.size(); ++l) {
    double least = 1;
    for (const Head& p : a.heads[l])
      for (const Head& q : b.heads[l]) least = std::min(least, divergence(p, q, queries));
    out.push_back(least);
  }
  return out;
}

// Values of a pair of encodings at a length, one a seed.
using Divergences = std::map<std::pair<std::size_t, std::size_t>, std::vector<double>>;

void compare_all(const RunData& run, const std::vector<const MapsFile*>& files, Rows& csv,
                 Divergences& pairs) {
  std::vector<KeptAttention> all;
  for (const MapsFile* m : files) all.push_back(read_attention(m->file));
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      const std::vector<double> of = divergences(all[i], all[j]);
      if (of.empty() || files[i]->encoding == files[j]->encoding) continue;
      double mean = 0;
      for (std::size_t l = 0; l < of.size(); ++l) {
        mean += of[l] / static_cast<double>(of.size());
        csv.push_back({run.encodings[files[i]->encoding], run.encodings[files[j]->encoding],
                       std::to_string(files[i]->seed), std::to_string(files[i]->length),
                       std::to_string(all[i].layers[l]), csv_number(of[l])});
      }
      pairs[std::minmax(files[i]->encoding, files[j]->encoding)].push_back(mean);
    }
}

Table alike_matrix(const RunData& run, const TaskData& t, int length, const Divergences& pairs) {
  std::vector<std::size_t> shown;
  for (const std::size_t e : t.encodings)
    if (std::any_of(pairs.begin(), pairs.end(),
                    [e](const auto& p) { return p.first.first == e || p.first.second == e; }))
      shown.push_back(e);
  Table out;
  out.title = Text(fmt::format("How alike attention looks at {} tokens", length));
  out.caption = Text(
      "Jensen-Shannon divergence in bits of the most similar heads of a layer, mean over layers "
      "and seeds, on one example: 0 is the same attention, 1 has nothing in common.");
  out.rows = {{"encoding"}};
  for (const std::size_t e : shown) out.rows[0].push_back(code(run.encodings[e]));
  for (const std::size_t e : shown) {
    std::vector<Text> row = {row_name(run, t, e)};
    for (const std::size_t other : shown) {
      const auto found = pairs.find(std::minmax(e, other));
      double mean = 0;
      if (found != pairs.end())
        for (const double x : found->second) mean += x / static_cast<double>(found->second.size());
      row.emplace_back(found == pairs.end() ? "–" : format_fixed(mean, 3));
    }
    out.rows.push_back(std::move(row));
  }
  return out;
}

}  // namespace

TableFile attention_table(const RunData& run, const TaskData& t) {
  TableFile out{file_name(run, t, "attention"), {}, {}};
  out.csv = {{"encoding", "other", "seed", "length", "layer", "divergence"}};
  std::map<int, std::map<std::uint64_t, std::vector<const MapsFile*>>> files;
  for (const MapsFile& m : t.maps) files[m.length][m.seed].push_back(&m);
  for (const auto& [length, seeds] : files) {
    Divergences pairs;
    for (const auto& [seed, of] : seeds) compare_all(run, of, out.csv, pairs);
    if (!pairs.empty()) out.blocks.push_back(alike_matrix(run, t, length, pairs));
  }
  return out;
}

}  // namespace pesuite
