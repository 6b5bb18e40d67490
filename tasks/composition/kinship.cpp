// Who is she to him? BOS, facts "b mother a" (b is the mother of a), ASK, two people, what the
// first is to the second; after Sinha et al. 2019, "CLUTRR". Facts are steps of a walk through one
// family, in which nobody is met twice.
#include <array>
#include <map>

#include "sized.h"

namespace {

using namespace tasks;

enum Step { to_parent, to_child, to_sibling, to_spouse, steps };

// What somebody is to the one where the walk began. Uncles and aunts by marriage, and the two kinds
// of brothers-in-law and sisters-in-law, go by one name and go on in different ways.
enum Kin {
  parent,
  child,
  sibling,
  spouse,
  grandparent,
  grandchild,
  uncle,
  nephew,
  parent_in_law,
  child_in_law,
  sibling_in_law,
  uncle_by_marriage,
  siblings_spouse,
  self,
  unnamed
};
constexpr int named = sibling_in_law + 1;
constexpr int name_of(Kin k) {
  return k == uncle_by_marriage ? uncle : k == siblings_spouse ? sibling_in_law : k;
}

// What a step leads to. It is right for who has met nobody twice: another child of my grandparents
// is my uncle, since I came to them through my parent.
constexpr std::array<std::array<Kin, steps>, unnamed> after_step = {{
    {grandparent, sibling, uncle, parent},              // parent
    {spouse, grandchild, child, child_in_law},          // child
    {parent, nephew, sibling, siblings_spouse},         // sibling
    {parent_in_law, child, sibling_in_law, unnamed},    // spouse
    {unnamed, uncle, unnamed, grandparent},             // grandparent
    {child_in_law, unnamed, grandchild, unnamed},       // grandchild
    {grandparent, unnamed, uncle, uncle_by_marriage},   // uncle
    {siblings_spouse, unnamed, nephew, unnamed},        // nephew
    {unnamed, sibling_in_law, unnamed, parent_in_law},  // parent_in_law
    {unnamed, grandchild, unnamed, child},              // child_in_law
    {parent_in_law, unnamed, sibling_in_law, unnamed},  // sibling_in_law
    {unnamed, unnamed, unnamed, uncle},                 // uncle_by_marriage
    {unnamed, nephew, unnamed, sibling},                // siblings_spouse
    {parent, child, sibling, spouse},                   // self
}};

enum Gender { male, female };
constexpr Gender other(Gender g) {
  return g == male ? female : male;
}

// A family that grows where a walk goes, from person 0 on. Children have two parents, who are a
// couple.
class Family {
 public:
  explicit Family(Gender first) { add(first); }

  Gender gender(int who) const { return people_[static_cast<std::size_t>(who)].gender; }
  bool has_someone_new(int who, Step s) const {
    const Person& p = people_[static_cast<std::size_t>(who)];
    if (s == to_spouse) return p.spouse < 0 || !met(p.spouse);
    return s != to_parent || p.parents[0] < 0 || !met(p.parents[0]) || !met(p.parents[1]);
  }
  // Someone who has not been met, and now is.
  int go(pes::Random& random, int who, Step s) {
    int to = -1;
    if (s == to_spouse) to = spouse_of(who);
    if (s == to_child) to = add_child(random, {who, spouse_of(who)});
    if (s == to_sibling) to = add_child(random, parents_of(who));
    if (s == to_parent) {
      const auto [one, two] = parents_of(who);
      to = met(one) || (!met(two) && coin(random)) ? two : one;
    }
    people_[static_cast<std::size_t>(to)].met = true;
    return to;
  }

 private:
  using Couple = std::array<int, 2>;
  struct Person {
    Gender gender;
    int spouse = -1;
    Couple parents = {-1, -1};
    bool met = false;
  };

  bool met(int who) const { return who == 0 || people_[static_cast<std::size_t>(who)].met; }
  int add(Gender gender) {
    people_.push_back({gender});
    return static_cast<int>(people_.size()) - 1;
  }
  int spouse_of(int who) {
    if (people_[static_cast<std::size_t>(who)].spouse < 0) {
      const int partner = add(other(gender(who)));
      people_[static_cast<std::size_t>(who)].spouse = partner;
      people_[static_cast<std::size_t>(partner)].spouse = who;
    }
    return people_[static_cast<std::size_t>(who)].spouse;
  }
  Couple parents_of(int who) {
    if (people_[static_cast<std::size_t>(who)].parents[0] < 0) {
      const int one = add(male), two = spouse_of(one);  // which may move people_
      people_[static_cast<std::size_t>(who)].parents = {one, two};
    }
    return people_[static_cast<std::size_t>(who)].parents;
  }
  int add_child(pes::Random& random, Couple parents) {
    const int one = add(coin(random) ? male : female);
    people_[static_cast<std::size_t>(one)].parents = parents;
    return one;
  }

  std::vector<Person> people_;
};

constexpr int relation0 = PES_FIRST_SYMBOL, person0 = relation0 + 2 * named;

constexpr std::int32_t relation(Kin k, Gender g) {
  return relation0 + 2 * name_of(k) + g;
}

constexpr pes_shortcut steps_counted = {sizeof(pes_shortcut), "bag", .62,
                                        "steps up and steps down cancel in any order"},
                       end_near = {sizeof(pes_shortcut), "window", .39,
                                   "the last facts tell where the walk ended"};

struct Kinship : Sized {
  static constexpr pes_option options[] = {
      pes::flag("shuffled", "false", "facts stand in random order, not along the walk"),
      pes::integer("least", "2", 1, 65536, "facts of the shortest story"),
      pes::integer("people", "128", 2, 65536, "names to choose from; a story has one fact less")};
  static constexpr pes_card card =
      pes::card<Kinship>({.name = "kinship",
                          .summary = "what two people are to each other, from facts in between",
                          .taxonomy = "composition",
                          .paper = "Sinha et al. 2019, arXiv:1908.06177"});

