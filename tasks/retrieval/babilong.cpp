// People who go to places, take things and drop them, told among text that says nothing: where is
// somebody, where is a thing, where was it before? One, two or three of the sentences tell. After
// Kuratov et al. 2024, "BABILong", tasks qa1 to qa3, which put those of Weston et al. 2015,
// arXiv:1502.05698, into books.
#include <map>
#include <optional>

#include "filler.h"

namespace {

using namespace retrieval;

constexpr int people = 4, things = 3, places = 16;
constexpr int went = filler0 + filler_words, took = went + 1, dropped = took + 1,
              person0 = dropped + 1, thing0 = person0 + people, place0 = thing0 + things,
              end_of_story = place0 + places;

struct Event {
  std::int32_t who, did, what;
};

// Where people and things are, and where things have been.
class World {
 public:
  void happen(const Event& e) {
    if (e.did == went) {
      place_[e.who] = e.what;
      for (const auto& [thing, holder] : holder_)
        if (holder == e.who) move(thing, e.what);
    } else if (e.did == took) {
      holder_[e.what] = e.who;
      move(e.what, place_[e.who]);
    } else {
      holder_.erase(e.what);
    }
  }

  std::optional<std::int32_t> place(std::int32_t who) const { return at(place_, who); }
  std::optional<std::int32_t> holder(std::int32_t thing) const { return at(holder_, thing); }
  // The places of a thing from the first that is told on; none twice in a row.
  const std::vector<std::int32_t>& path(std::int32_t thing) const {
    static const std::vector<std::int32_t> none;
    const auto it = path_.find(thing);
    return it == path_.end() ? none : it->second;
  }

 private:
  using Map = std::map<std::int32_t, std::int32_t>;
  static std::optional<std::int32_t> at(const Map& map, std::int32_t key) {
    const auto it = map.find(key);
    return it == map.end() ? std::nullopt : std::optional(it->second);
  }
  void move(std::int32_t thing, std::int32_t to) {
    auto& path = path_[thing];
    if (path.empty() || path.back() != to) path.push_back(to);
  }

  Map place_, holder_;
  std::map<std::int32_t, std::vector<std::int32_t>> path_;
};

struct Babilong : pes::Task {
  static constexpr pes_option options[] = {
      pes::integer("supporting", "1", 1, 3,
                   "sentences that tell: 1 where somebody is, 2 where a thing is, 3 where it was "
                   "before it came to a place"),
      pes::integer("events", "10", 4, 256, "sentences of the story")};
  static constexpr pes_card card =
      pes::card<Babilong>({.name = "babilong",
                           .summary = "where somebody is, or a thing, by a story told in noise",
                           .taxonomy = "retrieval",
                           .paper = "Kuratov et al. 2024, arXiv:2406.10149"});

  int supporting, events;
  pes_shortcut places_told, last_told;

  Babilong(const pes_use& use, const pes::Values& v)
      : supporting(static_cast<int>(v.integer("supporting"))),
        events(static_cast<int>(v.integer("events"))),
        places_told{sizeof(pes_shortcut), "bag", supporting == 3 ? .13 : .17 + 1.05 / events,
                    "the answer is one of the places that are told"},
        last_told{sizeof(pes_shortcut), "window", supporting == 1 ? .29 : .17,
                  "the last sentences may be those that tell"} {
    inputs = outputs = end_of_story;
    head = PES_LM;
    determined = true;
    shortcuts = {&places_told};
    if (supporting < 3) shortcuts.push_back(&last_told);
    require_length(use.train_length, tokens(), "the story and a question");
  }
  // Of everything but the text: BOS, sentences, ASK, somebody or a thing, the place that it came
  // to, the answer.
  int tokens() const { return 1 + 3 * events + 2 + (supporting == 3 ? 1 : 0) + 1; }

