#include "text/merges.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <queue>

#include "pesuite/random.hpp"

namespace pesuite::text {

namespace {

constexpr std::size_t longest_packed = 15;
constexpr std::size_t longest_short = 40;  // bytes; above a heap is faster

std::uint64_t hash_of(const std::array<std::uint64_t, 2>& text) {
  const std::uint64_t h =
      text[0] * 0x9e3779b97f4a7c15 ^ std::rotl(text[1], 29) * 0xd1342543de82ef95;
  return h ^ (h >> 32);
}
std::uint64_t key_of(Token left, Token right) {
  return std::uint64_t{left} << 32 | right;
}

}  // namespace

Merges::Merges(const std::array<Token, 256>& bytes, const std::vector<Rule>& rules)
    : bytes_(bytes), slots_(std::bit_ceil(2 * rules.size() + 2)), wholes_(1024) {
  for (std::size_t rank = 0; rank < rules.size(); ++rank) {
    const Rule& r = rules[rank];
    const std::uint64_t key = key_of(r.left, r.right);
    std::size_t at = pes::mix64(0, key) & (slots_.size() - 1);
    while (slots_[at].found.rank != none && slots_[at].key != key)
      at = (at + 1) & (slots_.size() - 1);
    if (slots_[at].found.rank == none)
      slots_[at] = {key, {static_cast<std::uint32_t>(rank), r.merged}};
  }
}

Merges::Found Merges::find(Token left, Token right) const {
  const std::uint64_t key = key_of(left, right);
  for (std::size_t at = pes::mix64(0, key) & (slots_.size() - 1);;
       at = (at + 1) & (slots_.size() - 1)) {
    const Slot& s = slots_[at];
    if (s.found.rank == none) return {none, none};
    if (s.key == key) return s.found;
  }
}

// ------------------------------------------------------------------------------ whole pieces

std::array<std::uint64_t, 2> Merges::packed(std::string_view text) {
  std::array<std::uint64_t, 2> out{};
  std::memcpy(out.data(), text.data(), text.size());
  out[1] |= std::uint64_t{text.size()} << 56;
  return out;
}

const Merges::Whole* Merges::find_whole(const std::array<std::uint64_t, 2>& text) const {
  for (std::size_t at = hash_of(text) & (wholes_.size() - 1);;
       at = (at + 1) & (wholes_.size() - 1)) {
    const Whole& w = wholes_[at];
    if (w.token == none || w.text == text) return &w;
  }
}

void Merges::grow_wholes() {
  std::vector<Whole> old(2 * wholes_.size());
  old.swap(wholes_);
  for (const Whole& w : old)
    if (w.token != none) *const_cast<Whole*>(find_whole(w.text)) = w;
}

void Merges::add_whole(std::string_view text, Token token) {
  if (text.empty()) return;
  if (text.size() > longest_packed) {
    long_wholes_.emplace(text, token);
    return;
  }
  if (3 * ++whole_count_ > wholes_.size()) grow_wholes();
  Whole& w = *const_cast<Whole*>(find_whole(packed(text)));
  if (w.token == none) w = {packed(text), token};
}

// ----------------------------------------------------------------------------------- merging

void Merges::encode(std::string_view piece, std::vector<Token>& out) const {
  if (piece.empty()) return;
  if (piece.size() == 1) {
    out.push_back(bytes_[static_cast<unsigned char>(piece[0])]);
    return;
  }
  if (piece.size() <= longest_packed) {
    if (const Whole* w = find_whole(packed(piece)); w->token != none) {
      out.push_back(w->token);
      return;
    }
  } else if (const auto it = long_wholes_.find(std::string(piece)); it != long_wholes_.end()) {
    out.push_back(it->second);
    return;
  }
  if (piece.size() <= longest_short)
    encode_short(piece, out);
  else
    merge(symbols_of(piece), out);
}

std::vector<Token> Merges::symbols_of(std::string_view piece) const {
  std::vector<Token> symbols(piece.size());
  for (std::size_t i = 0; i < piece.size(); ++i)
    symbols[i] = bytes_[static_cast<unsigned char>(piece[i])];
  return symbols;
}

void Merges::encode_short(std::string_view piece, std::vector<Token>& out) const {
  std::array<Token, longest_short> tokens;
  std::array<Found, longest_short> next;  // what each would become with the one behind it
  std::size_t n = piece.size();
  for (std::size_t i = 0; i < n; ++i) tokens[i] = bytes_[static_cast<unsigned char>(piece[i])];
  for (std::size_t i = 0; i + 1 < n; ++i) next[i] = find(tokens[i], tokens[i + 1]);
  while (n > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < n; ++i)
      if (next[i].rank < next[best].rank) best = i;
    if (next[best].rank == none) break;
    tokens[best] = next[best].merged;
    for (std::size_t i = best + 1; i + 1 < n; ++i) tokens[i] = tokens[i + 1], next[i] = next[i + 1];
    --n;
    if (best + 1 < n) next[best] = find(tokens[best], tokens[best + 1]);
    if (best > 0) next[best - 1] = find(tokens[best - 1], tokens[best]);
  }
  out.insert(out.end(), tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(n));
}

void Merges::merge(std::span<const Token> symbols, std::vector<Token>& out) const {
  struct Node {
    Token token;
    std::uint32_t before, behind;  // places; `end` where there is none
    bool merged = false;           // into the one before
  };
  struct Candidate {
    std::uint32_t rank, place;
    Token left, right, merged;                  // as they were when it was found
    bool operator<(const Candidate& o) const {  // a heap's top is its largest
      return rank != o.rank ? rank > o.rank : place > o.place;
    }
  };
  const auto end = static_cast<std::uint32_t>(symbols.size());
  std::vector<Node> nodes(end);
  for (std::uint32_t i = 0; i < end; ++i) nodes[i] = {symbols[i], i == 0 ? end : i - 1, i + 1};
  std::vector<Candidate> heap;
  heap.reserve(end);
  const auto candidate = [&](std::uint32_t at, auto&& put) {
    if (at == end || nodes[at].behind == end) return;
    const Token left = nodes[at].token, right = nodes[nodes[at].behind].token;
    if (const Found f = find(left, right); f.rank != none) put({f.rank, at, left, right, f.merged});
  };
  for (std::uint32_t i = 0; i < end; ++i)
    candidate(i, [&](const Candidate& c) { heap.push_back(c); });
  std::make_heap(heap.begin(), heap.end());
  const auto push = [&](const Candidate& c) {
    heap.push_back(c);
    std::push_heap(heap.begin(), heap.end());
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Candidate c = heap.back();
    heap.pop_back();
    Node& left = nodes[c.place];
    if (left.merged || left.token != c.left || left.behind == end) continue;
    Node& right = nodes[left.behind];
    if (right.token != c.right) continue;
    left.token = c.merged;
    right.merged = true;
    left.behind = right.behind;
    if (left.behind != end) nodes[left.behind].before = c.place;
    candidate(c.place, push);
    candidate(left.before, push);
  }
  for (std::uint32_t i = 0; i < end; i = nodes[i].behind) out.push_back(nodes[i].token);
}

}  // namespace pesuite::text
