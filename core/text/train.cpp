#include "text/train.h"

#include <algorithm>
#include <array>
#include <queue>
#include <unordered_set>

#include "text/unicode.h"

namespace pesuite::text {

// ------------------------------------------------------------------------------------ pieces

void PieceCounts::add(std::string_view bytes) {
  std::string whole;
  for (std::size_t from = 0; from < bytes.size();) {
    const std::size_t line = bytes.find('\n', from);
    const std::size_t end = line == std::string_view::npos ? bytes.size() : line + 1;
    const std::string_view text = well_formed(bytes.substr(from, end - from), whole);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t next = end_of_piece(pattern_, text, at);
      const std::string_view piece = text.substr(at, next - at);
      if (const auto it = counts_.find(piece); it != counts_.end())
        ++it->second;
      else
        counts_.emplace(piece, 1);
      at = next;
    }
    from = end;
  }
}

void PieceCounts::add(const PieceCounts& other) {
  for (const auto& [piece, count] : other.counts_) counts_[piece] += count;
}

std::vector<std::pair<std::string, std::uint64_t>> PieceCounts::sorted() const {
  std::vector<std::pair<std::string, std::uint64_t>> out(counts_.begin(), counts_.end());
  std::sort(out.begin(), out.end());
  return out;
}

// ---------------------------------------------------------------------------------- alphabet

namespace {

bool prints(int byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

}  // namespace

std::vector<unsigned char> byte_order() {
  std::vector<unsigned char> out;
  for (const bool first : {true, false})
    for (int b = 0; b < 256; ++b)
      if (prints(b) == first) out.push_back(static_cast<unsigned char>(b));
  return out;
}

std::string sign_of_byte(unsigned char byte) {
  int code = byte;
  if (!prints(byte)) {
    code = 256;
    for (int b = 0; b < byte; ++b) code += prints(b) ? 0 : 1;
  }
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
}

// ------------------------------------------------------------------------------------ merges

namespace {

// The pieces as tokens, pairs with their counts, and where each pair stands.
class Trainer {
 public:
  using Id = std::uint32_t;
  using Pair = std::uint64_t;  // left << 32 | right

  Trainer(const PieceCounts& counts, Trained& out) : out_(out) {
    std::array<Id, 256> id{};
    for (const unsigned char b : byte_order()) {
      id[b] = static_cast<Id>(out.tokens.size());
      out.tokens.emplace_back(1, static_cast<char>(b));
    }
    for (const auto& [piece, count] : counts.sorted()) {
      if (piece.size() < 2) continue;
      Word w{{}, count};
      for (const char c : piece) w.ids.push_back(id[static_cast<unsigned char>(c)]);
      words_.push_back(std::move(w));
    }
    for (std::uint32_t w = 0; w < words_.size(); ++w)
      for (std::size_t i = 0; i + 1 < words_[w].ids.size(); ++i)
        count(pair_of(words_[w].ids[i], words_[w].ids[i + 1]), w);
    for (const auto& [pair, p] : pairs_) queue_.push({p.count, pair});
  }

  // False: no pair is left.
  bool merge() {
    while (!queue_.empty()) {
      const Best best = queue_.top();
      queue_.pop();
      const auto it = pairs_.find(best.pair);
      if (it == pairs_.end() || it->second.count == 0) continue;
      if (it->second.count != best.count) {  // it fell meanwhile
        queue_.push({it->second.count, best.pair});
        continue;
      }
      const Id made = static_cast<Id>(out_.tokens.size());
      out_.tokens.push_back(out_.tokens[left_of(best.pair)] + out_.tokens[right_of(best.pair)]);
      out_.merges.emplace_back(left_of(best.pair), right_of(best.pair));
      out_.counts.push_back(best.count);
      std::vector<std::uint32_t> where = std::move(it->second.words);
      pairs_.erase(it);
      std::sort(where.begin(), where.end());
      where.erase(std::unique(where.begin(), where.end()), where.end());
      changed_.clear();
      for (const std::uint32_t w : where) replace(w, best.pair, made);
      for (const Pair p : changed_)
        if (const auto at = pairs_.find(p); at != pairs_.end()) queue_.push({at->second.count, p});
      return true;
    }
    return false;
  }

 private:
  struct Word {
    std::vector<Id> ids;
    std::uint64_t count;
  };
  struct Occurrences {
    std::uint64_t count = 0;
    std::vector<std::uint32_t> words;  // some of which may have lost it
  };
  struct Best {
    std::uint64_t count;
    Pair pair;
    bool operator<(const Best& o) const {  // a queue's top is its largest
      return count != o.count ? count < o.count : pair > o.pair;
    }
  };
  static Pair pair_of(Id left, Id right) { return Pair{left} << 32 | right; }
  static Id left_of(Pair p) { return static_cast<Id>(p >> 32); }
  static Id right_of(Pair p) { return static_cast<Id>(p); }

  void count(Pair p, std::uint32_t word) {
    Occurrences& o = pairs_[p];
    o.count += words_[word].count;
    if (o.words.empty() || o.words.back() != word) o.words.push_back(word);
  }
  void discount(Pair p, std::uint32_t word) {
    if (const auto it = pairs_.find(p); it != pairs_.end()) it->second.count -= words_[word].count;
  }

  // From the left, without overlap. Only pairs beside what is merged are counted anew.
  void replace(std::uint32_t word, Pair pair, Id made) {
    std::vector<Id>& ids = words_[word].ids;
    const auto old_pair = [&](std::size_t i) { return pair_of(ids[i], ids[i + 1]); };
    std::size_t discounted = 0;  // pairs that begin before it are
    for (std::size_t i = 0; i < ids.size();) {
      if (i + 1 == ids.size() || old_pair(i) != pair) {
        next_.push_back(ids[i++]);
        continue;
      }
      for (std::size_t j = std::max(discounted, i == 0 ? 0 : i - 1); j < i + 2; ++j)
        if (j + 1 < ids.size() && old_pair(j) != pair) discount(old_pair(j), word);
      discounted = i + 2;
      next_.push_back(made);
      i += 2;
    }
    ids.swap(next_);
    next_.clear();
    for (std::size_t i = 0; i + 1 < ids.size(); ++i)
      if (ids[i] == made || ids[i + 1] == made) {
        count(old_pair(i), word);
        changed_.insert(old_pair(i));
      }
  }

  Trained& out_;
  std::vector<Word> words_;
  std::vector<Id> next_;
  std::unordered_map<Pair, Occurrences> pairs_;
  std::priority_queue<Best> queue_;
  std::unordered_set<Pair> changed_;
};

}  // namespace

Trained train_merges(const PieceCounts& counts, std::size_t vocabulary,
                     const std::function<void(std::size_t)>& progress) {
  Trained out;
  Trainer trainer(counts, out);
  while (out.tokens.size() < vocabulary && trainer.merge())
    if (progress && out.merges.size() % 64 == 0) progress(out.merges.size());
  return out;
}

}  // namespace pesuite::text
