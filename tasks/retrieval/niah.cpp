// Needles, SET key value, in a haystack of text of the ledger language, and questions for them at
// the end (after Hsieh et al. 2024, "RULER", section 3.1):
//
//   single       one needle
//   multi_key    four more needles with other keys and values
//   multi_value  four needles of one key; all its values are asked for, in order of appearance
//   multi_query  four needles; all are asked for, in random order
#include <array>

#include "corpus/ledger.h"
#include "filler.h"

namespace {

using namespace retrieval;

constexpr int keys = 256, values = 256, needle_length = 3;
constexpr std::int32_t set_token = PES_FIRST_SYMBOL + std::int32_t{ledger::SET};

// The ledger language without its questions, which would look like ours.
ledger::Law haystack_law() {
  ledger::Law law = ledger::make_law(ledger::Mix::standard);
  constexpr double set = .12, filler = .50, nest = .10, all = set + filler + nest;
  law.types = corpus::Categorical({pes::probability(set / all), pes::probability(set / all),
                                   pes::probability((set + filler) / all), std::uint64_t{1} << 32});
  return law;
}

// P(two haystacks of `size` tokens are the same), from their end to their beginning.
double repeat_of_haystacks(const ledger::Law& law, std::size_t size) {
  const auto square = [](double x) { return x * x; };
  double same_entity = 0, sum = 0;
  for (std::size_t e = 0; e < law.entities.size(); ++e) same_entity += square(law.entities.p(e));
  for (const auto& a : law.topics)
    for (const auto& b : law.topics) {
      double same_word = 0;
      for (std::size_t w = 0; w < law.words(); ++w) same_word += a.p(w) * b.p(w);
      // [tokens left][open brackets], before a sentence and inside one of words
      std::vector<std::vector<double>> rest(size, std::vector<double>(law.depth + 1, 1)),
          words = rest;
      for (std::size_t left = 1; left < size; ++left)  // BOS is always the same
        for (std::size_t d = 0; d <= law.depth; ++d) {
          const double opens = 1 - static_cast<double>(d) / static_cast<double>(law.depth);
          const double set =
              (left < 2 ? 1 : same_entity) / (left < 3 ? 1 : static_cast<double>(law.attributes)) /
              (left < 4 ? 1 : static_cast<double>(law.values)) * rest[left < 4 ? 0 : left - 4][d];
          const auto& behind = rest[left < 2 ? 0 : left - 2];
          double nest = 0;
          if (d > 0) nest += square(1 - opens) * behind[d - 1];
          if (opens > 0)
            nest +=
                square(opens) * behind[d + 1] / (left < 2 ? 1 : static_cast<double>(law.brackets));
          const auto type = [&](std::size_t kind) { return square(law.types.p(kind)); };
          rest[left][d] = type(ledger::SET - 1) * set + type(ledger::FIL - 1) * words[left - 1][d] +
                          type(ledger::nest) * nest;
          words[left][d] = square(law.end_probability()) * rest[left - 1][d] +
                           square(1 - law.end_probability()) * same_word * words[left - 1][d];
        }
      sum += rest.back().front();
    }
  return sum / square(static_cast<double>(law.topics.size()));
}

// Indices at which sentences of a text begin.
std::vector<std::size_t> sentence_starts(const std::vector<std::int32_t>& text) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 1; i < text.size();) {  // behind BOS
    starts.push_back(i);
    if (text[i] == ledger::FIL) {
      while (i < text.size() && text[i] != ledger::END) ++i;
      ++i;
    } else {
      i += text[i] == ledger::SET ? 4 : 2;
    }
  }
  return starts;
}

struct Needle {
  std::int32_t key, value;
  std::size_t place;  // of the haystack, which it stands before
};

constexpr pes_shortcut only_value = {
    sizeof(pes_shortcut), "bag", 1,
    "only one value occurs, so that it is present tells the answer: reach is measured, not "
    "addressing"};
constexpr pes_shortcut one_of_five = {sizeof(pes_shortcut), "bag", .2,
                                      "five values occur, one of which is the answer"};
constexpr pes_shortcut one_of_four = {sizeof(pes_shortcut), "bag", .25,
                                      "four values occur, one of which is the answer"};
constexpr pes_shortcut needle_is_near = {
    sizeof(pes_shortcut), "window", 0.10,
    "at depth 1 the needle stands before the last sentence: one example in eleven"};

struct Niah : pes::Task {
  static constexpr pes_option options[] = {
      pes::choice("variant", "single", "single|multi_key|multi_value|multi_query",
                  "one needle; five of which one is asked for; four of one key; four that are all "
                  "asked for")};
  static constexpr pes_card card = pes::card<Niah>(
      {.name = "niah",
       .summary = "finds needles, keys with values, in a haystack of unrelated text",
       .taxonomy = "retrieval",
       .paper = "Hsieh et al. 2024, arXiv:2404.06654"});

  enum class Variant { single, multi_key, multi_value, multi_query } variant;
  ledger::Law law = haystack_law();
  int key0, value0;

  Niah(const pes_use&, const pes::Values& v)
      : variant(v.is("variant", "multi_key")     ? Variant::multi_key
                : v.is("variant", "multi_value") ? Variant::multi_value
                : v.is("variant", "multi_query") ? Variant::multi_query
                                                 : Variant::single),
        key0(PES_FIRST_SYMBOL + static_cast<int>(law.alphabet())),
        value0(key0 + keys) {
    inputs = outputs = value0 + values;
    head = PES_LM;
    determined = true;
    axes = {&depth_axis};
    shortcuts = {variant == Variant::single      ? &only_value
                 : variant == Variant::multi_key ? &one_of_five
                                                 : &one_of_four,
                 &needle_is_near};
    candidate_first = value0;
    candidates = values;
  }

