// The ledger language: what it costs against closed forms, against brute force, against itself.
#include "tasks/corpus/ledger.h"

#include <map>
#include <optional>

#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

using ledger::Categorical;
using ledger::Law;
using ledger::Reader;
using ::testing::HasSubstr;
using Document = std::vector<std::int32_t>;

const Law& standard() {
  static const Law law = ledger::make_law(ledger::Mix::standard);
  return law;
}

Document write(const Law& law, std::uint64_t index, std::size_t count) {
  return ledger::write(law, pes::Random(1, pes::purpose("ledger test"), index), count);
}

double entropy(const Categorical& law) {
  double nats = 0;
  for (std::size_t i = 0; i < law.size(); ++i) nats -= law.p(i) * std::log(law.p(i));
  return nats;
}

// What a token is: its cost has a closed form by class.
enum class Class {
  bos,
  set,
  ask,
  fil,
  open,
  close,
  entity,
  attribute,
  set_value,
  ask_value,
  word,
  end,
  opened,
  closed
};

// Follows a document by its grammar, apart from Reader.
class Classifier {
 public:
  explicit Classifier(const Law& law) : law_(law) {}
  int sentences = 0;  // complete ones

  Class next(std::size_t token) {
    if (token == ledger::BOS) return Class::bos;
    if (token <= ledger::CLOSE) {
      type_ = token;
      constexpr Class types[] = {Class::set, Class::ask, Class::fil, Class::open, Class::close};
      return types[token - ledger::SET];
    }
    if (token == ledger::END) return complete(Class::end);
    if (token < law_.attribute0()) return Class::entity;
    if (token < law_.value0()) return Class::attribute;
    if (token < law_.word0())
      return complete(type_ == ledger::SET ? Class::set_value : Class::ask_value);
    if (token < law_.bracket0()) return Class::word;
    return complete(type_ == ledger::OPEN ? Class::opened : Class::closed);
  }

 private:
  Class complete(Class c) {
    ++sentences;
    return c;
  }
  const Law& law_;
  std::size_t type_ = 0;
};

// ------------------------------------------------------------------------------- law and grammar

TEST(LedgerLaw, IsThatOfTheDefinition) {
  const Law& law = standard();
  EXPECT_EQ(law.alphabet(), 227u);
  EXPECT_EQ(law.entity0(), 7u);
  EXPECT_EQ(law.attribute0(), 55u);
  EXPECT_EQ(law.value0(), 59u);
  EXPECT_EQ(law.word0(), 123u);
  EXPECT_EQ(law.bracket0(), 219u);
  const double types[] = {.12, .28, .50, .10};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(law.types.p(i), types[i], 1e-9);
  const double steep[] = {.12, .45, .33, .10};
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(ledger::make_law(ledger::Mix::retrieval).types.p(i), steep[i], 1e-9);
  EXPECT_NEAR(law.entities.p(0) / law.entities.p(47), 48, 1e-6);
  EXPECT_NEAR(entropy(law.entities), 3.1681, 5e-5);
  ASSERT_EQ(law.topics.size(), 8u);
  for (const Categorical& topic : law.topics) {
    EXPECT_EQ(topic.size(), 96u);
    double sum = 0;
    for (std::size_t w = 0; w < topic.size(); ++w) {
      EXPECT_EQ(std::fmod(topic.p(w), 0x1p-16), 0) << "no multiple of 2^-16";
      EXPECT_GE(topic.p(w), 0x1p-16);
      sum += topic.p(w);
    }
    EXPECT_EQ(sum, 1);
  }
}

TEST(LedgerLaw, DrawsInItsProportions) {
  const Categorical law(
      {1u << 30, 1u << 30, 3u << 30, std::uint64_t{1} << 32});  // 1/4, 0, 1/2, 1/4
  pes::Random random(5, 0, 0);
  std::array<int, 4> seen{};
  for (int i = 0; i < 40000; ++i) ++seen[law.draw(random)];
  EXPECT_EQ(seen[1], 0);
  for (std::size_t i : {0, 2, 3}) expect_rate(seen[i], 40000, law.p(i), "outcome");
  const Categorical& entities = standard().entities;
  std::vector<int> drawn(entities.size());
  for (int i = 0; i < 100000; ++i) ++drawn[entities.draw(random)];
  for (std::size_t e = 0; e < drawn.size(); ++e)
    expect_rate(drawn[e], 100000, entities.p(e), "entity");
}