  static constexpr int fact = 3, around = 5;  // BOS, and ASK, two people, answer

  bool shuffled;
  int people;

  Kinship(const pes_use& use, const pes::Values& v)
      : shuffled(v.flag("shuffled")), people(static_cast<int>(v.integer("people"))) {
    inputs = outputs = person0 + people;
    head = PES_LM;
    determined = true;
    declare_sizes(use, static_cast<int>(v.integer("least")), {fact, around}, "facts",
                  "facts between the two people", people - 1);
    shortcuts = {&steps_counted, &end_near};
  }

  // Relations along a walk of n steps, each of those that have a name as likely; nobody marries in
  // before the end whose family has no names.
  static std::vector<std::int32_t> walk(pes::Random& random, int n) {
    Family family(coin(random) ? male : female);
    std::vector<std::int32_t> out;
    int at = 0;
    for (Kin kin = self; std::ssize(out) < n;) {
      std::array<Step, steps> open;
      int count = 0;
      for (const Step s : {to_parent, to_child, to_sibling, to_spouse}) {
        const Kin next = after_step[kin][s];
        if (next == unnamed || !family.has_someone_new(at, s)) continue;
        if (next != uncle_by_marriage || std::ssize(out) == n - 1)
          open[static_cast<std::size_t>(count++)] = s;
      }
      const Step s = open[static_cast<std::size_t>(random.between(0, count - 1))];
      at = family.go(random, at, s);
      kin = after_step[kin][s];
      out.push_back(relation(static_cast<Kin>(s), family.gender(at)));
    }
    return out;
  }
  // What the last person of a walk is to the first.
  static std::int32_t end_of(std::span<const std::int32_t> walk) {
    Kin kin = self;
    for (const std::int32_t r : walk) {
      const int step = (r - relation0) / 2;
      if (r < relation0 || step >= steps || kin == unnamed) return unscored;
      kin = after_step[kin][static_cast<std::size_t>(step)];
    }
    if (walk.empty() || kin == unnamed) return unscored;
    return relation(kin, (walk.back() - relation0) % 2 == 0 ? male : female);
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const Range range = drawn_for(r, 0);
    const int size = random.between(range.low, range.high);
    const std::size_t n = size;
    std::vector<std::int32_t> relations, names(n + 1), order(n);
    std::fill(e.tokens.begin(), e.tokens.end(), PES_PAD);
    e.tokens[0] = PES_BOS;
    const auto story = e.tokens.subspan(1, fact * n);
    do {
      relations = walk(random, size);
      draw_distinct(random, names, person0, people);
      std::iota(order.begin(), order.end(), 0);
      if (shuffled) draw_distinct(random, order, 0, size);
      for (std::size_t i = 0; i < n; ++i) {
        const auto to = story.subspan(fact * static_cast<std::size_t>(order[i]), fact);
        to[0] = names[i + 1], to[1] = relations[i], to[2] = names[i];
      }
    } while (splits_matter(size) && !belongs_to(r.split, pes::hash64(card.name), story));
    const std::size_t ask = 1 + fact * n;
    e.tokens[ask] = PES_ASK;
    e.tokens[ask + 1] = names.back(), e.tokens[ask + 2] = names.front();
    e.tokens[ask + 3] = end_of(relations);
    score_tokens(e.targets, e.tokens, ask + 3, 1);
  }

  void oracle(Tokens tokens, Targets targets) const {
    std::fill(targets.begin(), targets.end(), unscored);
    const auto ask =
        static_cast<std::size_t>(std::find(tokens.begin(), tokens.end(), PES_ASK) - tokens.begin());
    if (ask + 2 >= tokens.size()) return;
    std::map<std::int32_t, std::pair<std::int32_t, std::int32_t>> told;  // relation, and who
    for (std::size_t t = 1; t + fact <= ask; t += fact)
      told[tokens[t + 2]] = {tokens[t + 1], tokens[t]};
    std::vector<std::int32_t> relations;
    for (std::int32_t at = tokens[ask + 2]; at != tokens[ask + 1];) {
      const auto found = told.find(at);
      if (found == told.end() || relations.size() > told.size()) return;
      relations.push_back(found->second.first);
      at = found->second.second;
    }
    targets[ask + 2] = end_of(relations);
  }

  // From draws; error below 0.5 points.
  pes::Chance chance_at(const pes::Request& r) const {
    constexpr int draws = 1 << 14;
    const Range range = sizes(r);
    BlindGuess guess;
    for (int i = 0; i < draws; ++i) {
      pes::Random random(0, pes::purpose("kinship chance"), static_cast<unsigned>(i));
      guess.add(0, end_of(walk(random, random.between(range.low, range.high))), 1.0 / draws);
    }
    return {guess.accuracy(), guess.accuracy()};
  }
  // At least, for there are two words or more for each step.
  double log10_problems(int n, int) const override {
    return log10_samples(people, n + 1) + n * std::log10(2);
  }
};

}  // namespace

extern const pes_task kinship = pes::task<Kinship>;