  std::size_t needles() const {
    return variant == Variant::single ? 1 : variant == Variant::multi_key ? 5 : 4;
  }
  std::size_t answers() const {
    return variant == Variant::multi_value || variant == Variant::multi_query ? 4 : 1;
  }
  std::size_t query_length() const {
    return variant == Variant::multi_query ? 3 * answers() : 2 + answers();
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const std::size_t rest = needles() * needle_length + query_length();
    require_length(r.length, static_cast<int>(rest) + 8, "the needles, the questions and a text");
    const double depth = depth_of(r, 0, random);
    std::vector<Needle> all = draw_needles(random);
    const std::vector<std::int32_t> text =
        ledger::write(law, pes::Random(random.bits64(), pes::purpose("haystack"), r.index),
                      e.tokens.size() - rest);
    const std::vector<std::size_t> starts = sentence_starts(text);
    for (Needle& n : all) n.place = starts[random.below(static_cast<std::uint32_t>(starts.size()))];
    all.front().place = nearest(starts, depth * static_cast<double>(text.size()));
    const Needle asked = all.front();
    std::stable_sort(all.begin(), all.end(),
                     [](const Needle& a, const Needle& b) { return a.place < b.place; });
    std::int32_t* out = write_text(e.tokens.data(), text, all);
    write_query(out, e.targets, out - e.tokens.data(), asked, all, random);
  }

  // The one that is asked for first.
  std::vector<Needle> draw_needles(pes::Random& random) const {
    std::vector<std::int32_t> key(needles()), value(needles());
    draw_distinct(random, key, key0, keys);
    draw_distinct(random, value, value0, values);
    std::vector<Needle> all;
    for (std::size_t i = 0; i < needles(); ++i)
      all.push_back({key[variant == Variant::multi_value ? 0 : i], value[i], 0});
    return all;
  }
  static std::size_t nearest(const std::vector<std::size_t>& starts, double place) {
    const auto distance = [&](std::size_t s) { return std::abs(static_cast<double>(s) - place); };
    return *std::min_element(starts.begin(), starts.end(), [&](std::size_t a, std::size_t b) {
      return distance(a) < distance(b);  // of two that are as near, the earlier
    });
  }
  static std::int32_t* write_text(std::int32_t* out, const std::vector<std::int32_t>& text,
                                  const std::vector<Needle>& needles) {
    auto next = needles.begin();
    for (std::size_t i = 0; i < text.size(); ++i) {
      for (; next != needles.end() && next->place == i; ++next) {
        *out++ = set_token;
        *out++ = next->key;
        *out++ = next->value;
      }
      *out++ = PES_FIRST_SYMBOL + text[i];
    }
    return out;
  }
  // Writes the questions with their answers from `out`, token number `at`, to the end.
  void write_query(std::int32_t* out, Targets targets, std::size_t at, const Needle& asked,
                   const std::vector<Needle>& all, pes::Random& random) const {
    std::fill(targets.begin(), targets.end(), unscored);
    const auto put = [&](std::int32_t token) {
      *out++ = token;
      ++at;
    };
    const auto answer = [&](std::int32_t value) {
      targets[at - 1] = value;
      put(value);
    };
    std::vector<std::int32_t> order(all.size());
    draw_distinct(random, order, 0, static_cast<int>(all.size()));
    if (variant == Variant::multi_query) {
      for (const std::int32_t i : order) {
        const Needle& n = all[i];
        put(PES_ASK), put(n.key), answer(n.value);
      }
      return;
    }
    put(PES_ASK), put(asked.key);
    if (variant == Variant::multi_value)
      for (const Needle& n : all) answer(n.value);
    else
      answer(asked.value);
  }

  void oracle(Tokens tokens, Targets targets) const {
    std::fill(targets.begin(), targets.end(), unscored);
    const auto first_ask = std::find(tokens.begin(), tokens.end(), PES_ASK) - tokens.begin();
    for (auto t = first_ask + 1; t < std::ssize(tokens); ++t) {
      const std::int32_t key = tokens[t];
      if (key < key0 || key >= value0) continue;
      auto answer = targets.begin() + t;  // all values of the key, in order of appearance
      for (auto i = tokens.begin(); i < tokens.begin() + first_ask && answer < targets.end(); ++i)
        if (*i == key) *answer++ = i[1];
    }
  }

  pes::Chance chance_at(const pes::Request&) const {
    return {1.0 / values, std::pow(10, -log10_samples(values, static_cast<int>(answers())))};
  }
  // At least: were they equally likely, the sets of needles and the beginnings of the haystacks.
  // Where the needles stand is not counted.
  double distinct(int length) const {
    constexpr int beginning = 256;
    const int n = static_cast<int>(needles()), of_keys = variant == Variant::multi_value ? 1 : n;
    const int text = length - static_cast<int>(needles() * needle_length + query_length());
    return log10_samples(keys, of_keys) + log10_samples(values, n) - log10_samples(n, n) -
           std::log10(repeat_of_haystacks(law, std::clamp(text, 1, beginning)));
  }
};

}  // namespace

extern const pes_task niah = pes::task<Niah>;
