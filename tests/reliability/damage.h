// Damage as disks, cables and hands do it, the same for the same number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pesuite::testing {

class Dice {  // splitmix64
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t n) { return n == 0 ? 0 : next() % n; }
  bool chance(int percent) { return below(100) < static_cast<std::size_t>(percent); }
  template <class T>
  const T& of(const std::vector<T>& all) {
    return all[below(all.size())];
  }

 private:
  std::uint64_t state_;
};

// One damage to the bytes of a file; says which.
inline std::string damage_bytes(std::string& bytes, Dice& dice) {
  const std::size_t n = bytes.size(), at = dice.below(n), other = dice.below(n);
  const std::size_t length = 1 + dice.below(std::min<std::size_t>(n, 64));
  if (n == 0) return bytes = "x", "a byte in an empty file";
  switch (dice.below(8)) {
    case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << dice.below(8))); return "a bit flipped";
    case 1: bytes[at] = static_cast<char>(dice.next()); return "a byte replaced";
    case 2: bytes.resize(at); return "cut short";
    case 3: bytes.erase(at, length); return "a piece taken out";
    case 4: std::swap(bytes[at], bytes[other]); return "two bytes swapped";
    case 5:
      for (std::size_t i = at; i < std::min(n, at + length); ++i) bytes[i] = 0;
      return "a piece zeroed";
    case 6: bytes.insert(at, bytes.substr(other, length)); return "a piece doubled";
    default: {  // lines are what most files are made of
      const std::size_t end = bytes.find('\n', at);
      const std::size_t start = at == 0 ? 0 : bytes.rfind('\n', at - 1) + 1;
      bytes.erase(start, end == std::string::npos ? std::string::npos : end + 1 - start);
      return "a line taken out";
    }
  }
}

// One change to the text of a suite, as a tired or a hostile author makes it.
inline std::string change_suite(std::string& text, Dice& dice) {
  static const std::vector<std::string> hostile = {"nan",
                                                   "inf",
                                                   "-1",
                                                   "0",
                                                   "1e300",
                                                   "4294967328",
                                                   "0.5",
                                                   "1.7",
                                                   "\"\"",
                                                   "[]",
                                                   "{}",
                                                   "[[]]",
                                                   "true",
                                                   "\"1x\"",
                                                   "\"9x\"",
                                                   "1e18",
                                                   "\"none\"",
                                                   "\"\\u0000\"",
                                                   "\"../../up\"",
                                                   "\"=1+1|`<b>\"",
                                                   "\"*\"",
                                                   "\"rope + rope\"",
                                                   "\"((((rope))))\"",
                                                   "\"rope -> t5 @ 200%\"",
                                                   "\"rope => nobody\"",
                                                   "2",
                                                   "16",
                                                   "3e-3",
                                                   "\"2x\"",
                                                   "\"50%\"",
                                                   "\"rope + alibi\"",
                                                   "\"layers[rope, none]\"",
                                                   "\"rope -> none @ 50%\"",
                                                   "[8, 16]",
                                                   "\"nano\"",
                                                   "\"toylag\"",
                                                   "1979-05-27",
                                                   "\"\\u202e\"",
                                                   "[1, 2, 3]",
                                                   "[\"1x\", \"3x\"]",
                                                   "{a = 1}",
                                                   "99999999999999999999"};
  const std::size_t n = text.size(), at = dice.below(n);
  const auto line_at = [&](std::size_t p) {
    const std::size_t start = p == 0 ? 0 : text.rfind('\n', p - 1) + 1, end = text.find('\n', p);
    return std::pair(start, (end == std::string::npos ? n : end + 1) - start);
  };
  const auto [start, length] = line_at(at);
  switch (dice.below(6)) {
    case 0: text.erase(start, length); return "a line taken out";
    case 1: text.insert(start, text.substr(start, length)); return "a line doubled";
    case 2: {
      const auto [from, size] = line_at(dice.below(n));
      const std::string line = text.substr(from, size);
      text.insert(start, line);
      return "a line copied";
    }
    case 3:
    case 4: {  // another value for a key
      const std::size_t equals = text.find('=', start);
      if (equals == std::string::npos || equals > start + length) return damage_bytes(text, dice);
      const std::string value = dice.of(hostile);
      text.replace(equals + 1, start + length - equals - 1, " " + value + "\n");
      return "the value " + value;
    }
    default: return damage_bytes(text, dice);
  }
}

}  // namespace pesuite::testing
