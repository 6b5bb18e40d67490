// The tables of docs/statistics.md.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>

#include "analysis/calibrate.h"
#include "analysis/paired.h"
#include "analysis/statistics.h"
#include "base/text.h"
#include "plugin/card.h"

namespace pesuite {

namespace {

using TextRows = std::vector<std::vector<std::string>>;

constexpr std::size_t seed_counts[] = {2, 3, 5, 10, 20, 30};
constexpr std::size_t encoding_counts[] = {2, 3, 6, 10};
constexpr double least_coverage = 0.93;

std::size_t shapes() {
  return calibration_shapes().size();
}

// f of each shape, at the same time.
template <class F>
auto each_shape(F f) {
  std::vector<std::future<decltype(f(std::size_t{}))>> running;
  for (std::size_t shape = 0; shape < shapes(); ++shape)
    running.push_back(std::async(std::launch::async, f, shape));
  std::vector<decltype(f(std::size_t{}))> out;
  for (auto& r : running) out.push_back(r.get());
  return out;
}

// What in them lies above what may go wrong in `runs` runs.
std::vector<std::size_t> above(const Rates& r, std::uint64_t runs) {
  std::vector<std::size_t> out;
  for (std::size_t kind = 0; kind < wrongs; ++kind)
    if (r.of[kind] > wrong_kinds()[kind].limit(runs)) out.push_back(kind);
  return out;
}

// Of so many rates some lie above two simulation errors by chance. Such conditions are measured
// again on fresh numbers, with four times the runs, at most twice; what is too high stays so.
Rates settled(const Conditions& s, std::uint64_t runs) {
  Rates out = rates(s, 0, runs);
  std::uint64_t next = runs;
  for (int again = 0; again < 2 && !above(out, runs).empty(); ++again) {
    out = rates(s, next, 4 * runs);
    next += 4 * runs;
  }
  return out;
}

struct CalibrationPage {
  std::uint64_t runs;
  std::function<void(const std::string&)> progress;
  Calibration out;

  void table(const std::string& title, const TextRows& rows) {
    out.text += fmt::format("{}\n\n{}\n", title, markdown_text_table(rows));
  }

  void verdicts() {
    TextRows rows = {{"encodings", "seeds"}};
    out.csv = "shape,encodings,seeds,runs";
    for (const WrongKind& k : wrong_kinds()) {
      std::string column = k.name;
      std::erase(column, ',');
      out.csv += "," + column;
      rows[0].emplace_back(k.name);
    }
    rows[0].back() = "coverage", out.csv += "\n";
    for (const std::size_t k : encoding_counts)
      for (const std::size_t n : seed_counts) {
        progress(fmt::format("{} encodings, {} seeds", k, n));
        rows.push_back(verdicts_at(k, n));
      }
    table(
        "Highest rate of all shapes at which each is wrongly said in a run, and lowest coverage "
        "of 95 % intervals of differences:",
        rows);
  }

  std::vector<std::string> verdicts_at(std::size_t k, std::size_t n) {
    const bool tested = n >= fewest_seeds;  // else all rates are 0: a few runs show it
    const auto all = each_shape([&](std::size_t shape) {
      return tested ? settled({shape, k, n}, runs) : rates({shape, k, n}, 0, 20);
    });
    std::vector<std::string> row = {std::to_string(k), std::to_string(n)};
    for (std::size_t kind = 0; kind < wrongs; ++kind) {
      double worst = 0;
      for (std::size_t shape = 0; shape < shapes(); ++shape) {
        const Rates& r = all[shape];
        worst = std::max(worst, r.of[kind]);
        if (r.of[kind] > wrong_kinds()[kind].limit(runs))
          out.faults.push_back(fmt::format("{} encodings, {} seeds, {}: {} {:.4f} of {} runs", k, n,
                                           calibration_shapes()[shape].name,
                                           wrong_kinds()[kind].name, r.of[kind], r.runs));
      }
      row.push_back(kind == uncovered ? tested ? format_fixed(1 - worst, 3) : "–"
                                      : format_fixed(worst, kind == tiny ? 4 : 3));
    }
    for (std::size_t shape = 0; shape < shapes(); ++shape) {
      out.csv +=
          fmt::format("{},{},{},{}", calibration_shapes()[shape].name, k, n, all[shape].runs);
      for (const double x : all[shape].of) out.csv += fmt::format(",{:.5f}", x);
      out.csv += "\n";
    }
    return row;
  }

