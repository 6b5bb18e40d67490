#include "data/likeness.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <functional>

#include "pesuite/random.hpp"

namespace pesuite::data {

namespace {

constexpr int run_words = 5;
constexpr std::size_t band_values = 3, bands = std::tuple_size_v<Sketch> / band_values;
constexpr std::size_t compared = 8;  // of those with the same band

bool is_word_byte(unsigned char c) {
  return c >= 0x80 || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

// Calls `take` with the hash of each word, letters of ASCII made small.
template <class F>
void each_word(std::string_view text, F take) {
  for (std::size_t i = 0; i < text.size();) {
    if (!is_word_byte(static_cast<unsigned char>(text[i]))) {
      ++i;
      continue;
    }
    std::uint64_t h = 0;
    for (; i < text.size() && is_word_byte(static_cast<unsigned char>(text[i])); ++i) {
      const auto c = static_cast<unsigned char>(text[i]);
      h = (h ^ (c < 0x80 && c >= 'A' ? c | 0x20u : c)) * 0x9e3779b97f4a7c15u;
    }
    take(h);
  }
}

// Marks those of which an earlier one is near and wanted.
void each_near(const std::vector<Sketch>& all,
               const std::function<bool(std::size_t, std::size_t)>& wanted,
               std::vector<bool>& found) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> keys(all.size());
  for (std::size_t b = 0; b < bands; ++b) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::uint64_t key = 0;
      for (std::size_t v = 0; v < band_values; ++v) key = key << 16 | all[i][b * band_values + v];
      keys[i] = {key, static_cast<std::uint32_t>(i)};
    }
    std::sort(keys.begin(), keys.end());
    for (std::size_t first = 0, i = 0; i < keys.size(); ++i) {
      if (keys[i].first != keys[first].first) first = i;
      const std::size_t later = keys[i].second;
      for (std::size_t j = first; j < std::min(i, first + compared) && !found[later]; ++j) {
        if (!wanted(keys[j].second, later)) continue;
        std::size_t equal = 0;
        for (std::size_t v = 0; v < all[later].size(); ++v)
          equal += all[later][v] == all[keys[j].second][v] ? 1 : 0;
        found[later] =
            static_cast<double>(equal) >= near_share * static_cast<double>(all[later].size());
      }
    }
  }
}

}  // namespace

Sketch sketch_of(std::string_view text) {
  constexpr std::size_t bins = std::tuple_size_v<Sketch>;
  constexpr std::uint64_t none = ~std::uint64_t{0};
  std::array<std::uint64_t, bins> least;
  least.fill(none);
  const auto take = [&](std::uint64_t run) {
    const std::uint64_t h = pes::mix64(0, run);
    std::uint64_t& bin =
        least[static_cast<std::uint64_t>(static_cast<std::uint32_t>(h)) * bins >> 32];
    bin = std::min(bin, h >> 16);
  };
  std::array<std::uint64_t, run_words> last{};
  std::size_t words = 0;
  each_word(text, [&](std::uint64_t word) {
    last[words++ % run_words] = word;
    if (words < run_words) return;
    std::uint64_t run = 0;
    for (std::size_t k = 0; k < run_words; ++k)
      run = run * 0xff51afd7ed558ccdu + last[(words + k) % run_words];
    take(run);
  });
  if (words < run_words) take(content_hash(text));  // near only to its own copies
  Sketch out;
  for (std::size_t i = 0; i < bins; ++i) {
    std::size_t j = i;
    while (least[j % bins] == none) ++j;
    out[i] = static_cast<std::uint16_t>(pes::mix64(j - i, least[j % bins]));
  }
  return out;
}

std::uint64_t content_hash(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

bool HashSet::insert(std::uint64_t h) {
  if (h == 0) return !std::exchange(has_zero_, true);
  if (2 * (size_ + 1) > table_.size()) grow();
  std::size_t at = h & (table_.size() - 1);
  for (; table_[at] != 0; at = (at + 1) & (table_.size() - 1))
    if (table_[at] == h) return false;
  table_[at] = h;
  ++size_;
  return true;
}

void HashSet::grow() {
  std::vector<std::uint64_t> old(2 * table_.size());
  old.swap(table_);
  for (const std::uint64_t h : old) {
    if (h == 0) continue;
    std::size_t at = h & (table_.size() - 1);
    while (table_[at] != 0) at = (at + 1) & (table_.size() - 1);
    table_[at] = h;
  }
}

std::vector<bool> near_earlier(const std::vector<Sketch>& all) {
  std::vector<bool> found(all.size());
  each_near(
      all, [](std::size_t, std::size_t) { return true; }, found);
  return found;
}

std::vector<bool> near_other(const std::vector<Sketch>& all,
                             const std::vector<std::uint8_t>& group) {
  // those of smaller groups first, so that one pass over earlier ones sees all pairs
  std::vector<std::uint32_t> order(all.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return group[a] < group[b]; });
  std::vector<Sketch> sorted;
  sorted.reserve(all.size());
  for (const std::uint32_t i : order) sorted.push_back(all[i]);
  std::vector<bool> found(all.size()), out(all.size());
  each_near(
      sorted, [&](std::size_t a, std::size_t b) { return group[order[a]] < group[order[b]]; },
      found);
  for (std::size_t i = 0; i < order.size(); ++i) out[order[i]] = found[i];
  return out;
}

}  // namespace pesuite::data