// The writer makes only what the reader thinks possible, from every start.
TEST(LedgerReader, GivesAProbabilityToWhatComes) {
  for (std::uint64_t i = 0; i < 16; ++i) {
    const Document text = write(standard(), i, 2000);
    for (std::size_t start : {std::size_t{0}, 500 + i, 1500 + 7 * i}) {
      Reader reader(standard(), start);
      for (std::size_t t = 0; t < text.size(); ++t) {
        if (t > start) {
          ASSERT_GT(reader.probability(text[t]), 0) << "token " << t;
        }
        reader.read(text[t]);
      }
    }
  }
}

TEST(LedgerReader, SumsToOneOverTheAlphabet) {
  const Law& law = standard();
  for (std::uint64_t i = 0; i < 8; ++i) {
    const Document text = write(law, i, 1000);
    for (std::size_t start : {std::size_t{0}, 100 + i, 900 + i}) {
      Reader reader(law, start);
      for (std::size_t t = 0; t < text.size(); reader.read(text[t++])) {
        double sum = 0;
        for (std::size_t token = 0; token < law.alphabet() + 20; ++token)
          sum += std::exp(-reader.cost(token));
        ASSERT_NEAR(sum, 1, 1e-12) << "token " << t;
      }
    }
  }
}

// What is paid on average is what the reader expects to pay, token by token: writer and reader
// follow the same law.
TEST(LedgerReader, PaysWhatItExpects) {
  const Law& law = standard();
  Mean excess;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const Document text = write(law, i, 600);
    Reader reader(law, 0);
    for (std::size_t t = 0; t < text.size(); reader.read(text[t++])) {
      double expected = 0;
      for (std::size_t token = 0; token < law.alphabet(); ++token)
        if (const double p = reader.probability(token); p > 0) expected -= p * std::log(p);
      excess.add(reader.cost(text[t]) - expected);
    }
  }
  expect_mean(excess, 0, "nats paid beyond those expected");
}

// ---------------------------------------------------------------------------------- closed forms

// Expected cost of the value of an ASK sentence after n sentences.
double f(double n) {
  const Law& law = standard();
  const double mention = law.types.p(0) + law.types.p(1);
  double nats = 0;
  for (std::size_t e = 0; e < law.entities.size(); ++e)
    nats += law.entities.p(e) * std::pow(1 - mention * law.entities.p(e) / 4, n);
  return std::log(16) * nats;
}

TEST(LedgerCosts, OfAskValuesFollowTheClosedForm) {
  const std::map<double, double> printed = {{0, 2.7726}, {10, 2.562},  {30, 2.230}, {100, 1.582},
                                            {300, .952}, {1000, .378}, {3000, .074}};
  for (const auto& [n, nats] : printed) EXPECT_NEAR(f(n), nats, 6e-4) << n;
}

struct Tally {  // per class, the mean over documents of their mean cost
  std::map<Class, Mean> of_class;
  std::map<int, Mean> ask_excess;  // over f(n), by log2 of n + 1
  Mean first_word, late_word;
  std::map<Class, Mean> spread;  // over tokens
};

Tally tally(int documents, std::size_t length) {
  Tally all;
  for (int i = 0; i < documents; ++i) {
    const Document text = write(standard(), i, length);
    Reader reader(standard(), 0);
    Classifier grammar(standard());
    std::map<Class, Mean> mine;
    std::map<int, Mean> excess;
    int words = 0, nests = 0;
    Mean late;
    for (const std::int32_t token : text) {
      const int n = grammar.sentences;
      const double cost = reader.cost(token);
      const Class c = grammar.next(token);
      reader.read(token);
      all.spread[c].add(cost);
      if (c == Class::ask_value)
        excess[static_cast<int>(std::log2(n + 1))].add(cost - f(n));
      else if (c == Class::word && ++words == 1)
        all.first_word.add(cost);
      else if (c == Class::word && words > 200)
        late.add(cost);
      else if ((c == Class::open || c == Class::close) && ++nests > 20)
        mine[Class::open].add(cost);  // both together, once the start is forgotten
      else if (c == Class::entity)
        mine[c].add(cost);
    }
    for (const auto& [c, mean] : mine) all.of_class[c].add(mean.value());
    for (const auto& [bin, mean] : excess) all.ask_excess[bin].add(mean.value());
    if (late.n > 0) all.late_word.add(late.value());
  }
  return all;
}

