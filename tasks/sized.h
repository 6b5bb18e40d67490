// Problems of a size n: drawn from 1 .. N in training, where N fills the training length; as large
// as fits beyond it; or what the first axis asks for. What an example does not fill is PAD, at its
// end.
#pragma once

#include <limits>

#include "examples.h"

namespace tasks {

// Tokens of a problem of n items: fixed + n per_item + n (n - 1) / 2 per_pair.
struct Cost {
  int per_item = 0, fixed = 0, per_pair = 0;

  std::int64_t of(std::int64_t n) const {
    return fixed + n * per_item + n * (n - 1) / 2 * per_pair;
  }
  // The largest n that fits; 0 where none does.
  int largest(int length) const {
    int low = 0, high = std::max(0, length - fixed) / per_item;
    while (low < high) {
      const int middle = high - (high - low) / 2;
      if (of(middle) <= length)
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }
  friend Cost operator+(const Cost& a, const Cost& b) {
    return {a.per_item + b.per_item, a.fixed + b.fixed, a.per_pair + b.per_pair};
  }
};

class Sized : public pes::Task {
 public:
  struct Range {
    int low, high;
  };
  // Sizes that a request leaves open. Refuses what does not fit.
  Range sizes(const pes::Request& r) const {
    const int most = largest(r.length);
    if (!r.draws(0)) return asked(r, most);
    require_length(r.length, least_tokens(), "a problem of the least size");
    return {r.length > train_length_ ? most : least_, most};
  }
  // The largest size at a length.
  int largest(int length) const { return std::min(most_, cost_.largest(length)); }
  // log10 of the problems of a length, were they equally likely.
  double distinct(int length) const {
    std::vector<double> all;
    for (int n = length > train_length_ ? largest(length) : least_; n <= largest(length); ++n)
      all.push_back(log10_problems(n, 0));
    return all.empty() ? 0 : log10_sum(all);
  }
  bool splits_matter(int size, int content = 0) const {
    return log10_problems(size, content) >= log10_divisible;
  }

  virtual ~Sized() = default;

 protected:
  // Examples have n items, from `least` to at most `most`.
  void declare_sizes(const pes_use& use, int least, const Cost& cost, const char* axis,
                     const char* help, int most = std::numeric_limits<int>::max()) {
    least_ = least, cost_ = cost, most_ = most;
    train_length_ = use.train_length;
    if (largest(train_length_) < least_)
      throw pes::Refusal("a training length of " + std::to_string(train_length_) +
                         " holds no problem of size " + std::to_string(least_) + "; that takes " +
                         std::to_string(least_tokens()) + " tokens");
    for (int n = least_; n <= largest(use.max_length); ++n) values_.push_back(n);
    axis_ = {sizeof(pes_axis),
             axis,
             "",
             help,
             values_.data(),
             nullptr,
             static_cast<int>(values_.size()),
             largest(train_length_) - least_ + 1};
    axes = {&axis_};
  }
  // log10 of how many problems of a size there are: small spaces are not dealt to the splits, and
  // validation and test draw no sizes that training holds whole.
  virtual double log10_problems(int size, int content) const = 0;

  Range drawn_for(const pes::Request& r, int content) const {
    const Range all = sizes(r);
    if (r.split == PES_SPLIT_TRAIN || !r.draws(0)) return all;
    Range shared_out = all;
    while (shared_out.low <= all.high && !splits_matter(shared_out.low, content)) ++shared_out.low;
    while (shared_out.high > shared_out.low && !splits_matter(shared_out.high, content))
      --shared_out.high;
    return shared_out.low > all.high ? all : shared_out;
  }

  int least_ = 1, train_length_ = 0;

 private:
  Range asked(const pes::Request& r, int most) const {
    const double n = r.axis(0);
    if (!(n >= least_ && n <= most) || n != static_cast<int>(n))
      throw pes::Refusal("axis " + std::string(axis_.name) + " takes whole numbers from " +
                         std::to_string(least_) + " to " + std::to_string(most) + " at length " +
                         std::to_string(r.length) + ", not " + number_text(n));
    return {static_cast<int>(n), static_cast<int>(n)};
  }

  int least_tokens() const { return static_cast<int>(cost_.of(least_)); }

  Cost cost_{.per_item = 1};
  int most_ = 0;
  std::vector<double> values_;
  pes_axis axis_{};
};

}  // namespace tasks
