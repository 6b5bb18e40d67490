#include "addition.h"

namespace addition {

Digits draw_number(pes::Random& random, int n, Operands operands) {
  const int size = operands == Operands::full ? n : random.between(1, n);
  Digits d(static_cast<std::size_t>(size));
  for (int& digit : d) digit = random.between(0, 9);
  if (size > 1) d.back() = random.between(1, 9);
  return d;
}

Digits sum(const Digits& a, const Digits& b) {
  Digits out;
  int carry = 0;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    carry += (i < a.size() ? a[i] : 0) + (i < b.size() ? b[i] : 0);
    out.push_back(carry % 10);
    carry /= 10;
  }
  out.push_back(carry);
  return out;
}

Digits difference(const Digits& c, const Digits& b) {
  Digits out;
  int borrowed = 0;
  for (std::size_t i = 0; i < std::max(c.size(), b.size()); ++i) {
    const int d = (i < c.size() ? c[i] : 0) - (i < b.size() ? b[i] : 0) - borrowed;
    borrowed = d < 0 ? 1 : 0;
    out.push_back(d + 10 * borrowed);
  }
  return out;
}

Digits trimmed(Digits d) {
  while (d.size() > 1 && d.back() == 0) d.pop_back();
  return d;
}

namespace {

// What an operand shows at weight w: digits while it runs, its highest digit, zeros behind that.
struct Shown {
  bool ends;  // it has ended at this weight or before
  std::array<double, 10> digits;
};
std::vector<Shown> shown(int w, int n, Operands operands, bool ended) {
  if (ended || w >= n) return {{true, {1}}};
  const double highest = operands == Operands::any ? 1.0 / (n - w) : w == n - 1 ? 1 : 0;
  Shown last{true, {}}, inner{false, {}};
  for (int d = 0; d < 10; ++d) {
    last.digits[d] = w == 0 ? highest / 10 : d > 0 ? highest / 9 : 0;
    inner.digits[d] = (1 - highest) / 10;
  }
  return {last, inner};
}

}  // namespace

double OperandLaw::of_size(int size, const Visit& visit) const {
  const double p = operands_ == Operands::any ? 1.0 / n_ : size == n_ ? 1 : 0;
  for (int w = 0; w < size; ++w) {
    const int least = w == size - 1 && size > 1 ? 1 : 0;
    for (int d = least; d < 10; ++d) visit(w, d, p / (10 - least));
  }
  return p;
}

void OperandLaw::padded(const Visit& visit) const {
  for (int size = 1; size <= n_; ++size) {
    const double p = of_size(size, visit);
    for (int w = size; w < n_; ++w) visit(w, 0, p);
  }
}

SumLaw::SumLaw(int n, Operands operands) : moves_(static_cast<std::size_t>(n + 1)) {
  forward_.assign(moves_.size() + 1, {});
  forward_[0][0] = 1;
  for (int w = 0; w <= n; ++w) {
    // moves of one carry and one pair of ends, by next state and digit
    for (int from = 0; from < states; ++from) {
      std::array<std::array<double, 10>, states> p{};
      for (const Shown& a : shown(w, n, operands, (from & end_a) != 0))
        for (const Shown& b : shown(w, n, operands, (from & end_b) != 0))
          for (int x = 0; x < 10; ++x)
            for (int y = 0; y < 10; ++y) {
              const int s = x + y + (from & carry);
              const int to = s / 10 + (a.ends ? end_a : 0) + (b.ends ? end_b : 0);
              p[to][s % 10] += a.digits[x] * b.digits[y];
            }
      for (int to = 0; to < states; ++to)
        for (int d = 0; d < 10; ++d)
          if (p[to][d] > 0) moves_[w].push_back({from, to, d, p[to][d]});
    }
    for (const Move& m : moves_[w]) forward_[w + 1][m.to] += forward_[w][m.from] * m.p;
  }
}

void SumLaw::padded(const Visit& visit) const {
  for (std::size_t w = 0; w < moves_.size(); ++w)
    for (const Move& m : moves_[w]) visit(static_cast<int>(w), m.digit, forward_[w][m.from] * m.p);
}

double SumLaw::of_size(int size, const Visit& visit) const {
  // P(the sum has this size | the state), backwards: both ended, no carry, the last digit not 0
  const auto last = static_cast<std::size_t>(size - 1);
  const auto allowed = [&](std::size_t w, const Move& m) {
    return w < last || (m.to == (end_a | end_b) && (m.digit > 0 || size == 1));
  };
  std::vector<State> backward(last + 2);
  backward[last + 1].fill(1);
  for (std::size_t w = last + 1; w-- > 0;)
    for (const Move& m : moves_[w])
      if (allowed(w, m)) backward[w][m.from] += m.p * backward[w + 1][m.to];
  for (std::size_t w = 0; w <= last; ++w)
    for (const Move& m : moves_[w])
      if (allowed(w, m))
        visit(static_cast<int>(w), m.digit, forward_[w][m.from] * m.p * backward[w + 1][m.to]);
  return backward[0][0];
}

double repeat(int n, Operands operands) {
  double same = 0;  // of one operand
  for (int size = operands == Operands::any ? 1 : n; size <= n; ++size) {
    const double numbers = size == 1 ? 10 : 9 * std::pow(10, size - 1);
    same += 1 / numbers / (operands == Operands::any ? n * n : 1);
  }
  return same * same;
}

}  // namespace addition