TEST(LedgerCosts, EqualTheAnalyticMeans) {
  const Law& law = standard();
  Tally t = tally(64, 8192);
  const auto constant = [&](Class c, double nats, const char* what) {
    EXPECT_NEAR(t.spread[c].value(), nats, 1e-9) << what;
    EXPECT_NEAR(t.spread[c].error(), 0, 1e-6) << what;
  };
  constant(Class::set, -std::log(law.types.p(0)), "SET");
  constant(Class::ask, -std::log(law.types.p(1)), "ASK");
  constant(Class::fil, -std::log(law.types.p(2)), "FIL");
  constant(Class::attribute, std::log(4), "attribute");
  constant(Class::set_value, std::log(16), "value after SET");
  constant(Class::end, -std::log(law.end_probability()), "END");
  constant(Class::opened, std::log(8), "bracket after OPEN");
  constant(Class::closed, 0, "bracket after CLOSE");

  expect_mean(t.of_class[Class::entity], entropy(law.entities), "entity");
  double nest = 0;  // of the stationary law 1 4 6 4 1 of the depth
  for (int d = 0; d <= 4; ++d)
    for (const double p : {d / 4.0, 1 - d / 4.0})
      if (p > 0) nest -= (d == 2 ? 6 : d % 2 == 1 ? 4 : 1) / 16.0 * p * std::log(p);
  EXPECT_NEAR(nest, .5411, 5e-5);
  expect_mean(t.of_class[Class::open], nest - std::log(law.types.p(3)), "OPEN and CLOSE");
  for (const auto& [bin, excess] : t.ask_excess)
    if (excess.n > 30) expect_mean(excess, 0, fmt::format("ASK values from n = 2^{} - 1", bin));
  EXPECT_GT(t.ask_excess.size(), 9u);

  double known_topic = 0;
  for (const Categorical& topic : law.topics) known_topic += entropy(topic) / 8;
  expect_mean(t.late_word, known_topic - std::log(1 - law.end_probability()), "late words");
}

TEST(LedgerCosts, OfTheFirstWordIsTheEntropyOfAllTopicsTogether) {
  const Law& law = standard();
  double nats = 0;
  for (std::size_t w = 0; w < law.words(); ++w) {
    double p = 0;
    for (const Categorical& topic : law.topics) p += topic.p(w) / 8;
    nats -= p * std::log(p);
  }
  expect_mean(tally(4000, 40).first_word, nats - std::log(1 - law.end_probability()), "first word");
}

TEST(LedgerGrammar, HasSentencesOfTheirMeanLength) {
  Mean length;
  for (int i = 0; i < 64; ++i) {
    Classifier grammar(standard());
    for (const std::int32_t token : write(standard(), i, 8192)) grammar.next(token);
    length.add(8191.0 / grammar.sentences);
  }
  expect_mean(length, 1.6 + .5 * (2 + .85 / .15) + .2, "tokens of a sentence");
}

// --------------------------------------------------------------------------------------- windows

