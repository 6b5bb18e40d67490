// Commands such as "jump around left twice and walk", written out as actions: BOS command SEP
// actions EOS. All 20 910 commands of the grammar of Lake & Baroni 2018, "Generalization without
// systematicity", as likely; beyond the training length, those that are longer than it holds.
#include <map>

#include "examples.h"

namespace {

using namespace tasks;

enum Word : std::int32_t {
  walk,
  look,
  run,
  jump,
  turn,
  left,
  right,
  opposite,
  around,
  twice,
  thrice,
  and_,
  after,
  words
};
// walk, look, run and jump have actions of their own; turning has two.
enum Action : std::int32_t { turn_left = jump + 1, turn_right, actions };
constexpr int word0 = PES_FIRST_SYMBOL, action0 = word0 + words;
constexpr int most_actions = 48;

using Sequence = std::vector<std::int32_t>;

Sequence joined(std::initializer_list<Tokens> parts) {
  Sequence out;
  for (const Tokens part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}
void say(int times, Sequence& s) {
  const Sequence once = s;
  for (int i = 1; i < times; ++i) s.insert(s.end(), once.begin(), once.end());
}

// What a command without "and" and "after" means; nothing where it is none of the grammar.
Sequence actions_of_one(Tokens command) {
  if (command.empty() || command[0] > turn) return {};
  const Word last = static_cast<Word>(command.back());
  const bool again = last == twice || last == thrice;
  if (again) command = command.first(command.size() - 1);
  Sequence out;
  if (command.size() > 1) {
    const std::int32_t to = command.back() == left ? turn_left : turn_right;
    out = {to};
    if (command[1] == opposite) out.push_back(to);
  }
  if (command[0] != turn) out.push_back(command[0]);
  if (command.size() > 1 && command[1] == around) say(4, out);
  if (again) say(last == twice ? 2 : 3, out);
  return out;
}
Sequence actions_of(Tokens command) {
  const auto joint = std::find_if(command.begin(), command.end(),
                                  [](std::int32_t w) { return w == and_ || w == after; });
  if (joint == command.end()) return actions_of_one(command);
  const auto at = static_cast<std::size_t>(joint - command.begin());
  const Sequence first = actions_of_one(command.first(at)),
                 second = actions_of_one(command.subspan(at + 1));
  return *joint == and_ ? joined({first, second}) : joined({second, first});
}

// The 102 commands without "and" and "after".
std::vector<Sequence> simple_commands() {
  std::vector<Sequence> out;
  for (std::int32_t verb = walk; verb <= turn; ++verb) {
    if (verb != turn) out.push_back({verb});
    for (const std::int32_t side : {left, right}) {
      out.push_back({verb, side});
      for (const std::int32_t manner : {opposite, around}) out.push_back({verb, manner, side});
    }
  }
  for (std::size_t i = 0, n = out.size(); i < n; ++i)
    for (const std::int32_t times : {twice, thrice}) {
      out.push_back(out[i]);
      out.back().push_back(times);
    }
  return out;
}

struct Command {
  static constexpr int tokens_around = 3;  // BOS, SEP, EOS

  Sequence words, actions;
  int tokens() const { return static_cast<int>(words.size() + actions.size()) + tokens_around; }
};

// All commands, the shortest examples first.
const std::vector<Command>& grammar() {
  static const std::vector<Command> all = [] {
    const std::vector<Sequence> simple = simple_commands();
    std::vector<Command> out;
    const auto add = [&](Sequence command) {
      Sequence meaning = actions_of(command);
      out.push_back({std::move(command), std::move(meaning)});
    };
    for (const Sequence& first : simple) {
      add(first);
      for (const std::int32_t joint : {and_, after})
        for (const Sequence& second : simple) add(joined({first, {{joint}}, second}));
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const Command& a, const Command& b) { return a.tokens() < b.tokens(); });
    return out;
  }();
  return all;
}

constexpr const char* repeated = "actions are repeated and alternate";
constexpr pes_shortcut last_action = {sizeof(pes_shortcut), "last_token", .40, repeated},
                       actions_written = {sizeof(pes_shortcut), "window", .79, repeated},
                       words_read = {sizeof(pes_shortcut), "bag", .60,
                                     "most actions are named by a word of the command"};

struct Scan : pes::Task {
  static constexpr pes_card card =
      pes::card<Scan>({.name = "scan",
                       .summary = "commands in words, written out as actions",
                       .taxonomy = "composition",
                       .paper = "Lake & Baroni 2018, arXiv:1711.00350"});

  using List = std::vector<const Command*>;
  static constexpr int whole = PES_SPLIT_TEST + 1, any_count = 0;

  int train_length;
  std::vector<double> counts;  // of actions that fit
  pes_axis axis;
  std::map<std::pair<int, int>, List> lists;  // by split or whole, and number of actions