  // Rules that are known, with what they cost: error in the worst shape, and power.
  void powers() {
    TextRows rows = {{"rule"}};
    const std::pair<std::size_t, std::size_t> places[] = {{2, 5}, {3, 5}, {6, 5}, {10, 5}, {6, 10}};
    for (const auto& [k, n] : places)
      rows[0].push_back(fmt::format("{} encodings, {} seeds", k, n));
    std::vector<double> best(std::size(places)), own;
    for (const Rule rule : {Rule::ours, Rule::plain, Rule::prior, Rule::limma}) {
      progress(fmt::format("power of {}", rule_name(rule)));
      rows.push_back({rule_name(rule)});
      for (std::size_t i = 0; i < std::size(places); ++i) {
        const auto [k, n] = places[i];
        const double found = power(rule, {0, k, n}, runs / 4);
        const auto wrong = each_shape([&, k = k, n = n](std::size_t shape) {
          return false_calls(rule, {shape, k, n}, runs);
        });
        const double worst = *std::max_element(wrong.begin(), wrong.end());
        rows.back().push_back(fmt::format("{:.2f} ({:.3f})", found, worst));
        if (rule == Rule::ours)
          own.push_back(found);
        else if (worst <= wrong_kinds()[called].limit(runs))
          best[i] = std::max(best[i], found);
      }
    }
    table("Power (error in the worst shape) of this rule and of others:", rows);
    double least = 1;
    for (std::size_t i = 0; i < std::size(places); ++i) {
      least = std::min(least, own[i] / best[i]);
      if (own[i] < 0.85 * best[i])
        out.faults.push_back(fmt::format("{} encodings, {} seeds: power {:.3f}, of another {:.3f}",
                                         places[i].first, places[i].second, own[i], best[i]));
    }
    out.text += fmt::format(
        "This rule has at least {:.0f} % of the power of the best other one that keeps its "
        "level.\n\n",
        std::floor(100 * least));
  }

  std::string covered(const std::string& what, double coverage) {
    if (coverage < least_coverage)
      out.faults.push_back(fmt::format("{}: covers {:.4f}", what, coverage));
    return format_fixed(coverage, 3);
  }

  void intervals() {
    progress("intervals");
    TextRows rows = {{"interval", "5 seeds", "10", "20", "30"}};
    const auto add = [&](const std::string& what, auto coverage) {
      rows.push_back({what});
      for (const std::size_t n : {5u, 10u, 20u, 30u})
        rows.back().push_back(covered(fmt::format("{}, {} seeds", what, n), coverage(n)));
    };
    for (std::size_t shape = 0; shape < shapes(); ++shape)
      add(fmt::format("mean, {}", calibration_shapes()[shape].name), [&](std::size_t n) {
        return mean_coverage({shape, 1, n}, 4 * runs);
      });
    for (const std::size_t shape : {std::size_t{0}, shapes() - 2, shapes() - 1})
      add(fmt::format("score, {}", calibration_shapes()[shape].name), [&](std::size_t n) {
        return score_coverage({shape, 1, n}, runs);
      });
    for (const double share : {0.5, 0.8, 0.95})
      add(fmt::format("share of seeds, {:g}", share),
          [&](std::size_t n) { return share_coverage(share, n, 4 * runs); });
    table("Coverage of other 95 % intervals:", rows);
    rows = {{"accuracy", "targets right apart", "half together", "together"}};
    for (const double share : {0.5, 0.9, 0.98}) {
      rows.push_back({format_number(share)});
      for (const int together : {0, 1, 2})
        rows.back().push_back(covered(fmt::format("accuracy {:g}, kind {}", share, together),
                                      accuracy_coverage(share, together, runs)));
    }
    table("Coverage of the interval of an accuracy over 500 examples of 8 targets:", rows);
  }
};

}  // namespace

Calibration calibrate(std::uint64_t runs, const std::function<void(const std::string&)>& progress) {
  CalibrationPage page{runs, progress, {}};
  page.out.text = fmt::format("{} runs each, simulation error {:.4f} at 0.05.\n\n", runs,
                              std::sqrt(0.05 * 0.95 / static_cast<double>(runs)));
  page.verdicts();
  page.powers();
  page.intervals();
  return page.out;
}

}  // namespace pesuite
