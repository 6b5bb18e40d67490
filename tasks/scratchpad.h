// Scratchpads: an answer that is worked out step by step before it is given (Nye et al. 2021,
// arXiv:2112.00114). A step has up to five parts, of which a layout names those that are written
// (Kazemnejad et al. 2023, arXiv:2305.19466, section 6):
//   i  input        what the step takes from the problem
//   c  computation  with its operands
//   o  output       what comes out
//   v  variables    what is kept for later steps
//   r  remaining    what is left of the problem
// Each part stands behind a token of its own, and behind the last step stands one that ends them.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "sized.h"

namespace tasks {

struct Step {
  std::vector<std::int32_t> input, computation, output, variables, remaining;
};

class Scratchpad {
 public:
  static constexpr const char* option_name = "scratchpad";
  // With the layouts of a task whose steps have these parts.
  static constexpr pes_option option(const char* layouts) {
    return pes::choice(option_name, "none", layouts,
                       "parts of each step in front of the answer: input, computation, output, "
                       "variables, remaining problem");
  }
  static constexpr const char* icovr =
      "none|i|c|o|v|r|ic|io|iv|ir|co|cv|cr|ov|or|vr|ico|icv|icr|iov|ior|ivr|cov|cor|cvr|ovr|"
      "icov|icor|icvr|iovr|covr|icovr";
  static constexpr const char* icor = "none|i|c|o|r|ic|io|ir|co|cr|or|ico|icr|ior|cor|icor";
  static constexpr const char* ior = "none|i|o|r|io|ir|or|ior";

  // Its tokens are those from `first` on.
  Scratchpad(const pes::Values& v, int first)
      : layout_(v.is(option_name, "none") ? "" : v.text(option_name)), first_(first) {}

  bool used() const { return !layout_.empty(); }
  int vocabulary() const { return used() ? end + 1 : 0; }

  // The most that problems of n items and n steps take, where parts have these sizes and each of
  // the items that are left takes `remaining` tokens.
  Cost cost(int input, int computation, int output, int variables, int remaining) const {
    if (!used()) return {};
    int of_step = static_cast<int>(layout_.size());
    const int sizes[] = {input, computation, output, variables};
    for (int part = 0; part < 4; ++part)
      if (has(part)) of_step += sizes[part];
    return {.per_item = of_step, .fixed = 1, .per_pair = says_what_is_left() ? remaining : 0};
  }

  // What is left of a problem, where the layout says it: with every step that takes the square of
  // a problem's size.
  std::vector<std::int32_t> left(Tokens problem) const {
    if (!says_what_is_left()) return {};
    return {problem.begin(), problem.end()};
  }
  bool says_what_is_left() const { return has(remaining_part); }
  // Appends steps, and the token that ends them.
  void write(const std::vector<Step>& steps, std::vector<std::int32_t>& out) const {
    if (!used()) return;
    for (const Step& s : steps) {
      const std::vector<std::int32_t>* parts[] = {&s.input, &s.computation, &s.output, &s.variables,
                                                  &s.remaining};
      for (int part = 0; part < end; ++part)
        if (has(part)) {
          out.push_back(first_ + part);
          out.insert(out.end(), parts[part]->begin(), parts[part]->end());
        }
    }
    out.push_back(first_ + end);
  }
  // Who sees little knows much of a token of a scratchpad, which is what it is there for. What
  // tells who can solve a problem is whether all of an answer is right.
  static void add_shortcuts(std::vector<const pes_shortcut*>& to) {
    static constexpr const char* why = "steps follow from what was written just before; compare em";
    static constexpr pes_shortcut known[] = {{sizeof(pes_shortcut), "last_token", 1, why},
                                             {sizeof(pes_shortcut), "position", 1, why},
                                             {sizeof(pes_shortcut), "bag", 1, why},
                                             {sizeof(pes_shortcut), "window", 1, why}};
    to.clear();
    for (const pes_shortcut& each : known) to.push_back(&each);
  }

 private:
  static constexpr int remaining_part = 4, end = 5;
  bool has(int part) const { return layout_.find("icovr"[part]) != std::string::npos; }