  // What may happen next: somebody goes elsewhere, or takes what is where he is or was never seen,
  // or drops what he has.
  static Event drawn(const World& world, pes::Random& random) {
    const std::int32_t who = person0 + static_cast<int>(random.below(people));
    const auto here = world.place(who);
    const std::uint32_t wish = random.below(3);
    std::vector<std::int32_t> may;
    for (std::int32_t thing = thing0; here && thing < place0; ++thing) {
      const auto holder = world.holder(thing);
      const auto& path = world.path(thing);
      if (wish == 1 && !holder && (path.empty() || path.back() == *here)) may.push_back(thing);
      if (wish == 2 && holder == who) may.push_back(thing);
    }
    if (!may.empty())
      return {who, wish == 1 ? took : dropped,
              may[random.below(static_cast<std::uint32_t>(may.size()))]};
    std::int32_t to = place0 + static_cast<int>(random.below(here ? places - 1 : places));
    if (here && to >= *here) ++to;
    return {who, went, to};
  }

  struct Question {
    std::vector<std::int32_t> asked;
    std::int32_t answer;
  };
  std::vector<Question> questions(const World& world) const {
    std::vector<Question> out;
    for (std::int32_t who = person0; supporting == 1 && who < thing0; ++who)
      if (const auto place = world.place(who)) out.push_back({{who}, *place});
    for (std::int32_t thing = thing0; supporting > 1 && thing < place0; ++thing) {
      const auto& path = world.path(thing);
      if (supporting == 2 && !path.empty()) out.push_back({{thing}, path.back()});
      for (std::size_t i = 1; supporting == 3 && i < path.size(); ++i)
        if (std::find(path.begin() + i + 1, path.end(), path[i]) == path.end())
          out.push_back({{thing, path[i]}, path[i - 1]});
    }
    return out;
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    require_length(r.length, tokens(), "the story and a question");
    std::vector<Event> story;
    std::vector<Question> possible;
    while (possible.empty()) {
      World world;
      story.clear();
      for (int i = 0; i < events; ++i) {
        story.push_back(drawn(world, random));
        world.happen(story.back());
      }
      possible = questions(world);
    }
    const Question q = possible[random.below(static_cast<std::uint32_t>(possible.size()))];

    const std::size_t text = e.tokens.size() - static_cast<std::size_t>(tokens());
    std::vector<std::int32_t> place(story.size());  // of the text, which a sentence stands before
    draw_uniform(random, place, 0, static_cast<int>(text) + 1);
    std::sort(place.begin(), place.end());
    Filler filler(random);
    auto out = e.tokens.begin();
    *out++ = PES_BOS;
    std::int32_t written = 0;
    const auto write_text = [&](std::int32_t until) {
      filler.write({out, static_cast<std::size_t>(until - written)});
      out += until - written, written = until;
    };
    for (std::size_t i = 0; i < story.size(); ++i) {
      write_text(place[i]);
      for (const std::int32_t token : {story[i].who, story[i].did, story[i].what}) *out++ = token;
    }
    write_text(static_cast<std::int32_t>(text));
    *out++ = PES_ASK;
    out = std::copy(q.asked.begin(), q.asked.end(), out);
    *out = q.answer;
    score_tokens(e.targets, e.tokens, e.tokens.size() - 1, 1);
  }

  void oracle(Tokens tokens, Targets targets) const {
    std::fill(targets.begin(), targets.end(), unscored);
    const auto ask = std::find(tokens.begin(), tokens.end(), PES_ASK);
    World world;
    for (auto t = tokens.begin(); t + 2 < ask; ++t)
      if (*t >= person0 && *t < thing0) world.happen({t[0], t[1], t[2]});
    for (const Question& q : questions(world))
      if (std::ssize(q.asked) < tokens.end() - ask &&
          std::equal(q.asked.begin(), q.asked.end(), ask + 1))
        targets[static_cast<std::size_t>(ask - tokens.begin()) + q.asked.size()] = q.answer;
  }

  // No place is likelier than another.
  pes::Chance chance_at(const pes::Request& r) const {
    require_length(r.length, tokens(), "the story and a question");
    return {1. / places, 1. / places};
  }
  // By whoever acts and where the sentences stand, were sets of places of the text as likely; more
  // by what they do.
  double distinct(int length) const {
    const int gaps = length - tokens() + 1;
    const double stand = events * std::log10(gaps) - std::lgamma(events + 1) / std::log(10);
    return events * std::log10(people) + std::max(0.0, stand);
  }
};

}  // namespace

extern const pes_task babilong = pes::task<Babilong>;
