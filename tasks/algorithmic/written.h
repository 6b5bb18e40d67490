// Problems of the form BOS x SEP y EOS, where y has as many items as x and follows from it, behind
// the steps of a scratchpad where T has one. Scored: all behind SEP.
#pragma once

#include <array>

#include "scratchpad.h"

namespace algorithmic {

using namespace tasks;

// What items are drawn from: tokens first .. first + count - 1.
struct Alphabet {
  int first, count;
};

inline constexpr double content_values[] = {0, 1};
inline constexpr const char* content_names[] = {"digits", "letters"};
inline constexpr pes_axis content_axis = {sizeof(pes_axis), "content",     "", "what the items are",
                                          content_values,   content_names, 2,  2};

// Base of a task T that defines
//   void draw(pes::Random&, std::span<int32> x, Alphabet) const;  items
//   void answer(Tokens x, std::span<int32> y) const;
//   void law(BlindGuess&, Range, Alphabet, double share) const;   adds that of y, without EOS
//   double log10_likeliest(Range, Alphabet) const;  of the likeliest y among all sizes of a range
template <class T>
class Written : public Sized {
 public:
  static constexpr int tokens_around = 3;  // BOS, SEP, EOS

  // Hidden by a T with a scratchpad: whether it is used, and its steps to an answer.
  static bool worked() { return false; }
  static void work(Tokens, std::vector<std::int32_t>&) {}

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const std::size_t content = content_of(r, random);
    const Range range = drawn_for(r, static_cast<int>(content));
    const std::size_t n = random.between(range.low, range.high);
    std::vector<std::int32_t> x(n), y(n);
    do {
      self().draw(random, x, contents_[content]);
      self().answer(x, y);
    } while (splits_matter(static_cast<int>(n), static_cast<int>(content)) &&
             !belongs_to(r.split, pes::hash64(T::card.name), T::split_by_answer ? y : x));
    std::vector<std::int32_t> prompt = {PES_BOS};
    prompt.insert(prompt.end(), x.begin(), x.end());
    prompt.push_back(PES_SEP);
    pes::write_problem(e, prompt, written(x));
  }
  void oracle(Tokens tokens, Targets targets) const {
    std::fill(targets.begin(), targets.end(), unscored);
    const auto n = std::find(tokens.begin(), tokens.end(), PES_SEP) - tokens.begin() - 1;
    if (n < 1 || 2 * n + tokens_around > std::ssize(tokens)) return;
    pes::score_from(targets, n + 1, written(tokens.subspan(1, n)));
  }

  pes::Chance chance_at(const pes::Request& r) const {
    const Range range = sizes(r);
    std::vector<Alphabet> possible = contents_;
    if (possible.size() > 1 && !r.draws(1)) possible = {possible[checked_content(r)]};
    if (self().worked())
      return chance_of_draws(r.length, outputs, [&](unsigned i) {
        pes::Random random(pes::hash64(T::card.name), pes::purpose("chance"), i);
        std::vector<std::int32_t> x(random.between(range.low, range.high));
        self().draw(random, x, possible[random.below(static_cast<unsigned>(possible.size()))]);
        return written(x);
      });
    const double share = 1.0 / static_cast<double>(possible.size());
    BlindGuess guess;
    double likeliest = -pes::infinity;
    for (const Alphabet& a : possible) {
      self().law(guess, range, a, share);
      const double of_content = self().log10_likeliest(range, a);
      if (!(of_content <= likeliest)) likeliest = of_content;  // also where it is not known
    }
    for (int n = range.low; n <= range.high; ++n) guess.add(n, PES_EOS, share_of_size(range));
    return {guess.accuracy(), std::pow(10, likeliest) * share * share_of_size(range)};
  }
  // Were they equally likely within each content, which is drawn first.
  double distinct(int length) const {
    std::vector<double> repeats;
    for (const Alphabet& a : contents_) {
      std::vector<double> inputs;
      for (int n = length > train_length_ ? largest(length) : least_; n <= largest(length); ++n)
        inputs.push_back(self().log10_inputs(n, a));
      if (inputs.empty()) return 0;
      repeats.push_back(-log10_sum(inputs) - 2 * std::log10(contents_.size()));
    }
    return -log10_sum(repeats);
  }

 protected:
  static double share_of_size(Range r) { return 1.0 / (r.high - r.low + 1); }
  // Share of a range's sizes that have an item number `rank`.
  static double share_beyond(Range r, int rank) {
    return static_cast<double>(std::clamp(r.high - std::max(rank, r.low - 1), 0, r.high)) *
           share_of_size(r);
  }
  // One kind of items, or two between which a second axis chooses.
  void declare_contents(std::vector<Alphabet> contents) {
    contents_ = std::move(contents);
    if (contents_.size() > 1) axes.push_back(&content_axis);
    inputs = outputs = contents_.back().first + contents_.back().count;
    head = PES_LM;
    determined = true;
  }
  static std::vector<Alphabet> digits_and_letters() {
    return {{PES_FIRST_SYMBOL, 10}, {PES_FIRST_SYMBOL + 10, 26}};
  }
  double log10_problems(int size, int content) const override {
    const Alphabet& a = contents_[content];
    if constexpr (T::split_by_answer)
      return self().log10_answers(size, a);
    else
      return self().log10_inputs(size, a);
  }

  std::vector<Alphabet> contents_;

 private:
  const T& self() const { return static_cast<const T&>(*this); }
  // All that stands behind SEP.
  std::vector<std::int32_t> written(Tokens x) const {
    std::vector<std::int32_t> out, y(x.size());
    self().work(x, out);
    self().answer(x, y);
    out.insert(out.end(), y.begin(), y.end());
    out.push_back(PES_EOS);
    return out;
  }
  static std::size_t checked_content(const pes::Request& r) {
    if (r.axis(1) != 0 && r.axis(1) != 1)
      throw pes::Refusal("axis content has no value " + number_text(r.axis(1)));
    return static_cast<std::size_t>(r.axis(1));
  }
  std::size_t content_of(const pes::Request& r, pes::Random& random) const {
    if (contents_.size() == 1) return 0;
    return r.draws(1) ? random.below(2) : checked_content(r);
  }
};

}  // namespace algorithmic