// Exact expected cost of an ASK value for one who sees the last W tokens. Before the ASK sentence
// stand independent sentences; one is seen if its last token is, that is if the sentences between
// take at most W - 4 tokens. unseen[b]: probability that no mention of the pair is seen among the
// sentences that end within b tokens.
double window_cost(int W) {
  const Law& law = standard();
  const double q = law.end_probability(), mention = law.types.p(0) + law.types.p(1);
  double nats = 0;
  for (std::size_t e = 0; e < law.entities.size(); ++e) {
    std::vector<double> unseen(W - 3);
    std::vector<double> filler(W - 3);  // the same behind FIL and some words, b tokens left
    const auto at = [&](const std::vector<double>& v, int b) { return b < 0 ? 1.0 : v[b]; };
    for (int b = 0; b <= W - 4; ++b) {
      // the rest of a filler sentence: END, or a word and the rest
      filler[b] = q * at(unseen, b - 1) + (1 - q) * at(filler, b - 1);
      unseen[b] = mention * (1 - law.entities.p(e) / 4) * at(unseen, b - 4) +
                  law.types.p(2) * at(filler, b - 1) + law.types.p(3) * at(unseen, b - 2);
    }
    nats += law.entities.p(e) * unseen[W - 4];
  }
  return std::log(16) * nats;
}

struct Windowed {
  Mean ask_value, all;                        // documents' mean costs
  std::map<int, std::array<double, 2>> open;  // by tenths of P(open): events, and openings
  std::map<int, double> expected_open;
};

// Costs of the tokens behind windows of W tokens that end at several places of each document.
Windowed read_windows(int documents, std::size_t W) {
  Windowed result;
  for (int i = 0; i < documents; ++i) {
    const Document text = write(standard(), i, 8192);
    Classifier grammar(standard());
    std::vector<Class> classes;
    for (const std::int32_t token : text) classes.push_back(grammar.next(token));
    Mean ask, all;
    for (std::size_t t = 5120; t < text.size(); t += 7) {
      const Class c = classes[t];
      const bool nest = c == Class::open || c == Class::close;
      if (c != Class::ask_value && !nest && t % 4 != 0) continue;
      Reader reader(standard(), t - W);
      for (std::size_t s = 0; s < t; ++s) reader.read(text[s]);
      const double cost = reader.cost(text[t]);
      if (t % 4 == 0) all.add(cost);
      if (c == Class::ask_value) ask.add(cost);
      if (!nest) continue;
      const double open = reader.probability(ledger::OPEN),
                   close = reader.probability(ledger::CLOSE);
      const int bin = static_cast<int>(10 * open / (open + close));
      result.expected_open[bin] += open / (open + close);
      ++result.open[bin][0];
      result.open[bin][1] += c == Class::open ? 1 : 0;
    }
    if (ask.n > 0) result.ask_value.add(ask.value());
    result.all.add(all.value());
  }
  return result;
}

TEST(LedgerWindows, CostWhatTheirExactMeanSays) {
  const std::map<int, double> printed = {{64, 2.536}, {256, 2.033}, {1024, 1.231}, {4096, .511}};
  for (const auto& [W, nats] : printed) EXPECT_NEAR(window_cost(W), nats, 0.004) << W;
  double before = 100;
  for (const int W : {64, 256, 1024, 4096}) {
    const Windowed w = read_windows(48, W);
    expect_mean(w.ask_value, window_cost(W), fmt::format("ASK values, window {}", W));
    for (const auto& [bin, seen] : w.open)
      if (seen[0] > 20)
        expect_rate(seen[1], seen[0], w.expected_open.at(bin) / seen[0],
                    fmt::format("P(open) in tenth {}, window {}", bin, W));
    EXPECT_LT(w.all.value(), before) << "a longer window costs less, " << W;
    before = w.all.value();
  }
}

TEST(LedgerWindows, ThatStartLaterPayMore) {
  Mean saved;  // nats of 1000 tokens
  for (int i = 0; i < 40; ++i) {
    const Document text = write(standard(), i, 3000);
    Reader all(standard(), 0), late(standard(), 2000);
    double nats = 0;
    for (std::size_t t = 0; t < text.size(); ++t) {
      if (t > 2000) nats += late.cost(text[t]) - all.cost(text[t]);
      all.read(text[t]);
      late.read(text[t]);
    }
    saved.add(nats);
  }
  EXPECT_GT(saved.value(), 10 * saved.error());
}

// ------------------------------------------------------------------- brute force on a tiny
// language