  std::string layout_;
  int first_;
};

// The chance level of answers whose law is known from draws alone; answer(i) is that of draw i.
// What one half of them makes the best guess, the other half tries: as pes::BlindGuess, which would
// need room for the longest answer that fits. Error below 0.5 points.
template <class Answer>
pes::Chance chance_of_draws(int length, int symbols, const Answer& answer) {
  using Halves = std::array<int, 2>;  // how often in each
  const int draws = std::clamp((1 << 24) / length, 1 << 10, 1 << 16);
  std::vector<std::vector<Halves>> tokens;  // [rank][symbol]
  std::map<std::uint64_t, Halves> whole;    // by a hash of the answer
  double asked = 0;
  for (int i = 0; i < 2 * draws; ++i) {
    const std::vector<std::int32_t> drawn = answer(static_cast<unsigned>(i));
    if (drawn.size() > tokens.size()) tokens.resize(drawn.size(), std::vector<Halves>(symbols));
    std::uint64_t key = drawn.size();
    for (std::size_t rank = 0; rank < drawn.size(); ++rank) {
      ++tokens[rank][drawn[rank]][i % 2];
      key = pes::mix64(key, static_cast<std::uint32_t>(drawn[rank]));
    }
    ++whole[key][i % 2];
    if (i % 2 == 1) asked += static_cast<double>(drawn.size());
  }
  const auto rarer = [](const Halves& a, const Halves& b) { return a[0] < b[0]; };
  double right = 0;
  for (const auto& rank : tokens) right += std::max_element(rank.begin(), rank.end(), rarer)->at(1);
  const auto commonest =
      std::max_element(whole.begin(), whole.end(),
                       [&](const auto& a, const auto& b) { return rarer(a.second, b.second); });
  return {right / asked, 1. * commonest->second[1] / draws};
}

// Base of a task T whose answers can be worked out: BOS, a question that ends with ASK or with the
// one token that is asked for, the scratchpad, the answer. T defines
//   static constexpr bool names_asked;                       whether a token stands behind ASK
//   std::vector<int32> drawn(pes::Random&, int n) const;     a question, without an ASK at its end
//   std::vector<int32> answer(Tokens question) const;        with its steps; empty: there is none
//   double blind(Range) const;                               chance level without a scratchpad
template <class T>
class Worked : public Sized {
 public:
  Worked(const pes::Values& v, int first_of_scratchpad) : scratchpad(v, first_of_scratchpad) {
    head = PES_LM;
    determined = true;
    if (scratchpad.used()) Scratchpad::add_shortcuts(shortcuts);
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const Range range = drawn_for(r, 0);
    const int n = random.between(range.low, range.high);
    const auto question = dealt(random, n, r.split);
    std::vector<std::int32_t> prompt = {PES_BOS};
    prompt.insert(prompt.end(), question.begin(), question.end());
    if (!T::names_asked) prompt.push_back(PES_ASK);
    pes::write_problem(e, prompt, self().answer(question));
  }
  void oracle(Tokens tokens, Targets targets) const {
    std::fill(targets.begin(), targets.end(), unscored);
    const auto ask =
        static_cast<std::size_t>(std::find(tokens.begin(), tokens.end(), PES_ASK) - tokens.begin());
    const std::size_t last = ask + (T::names_asked ? 1 : 0);
    if (ask > 1 && last < tokens.size())
      pes::score_from(targets, last,
                      self().answer(tokens.subspan(1, T::names_asked ? last : ask - 1)));
  }

  pes::Chance chance_at(const pes::Request& r) const {
    const Range range = sizes(r);
    if (!scratchpad.used()) return {self().blind(range), self().blind(range)};
    return chance_of_draws(r.length, outputs, [&](unsigned i) {
      pes::Random random(pes::hash64(T::card.name), pes::purpose("chance"), i);
      const int n = random.between(range.low, range.high);
      return self().answer(dealt(random, n, PES_SPLIT_TRAIN));  // few are not all alike
    });
  }

 protected:
  Scratchpad scratchpad;

 private:
  const T& self() const { return static_cast<const T&>(*this); }
  // A question of the split, where there are enough to deal.
  std::vector<std::int32_t> dealt(pes::Random& random, int n, pes_split split) const {
    std::vector<std::int32_t> out;
    do out = self().drawn(random, n);
    while (splits_matter(n) && !belongs_to(split, pes::hash64(T::card.name), out));
    return out;
  }
};

}  // namespace tasks
