// Byte pair encoding of one piece of text: adjacent tokens are merged, the lowest rank first, then
// the leftmost (Sennrich et al. 2016, arXiv 1508.07909, algorithm 1; over bytes: Radford et al.
// 2019).
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/tokenizer.h"

namespace pesuite::text {

class Merges {
 public:
  struct Rule {
    Token left, right, merged;
  };
  // `bytes`: the token of each byte. Rules in the order of their ranks; of two of one pair the
  // first counts.
  Merges(const std::array<Token, 256>& bytes, const std::vector<Rule>& rules);

  // Texts that are one token whatever the rules say.
  void add_whole(std::string_view text, Token);

  // Appends the tokens of a piece. Time grows as n log n.
  void encode(std::string_view piece, std::vector<Token>& out) const;
  // The same from tokens that are not of bytes.
  void merge(std::span<const Token> symbols, std::vector<Token>& out) const;

 private:
  struct Found {
    std::uint32_t rank, merged;
  };
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  Found find(Token left, Token right) const;
  void encode_short(std::string_view, std::vector<Token>&) const;
  std::vector<Token> symbols_of(std::string_view piece) const;

  // Open addressing, at most half full; `key` is left << 32 | right.
  struct Slot {
    std::uint64_t key = ~std::uint64_t{0};
    Found found{none, none};
  };
  // Texts of at most 15 bytes, their length in the last.
  struct Whole {
    std::array<std::uint64_t, 2> text{};
    Token token = none;
  };
  static std::array<std::uint64_t, 2> packed(std::string_view);
  const Whole* find_whole(const std::array<std::uint64_t, 2>&) const;
  void grow_wholes();

  std::array<Token, 256> bytes_;
  std::vector<Slot> slots_;
  std::vector<Whole> wholes_;
  std::size_t whole_count_ = 0;
  std::unordered_map<std::string, Token> long_wholes_;
};

}  // namespace pesuite::text