Law tiny_law() {
  const auto cut = [](std::initializer_list<double> ends) {
    std::vector<std::uint64_t> thresholds;
    for (const double p : ends) thresholds.push_back(pes::probability(p));
    return Categorical(std::move(thresholds));
  };
  return {.attributes = 1,
          .values = 2,
          .brackets = 2,
          .depth = 2,
          .types = cut({.2, .5, .7, 1}),
          .entities = cut({.7, 1}),
          .topics = {cut({.9, 1}), cut({.25, 1})},
          .end = pes::probability(.3)};
}

// All that an observer may not see: topic, the value of each entity, the open brackets. Values that
// no sentence gave yet are drawn beforehand, which changes no probability.
struct Hidden {
  std::size_t topic;
  std::array<std::size_t, 2> values;
  std::vector<std::size_t> open;
  double weight;
};

// Bayes' rule over the list of all hidden states.
class BruteForce {
 public:
  BruteForce(const Law& law, bool from_the_beginning) : law_(law) {
    const std::vector<std::vector<std::size_t>> stacks = {{},     {0},    {1},   {0, 0},
                                                          {0, 1}, {1, 0}, {1, 1}};
    const double height[] = {.25, .5, .25};  // stationary, shared by the stacks of one height
    for (std::size_t z : {0, 1})
      for (std::size_t v : {0, 1, 2, 3})
        for (const auto& s : stacks)
          if (!from_the_beginning || s.empty())
            states_.push_back({z, {v / 2, v % 2}, s, height[s.size()] / std::exp2(s.size())});
  }
  double probability(std::size_t token) const {
    double sum = 0, all = 0;
    for (const Hidden& h : states_) {
      all += h.weight;
      sum += h.weight * emission(h, token);
    }
    return sum / all;
  }
  void see(std::size_t token) {
    for (Hidden& h : states_) {
      h.weight *= emission(h, token);
      if (phase_ == 'v') h.values[entity_] = token - law_.value0();
      if (phase_ == 'b' && type_ == ledger::OPEN) h.open.push_back(token - law_.bracket0());
      if (phase_ == 'b' && type_ == ledger::CLOSE && !h.open.empty()) h.open.pop_back();
    }
    move(token);
  }
  void miss(std::size_t token) { move(token); }  // a filler word that is not seen
  bool between_sentences() const { return phase_ == 't'; }
  bool in_filler() const { return phase_ == 'w'; }

 private:
  double emission(const Hidden& h, std::size_t token) const {
    const double D = 2, d = static_cast<double>(h.open.size());
    switch (phase_) {
      case 't':
        if (token == ledger::OPEN) return law_.types.p(3) * (D - d) / D;
        if (token == ledger::CLOSE) return law_.types.p(3) * d / D;
        return token >= 1 && token <= 3 ? law_.types.p(token - 1) : 0;
      case 'e': return token - 7 < 2 ? law_.entities.p(token - 7) : 0;
      case 'a': return token == 9 ? 1 : 0;
      case 'v':
        if (token - 10 >= 2) return 0;
        return type_ == ledger::SET ? .5 : token - 10 == h.values[entity_] ? 1 : 0;
      case 'w':
        if (token == ledger::END) return law_.end_probability();
        return token - 12 < 2 ? (1 - law_.end_probability()) * law_.topics[h.topic].p(token - 12)
                              : 0;
      default:
        if (token - 14 >= 2) return 0;
        if (type_ == ledger::OPEN) return .5;
        return !h.open.empty() && token - 14 == h.open.back() ? 1 : 0;
    }
  }
  void move(std::size_t token) {
    switch (phase_) {
      case 't':
        type_ = token;
        phase_ = token == ledger::FIL ? 'w' : token >= ledger::OPEN ? 'b' : 'e';
        break;
      case 'e':
        entity_ = token - 7;
        phase_ = 'a';
        break;
      case 'a': phase_ = 'v'; break;
      case 'w': phase_ = token == ledger::END ? 't' : 'w'; break;
      default: phase_ = 't';
    }
  }

  const Law& law_;
  std::vector<Hidden> states_;
  char phase_ = 't';
  std::size_t type_ = 0, entity_ = 0;
};