  Scan(const pes_use& use, const pes::Values&) : train_length(use.train_length) {
    inputs = outputs = action0 + actions;
    head = PES_LM;
    determined = true;
    int trained = 0;
    std::vector<bool> fits(most_actions + 1);
    for (const Command& c : grammar()) {
      const int n = static_cast<int>(c.actions.size());
      int part = whole;
      for (const pes_split split : {PES_SPLIT_TRAIN, PES_SPLIT_VALIDATION, PES_SPLIT_TEST})
        if (belongs_to(split, pes::hash64(card.name), c.words)) part = split;
      for (const int of : {any_count, n})
        for (const int in : {part, whole}) lists[{in, of}].push_back(&c);
      if (c.tokens() <= use.max_length) fits[static_cast<std::size_t>(n)] = true;
      if (c.tokens() <= train_length) trained = std::max(trained, n);
    }
    require_length(train_length, grammar().front().tokens(), "the shortest command");
    for (int n = 1; n <= most_actions; ++n)
      if (fits[static_cast<std::size_t>(n)]) counts.push_back(n);
    axis = {sizeof(pes_axis),
            "actions",
            "",
            "actions of the command",
            counts.data(),
            nullptr,
            static_cast<int>(counts.size()),
            static_cast<int>(std::count_if(counts.begin(), counts.end(),
                                           [&](double n) { return n <= trained; }))};
    axes = {&axis};
    shortcuts = {&last_action, &actions_written, &words_read};
  }

  // Commands of a request; of so many that it matters, those of its split.
  std::span<const Command* const> commands(const pes::Request& r, bool of_split = true) const {
    const int n = r.draws(0) ? any_count : static_cast<int>(r.axis(0));
    if (!r.draws(0) && (n < 1 || n != r.axis(0)))
      throw pes::Refusal("axis actions takes whole numbers from 1, not " + number_text(r.axis(0)));
    const auto all = range({whole, n}, r), own = range({r.split, n}, r);
    if (all.empty())
      throw pes::Refusal(n > 0 ? "no command of " + std::to_string(n) +
                                     " actions fits into length " + std::to_string(r.length)
                               : "length " + std::to_string(r.length) +
                                     " holds no command beyond those of " +
                                     std::to_string(train_length) + " tokens: the longest takes " +
                                     std::to_string(grammar().back().tokens()));
    const bool matters = std::log10(all.size()) >= log10_divisible;
    return of_split && matters && !own.empty() ? own : all;
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const auto possible = commands(r);
    const Command& c = *possible[random.below(static_cast<std::uint32_t>(possible.size()))];
    Sequence prompt = {PES_BOS};
    for (const std::int32_t w : c.words) prompt.push_back(word0 + w);
    prompt.push_back(PES_SEP);
    pes::write_problem(e, prompt, answer(c.actions));
  }
  static Sequence answer(const Sequence& meaning) {
    Sequence out;
    for (const std::int32_t a : meaning) out.push_back(action0 + a);
    out.push_back(PES_EOS);
    return out;
  }
  void oracle(Tokens tokens, Targets targets) const {
    const auto end = std::find(tokens.begin(), tokens.end(), PES_SEP);
    Sequence command;
    for (auto t = tokens.begin() + 1; t < end; ++t) command.push_back(*t - word0);
    pes::score_from(targets, static_cast<std::size_t>(end - tokens.begin()),
                    answer(actions_of(command)));
  }

  pes::Chance chance_at(const pes::Request& r) const {
    const auto possible = commands(r, false);
    const double share = 1.0 / static_cast<double>(possible.size());
    BlindGuess guess;
    std::map<Sequence, int> answers;
    int most = 0;
    for (const Command* c : possible) {
      const Sequence written = answer(c->actions);
      for (std::size_t i = 0; i < written.size(); ++i) guess.add(i, written[i], share);
      most = std::max(most, ++answers[written]);
    }
    return {guess.accuracy(), share * most};
  }
  double distinct(int length) const {
    pes_request r{};
    r.size = sizeof(r);
    r.length = length;
    return std::log10(commands(pes::Request{&r}, false).size());
  }

 private:
  std::span<const Command* const> range(std::pair<int, int> key, const pes::Request& r) const {
    const auto found = lists.find(key);
    if (found == lists.end()) return {};
    const auto beyond = [](int length, const Command* c) { return length < c->tokens(); };
    const List& all = found->second;
    const auto end = std::upper_bound(all.begin(), all.end(), r.length, beyond);
    const auto begin = r.length > train_length && r.draws(0)
                           ? std::upper_bound(all.begin(), end, train_length, beyond)
                           : all.begin();
    return {begin, end};
  }
};

}  // namespace

extern const pes_task scan = pes::task<Scan>;