// From `start` on, the reader agrees with brute force that is given the sentence running there.
void expect_agreement(const Law& law, const Document& text, std::size_t start) {
  Reader reader(law, start);
  reader.read(text[0]);
  std::optional<BruteForce> brute(std::in_place, law, start == 0);
  for (std::size_t t = 1; t < text.size(); ++t) {
    for (std::size_t token = 0; token < law.alphabet() && t > start; ++token)
      ASSERT_NEAR(reader.probability(token), brute->probability(token), 1e-12)
          << "start " << start << ", place " << t << ", token " << token;
    reader.read(text[t]);
    if (t <= start && brute->between_sentences()) brute.emplace(law, start == 0);
    if (t < start && brute->in_filler())
      brute->miss(text[t]);
    else
      brute->see(text[t]);
  }
}

TEST(LedgerReader, AgreesWithBruteForce) {
  const Law law = tiny_law();
  for (std::uint64_t i = 0; i < 400; ++i) {
    const Document text = write(law, i, i % 2 == 0 ? 12 : 60);
    for (std::size_t start = 0; start < text.size(); ++start) expect_agreement(law, text, start);
  }
}

// -------------------------------------------------------------------------------------- the task

TEST(LedgerTask, GivesWindowsOfOneDocument) {
  const Task task = make_task("ledger", 4096);
  EXPECT_EQ(task.info().document, 4096);
  EXPECT_EQ(task.info().inputs, PES_FIRST_SYMBOL + 227);
  const Example all = sample(task, {PES_SPLIT_TRAIN, 1, 7, 4096, 0, {}});
  EXPECT_EQ(all.tokens[0], PES_FIRST_SYMBOL);  // the ledger's own BOS
  EXPECT_EQ(std::vector(all.tokens.begin() + 1, all.tokens.end()),
            std::vector(all.targets.begin(), all.targets.end() - 1));
  for (const std::int64_t start : {0, 1, 1000, 3840}) {
    const Example window = sample(task, {PES_SPLIT_TRAIN, 1, 7, 256, start, {}});
    EXPECT_TRUE(std::equal(window.tokens.begin(), window.tokens.end(), all.tokens.begin() + start));
    EXPECT_TRUE(
        std::equal(window.targets.begin(), window.targets.end(), all.targets.begin() + start));
    Reader reader(standard(), start);
    for (int t = 0; t < start; ++t) reader.read(all.tokens[t] - PES_FIRST_SYMBOL);
    for (int t = 0; t < 256; ++t) {
      reader.read(window.tokens[t] - PES_FIRST_SYMBOL);
      EXPECT_EQ(window.optimum[t], reader.cost(window.targets[t] - PES_FIRST_SYMBOL));
    }
  }
}

TEST(LedgerTask, DrawsWindowsUniformlyFromTheSameDocument) {
  const Task task = make_task("ledger(document=1024)", 64);
  Mean place;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Example all = sample(task, {PES_SPLIT_TRAIN, 1, i, 1024, 0, {}});
    const Example window = sample(task, {PES_SPLIT_TRAIN, 1, i, 64, -1, {}});
    const auto at = std::search(all.tokens.begin(), all.tokens.end(), window.tokens.begin(),
                                window.tokens.end());
    ASSERT_NE(at, all.tokens.end());
    place.add(static_cast<double>(at - all.tokens.begin()));
  }
  expect_mean(place, (1024 - 64) / 2.0, "start");
}

TEST(LedgerTask, RefusesWindowsBeyondTheDocument) {
  const Task task = make_task("ledger(document=256)");
  const auto refusal = [&](int length, std::int64_t start) {
    return error_of([&] { sample(task, {PES_SPLIT_TRAIN, 1, 0, length, start, {}}); });
  };
  EXPECT_EQ(refusal(256, 0), "no error");
  EXPECT_THAT(refusal(256, 1),
              HasSubstr("a window of 256 tokens from token 1 does not fit into a document of 256"));
  EXPECT_THAT(refusal(257, -1), HasSubstr("a window of 257 tokens from token 0 does not fit"));
  EXPECT_THAT(error_of([] { make_task("ledger", 8192); }), HasSubstr("set document to at least"));
}

}  // namespace
}  // namespace pesuite::testing
