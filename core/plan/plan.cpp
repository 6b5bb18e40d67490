#include "plan/plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "backend/choice.h"
#include "base/file.h"
#include "base/isolate.h"
#include "base/text.h"
#include "cell/determinism.h"
#include "plan/evaluations.h"
#include "plan/trainings.h"
#include "plugin/card.h"

namespace pesuite {

namespace {

constexpr double question_seconds = 120;  // a task may have to read a corpus

// Identity of a plugin: its definition, the library that has it, and the bytes of that library.
template <class D>
Json identity_of(const D& found) {
  static std::map<std::string, std::string>
      builds;  // of this process: files do not change under us
  const std::string path = found.library->path().string();
  auto it = builds.find(path);
  if (it == builds.end()) it = builds.emplace(path, sha256_file(path).substr(0, 16)).first;
  return {{"version", found.descriptor->card->version},
          {"library", found.library->entry().name},
          {"build", "sha256:" + it->second}};
}

// A plugin that crashes when asked fails its cells and no others, so it is no problem of the suite.
struct Crashed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Json ask(const std::function<Json()>& question) {
  const Isolated r = run_isolated([&] { return question().dump(); }, question_seconds);
  switch (r.end) {
    case Isolated::End::returned: return Json::parse(r.text);
    case Isolated::End::threw: throw Error(static_cast<Exit>(r.code), r.text);
    default: throw Crashed(r.text);
  }
}

class Planner {
 public:
  Planner(const Suite& suite, const std::vector<std::string>& plugin_path, Problems problems)
      : suite_(suite),
        catalog_(open_catalog(plugin_search_path(plugin_path))),
        problems_(std::move(problems)) {
    for (const SuiteEncoding& e : suite_.encodings) {
      try {
        for (const Switch& s : parse_encoding(e.expression).switches)
          if (s.length) switch_lengths_.insert(static_cast<int>(*s.length));
      } catch (const Error&) {  // reported with the encoding's other problems
      }
    }
  }

  Plan plan(const Store& store) {
    Plan plan;
    plan.problems = catalog_.problems;
    if (!problems_.empty()) check_names();
    problems_.throw_if_any();
    check_filters();
    device_ = choose_backend(suite_.backend, suite_.precision);  // refused now, not by every cell
    if (!device_.note.empty()) plan.notes.push_back(device_.note);
    if (const std::string why =
            why_not_determined(suite_.determinism, {device_.backend, suite_.threads, 1});
        !why.empty())
      fail(Exit::usage, "'defaults.determinism' is '{}', but {}", suite_.determinism, why);
    if (suite_.limit > 0)
      plan.notes.push_back(fmt::format(
          "each evaluation reads at most {} examples (limit): for a quick look, not for results",
          suite_.limit));
    std::map<std::string, Ids> planned;  // by the cell's id
    for (const SuiteTask& t : suite_.tasks)
      for (const SuiteModel& m : suite_.models)
        for (const SuiteEncoding& e : suite_.encodings)
          for (const std::uint64_t seed : suite_.seeds) {
            PlannedCell c;
            c.encoding = e.id, c.task = t.id, c.model = m.id, c.seed = seed;
            if (!wanted(c.coordinates())) continue;
            if (!fill(c, e, t, m, plan)) continue;
            const auto [twin, is_new] = planned.emplace(c.id, Ids{e.id, t.id, m.id});
            if (is_new)
              plan.cells.push_back(std::move(c));
            else
              refuse_twin(twin->second, e, t, m);
          }
    problems_.throw_if_any();
    if (plan.cells.empty()) fail(Exit::usage, "no cell is left: the filters exclude all of them");
    plan.rate = measured_rate();
    share_trainings(plan);
    std::vector<PlannedCell> all = plan.cells;
    all.insert(all.end(), plan.trunks.begin(), plan.trunks.end());
    refresh_all(all, store);
    for (PlannedCell& c : all) estimate_cost(c, plan.rate);
    const auto trunks = all.begin() + static_cast<std::ptrdiff_t>(plan.cells.size());
    plan.cells.assign(all.begin(), trunks);
    plan.trunks.assign(trunks, all.end());
    return plan;
  }

 private:
  // A name of --only that nothing has is a mistake, not a wish for no cells.
  void check_filters() const {
    std::map<std::string, std::vector<std::string>> values;
    for (const SuiteEncoding& e : suite_.encodings) values["encoding"].push_back(e.id);
    for (const SuiteTask& t : suite_.tasks) values["task"].push_back(t.id);
    for (const SuiteModel& m : suite_.models) values["model"].push_back(m.id);
    for (const std::uint64_t s : suite_.seeds) values["seed"].push_back(std::to_string(s));
    const std::string whose = suite_.profile.empty()
                                  ? "the suite"
                                  : fmt::format("the suite, with profile {},", suite_.profile);
    for (const Filter& f : suite_.only) f.check(values, whose);
  }
  bool wanted(const Coordinates& c) const {
    const auto matches = [&](const Filter& f) { return f.matches(c); };
    const auto& s = suite_;
    return (s.include.empty() || std::any_of(s.include.begin(), s.include.end(), matches)) &&
           std::none_of(s.exclude.begin(), s.exclude.end(), matches) &&
           std::all_of(s.only.begin(), s.only.end(), matches);
  }

  struct Ids {  // in the suite
    std::string encoding, task, model;
  };
  void refuse_twin(const Ids& first, const SuiteEncoding& e, const SuiteTask& t,
                   const SuiteModel& m) {
    const auto refuse = [&](const char* kind, const std::string& where, const std::string& one,
                            const std::string& other) {
      if (one != other)
        problems_.add(where,
                      fmt::format("{0} '{1}' is the same as {0} '{2}'; leave one of them out", kind,
                                  other, one));
    };
    refuse("encoding", e.where, first.encoding, e.id);
    refuse("task", t.where, first.task, t.id);
    refuse("model", m.where, first.model, m.id);
  }

  // What can be said about expressions of a suite that cannot be planned.
  void check_names() {
    const auto check = [&](const std::string& where, auto&& question) {
      try {
        question();
      } catch (const Error& e) {
        problems_.add(where, e.what(), e.code());
      }
    };
    for (const SuiteEncoding& e : suite_.encodings)
      check(e.where,
            [&] { to_text(parse_encoding(e.expression), full_terms(catalog_, e.expression)); });
    for (const SuiteTask& t : suite_.tasks) check(t.where, [&] { task_text(t.expression); });
  }
  std::string task_text(const Expression& x) const {
    return full_text(*catalog_.task(x.name).descriptor->card, x.options, "task '" + x.name + "'");
  }

  // Asks once; a refusal is a problem of the suite's line, reported once. Null then.
  // What a plugin answers when it crashes instead stands in `crashed`.
  const Json& once(const std::string& key, const std::string& where, Json crashed,
                   const std::function<void(Json&)>& question) {
    const auto it = answers_.find(key);
    if (it != answers_.end()) return it->second;
    Json answer;
    try {
      question(answer);
    } catch (const Crashed& e) {
      answer.update(crashed);
      answer["note"] =
          fmt::format("its plugin {} when it was created; its cells will fail", e.what());
    } catch (const Error& e) {
      problems_.add(where, e.what(), e.code());
      answer = nullptr;
    }
    return answers_.emplace(key, std::move(answer)).first->second;
  }

  const Json& task_facts(const SuiteTask& t, int train_length, int max_length, int reached) {
    const std::string key =
        fmt::format("task {} {} {} {}", t.id, train_length, max_length, reached);
    const Json crashed = {{"inputs", 1},
                          {"outputs", 1},
                          {"head", 0},
                          {"document", 0},
                          {"documents", {0, 0, 0}},
                          {"digest", ""},
                          {"axes", Json::object()},
                          {"crashed", true}};
    return once(key, t.where, crashed, [&](Json& facts) {
      const auto found = catalog_.task(t.expression.name);
      const char* family = found.descriptor->card->taxonomy;
      facts = {{"text", task_text(t.expression)},
               {"identity", identity_of(found)},
               {"family", family != nullptr ? family : ""}};
      facts.update(ask([&]() -> Json {
        const Task task(catalog_, t.expression, train_length, max_length, reached);
        const pes_task_created& i = task.info();
        Json axes = Json::object();
        for (const Axis& a : task.axes())
          axes[a.name] = {{"values", a.values}, {"labels", a.labels}};
        return {{"inputs", i.inputs},
                {"positions", i.positions},
                {"outputs", i.outputs},
                {"head", static_cast<int>(i.head)},
                {"document", i.document},
                {"documents", i.documents},
                {"digest", i.digest ? i.digest : ""},
                {"note", i.note ? i.note : ""},
                {"axes", axes},
                {"refuses_fill", task.refuses_fill(train_length)},
                {"refuses_shots", task.refuses_shots(train_length)}};
      }));
    });
  }

  const Json& encoding_facts(const SuiteEncoding& e, const ModelConfig& m, int train_length,
                             int max_length) {
    const std::string key = fmt::format("encoding {} {} {} {} {} {} {} {}", e.id, m.layers, m.heads,
                                        m.groups(), m.width, m.positions, train_length, max_length);
    return once(key, e.where, {{"parameters", 0}}, [&](Json& facts) {
      const EncodingExpression x = parse_encoding(e.expression);
      const TermText full = full_terms(catalog_, e.expression);
      facts = {{"text", to_text(x, full)},   {"first", to_text(x.first, full)},
               {"switches", Json::array()},  {"evaluation", to_text(x.evaluation, full)},
               {"identity", Json::object()}, {"written", to_text(x)}};
      std::vector<const Sum*> sums = {&x.first};
      for (const Switch& s : x.switches) {
        facts["switches"].push_back(to_text(s.to, full));
        sums.push_back(&s.to);
      }
      if (!x.evaluation.empty()) sums.push_back(&x.evaluation);
      for (const Sum* sum : sums) {
        for (const std::string& name : names_of(*sum))
          facts["identity"][name] = identity_of(catalog_.encoding(name));
        for (const std::string& note : {unused_layers(*sum, m.layers), unread_positions(*sum, m)})
          if (!note.empty()) facts["note"] = note;
      }
      facts.update(ask([&]() -> Json {
        return {{"parameters", rehearse_all(x, sums, shape_of(m, train_length, max_length))}};
      }));
    });
  }
  // Creates all encodings of an expression; returns the parameters of those that train last.
  std::int64_t rehearse_all(const EncodingExpression& x, const std::vector<const Sum*>& sums,
                            const ModelShape& shape) const {
    std::vector<Encoding::ParameterSpec> trained;
    for (const Sum* sum : sums) {
      Composition encoding(catalog_, *sum, shape);
      rehearse(encoding, shape);
      if (sum != &x.evaluation) {
        trained = encoding.parameters();
        continue;
      }
      for (const Encoding::ParameterSpec& p : encoding.parameters())
        if (std::none_of(trained.begin(), trained.end(),
                         [&](const auto& t) { return t.name == p.name && t.shape == p.shape; }))
          fail(
              Exit::usage,
              "encoding '{}': what '=>' swaps in learns '{}' {}, which the training before it does "
              "not have; let it train, as in {} -> {} @ 90%",
              x.source, p.name, p.shape.text(), to_text(*sums[sums.size() - 2]), to_text(*sum));
    }
    std::int64_t n = 0;
    for (const auto& p : trained) n += p.shape.count();
    return n;
  }
  static std::string unused_layers(const Sum& s, int layers) {
    for (const Sum::Factor& f : s.factors)
      if (f.pattern.size() > static_cast<std::size_t>(layers))
        return fmt::format("the pattern names {} layers, the model has {}: the rest never acts",
                           f.pattern.size(), layers);
    return "";
  }
  std::string unread_positions(const Sum& s, const ModelConfig& m) const {
    const auto names = names_of(s);
    const bool read = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return (uses_of(*catalog_.encoding(name).descriptor->card) & PES_PLACED) != 0;
    });
    return m.positions == 0 || read ? ""
                                    : "does not read the positions that the task gives its tokens; "
                                      "to it they stand at their places";
  }
  // Finds what collides. What else goes wrong is a failure of the cell, not of the suite.
  static void rehearse(Composition& encoding, const ModelShape& shape) {
    try {  // on the backend without threads, which a forked process may not start
      encoding.rehearse(*open_backend("reference", {}), shape);
    } catch (const Error& e) {
      if (e.code() != Exit::plugin) throw;
    }
  }

  struct Lengths {  // tokens
    int train = 0, longest = 0, reached = 0;
  };
  // What is asked of a task: its evaluations with their lengths, and how long sequences get.
  struct Asked {
    Lengths lengths;
    std::vector<std::pair<const EvalSettings*, std::vector<int>>> evals;
  };

  // False, and a problem of the suite, where the cell cannot be.
  bool fill(PlannedCell& c, const SuiteEncoding& e, const SuiteTask& t, const SuiteModel& m,
            Plan& plan) {
    const auto asked = asked_of(t, t.train_length > 0 ? t.train_length : m.train_length);
    if (!asked) return false;
    const Lengths& lengths = asked->lengths;
    const Json& task = task_facts(t, lengths.train, lengths.longest, lengths.reached);
    if (task.is_null()) return false;
    c.config.model = model_for(task, m.config);
    const bool crashed = task.contains("crashed");
    if (!crashed && !mix(c.config, t, lengths, c.config.model)) return false;
    const Json& encoding = encoding_facts(e, c.config.model, lengths.train, lengths.longest);
    if (encoding.is_null()) return false;
    note(plan, t.id, task.value("note", std::string()));
    note(plan, e.id, encoding.value("note", std::string()));
    c.reach = lengths.reached;
    c.config.max_length = lengths.longest;
    identify(c, e, task, encoding);
    if (!set_training(c, e, t, task, encoding, lengths.train, plan)) return false;
    if (!crashed && !add_evals(c, *asked, t, task, plan)) return false;
    c.id = cell_id(c.config);
    c.training = cell_id(training_of(c.config));
    c.series = series_id(c.config);
    return true;
  }

  void note(Plan& plan, const std::string& id, const std::string& sentence) {
    if (!sentence.empty() && noted_.insert(id + sentence).second)
      plan.notes.push_back(fmt::format("{}: {}", id, sentence));
  }

  std::optional<Asked> asked_of(const SuiteTask& t, int train_length) {
    Asked a;
    // of all encodings, so that those that train alike have the same trunk
    a.lengths = {train_length,
                 longest_trained(train_length) * (1 + t.train.lengths.shots) + t.train.lengths.fill,
                 0};
    for (const EvalSettings& s : suite_.evals) {
      if (s.task != "*" && s.task != t.id) continue;
      const char* key = "lengths";
      try {
        a.evals.emplace_back(&s, in_tokens(s.lengths, train_length));
        key = "axes";
        for (const int l : a.evals.back().second)
          a.lengths.longest =
              std::max(a.lengths.longest, l + fills(s, train_length).back() +
                                              shots(s).back() * std::min(l, train_length));
      } catch (const Error& error) {
        const std::string what = error.what();
        problems_.add(s.where.at(key), key == std::string_view("axes") ? what : "'lengths' " + what,
                      error.code());
        return {};
      }
      EvalConfig windows;
      windows.lengths = a.evals.back().second, windows.protocols = s.protocols,
      windows.train_length = train_length;
      a.lengths.reached = std::max(a.lengths.reached, reach(windows));
    }
    return a;
  }

  static ModelConfig model_for(const Json& task, ModelConfig model) {
    model.vocabulary = task.at("inputs");
    model.classes = task.at("outputs");
    model.positions = task.value("positions", 0);
    if (task.at("head").get<int>() != PES_LM) model.tied = false;  // classes are no tokens
    return model;
  }

  // What the cell is about, by what plugins said.
  void identify(PlannedCell& c, const SuiteEncoding& e, const Json& task, const Json& encoding) {
    CellConfig& config = c.config;
    c.expression = encoding.value("text", e.expression);
    c.encoding_text = encoding.value("written", e.expression);
    c.family = task.at("family");
    config.encoding = encoding.value("first", e.expression);
    config.evaluation = encoding.value("evaluation", std::string());
    config.encoding_identity =
        encoding.at("identity").get<std::map<std::string, std::map<std::string, std::string>>>();
    config.task = task.at("text");
    config.task_identity = identity_of_task(task);
    config.seed = c.seed;
    config.backend = device_.backend;
    config.precision = device_.precision;
  }

  bool set_training(PlannedCell& c, const SuiteEncoding& e, const SuiteTask& t, const Json& task,
                    const Json& encoding, int train_length, Plan& plan) {
    CellConfig& config = c.config;
    config.train = t.train.resolve(train_length, forward_flops(config.model, train_length));
    config.train.pass_tokens = usual_pass_tokens(device_.backend);
    if (const auto chosen = suite_.rates.find({c.encoding, c.task, c.model});
        chosen != suite_.rates.end())
      config.train.optimizer.lr = chosen->second;
    config.train.validation_examples =
        available(config.train.validation_examples, task, PES_SPLIT_VALIDATION, t.id, plan);
    try {
      config.switches =
          resolve_switches(parse_encoding(e.expression), t.train, config.train, config.model);
      for (std::size_t i = 0; i < config.switches.size(); ++i)
        config.switches[i].encoding = encoding.at("switches").at(i);
    } catch (const Error& error) {
      if (noted_.insert(e.where + error.what()).second)
        problems_.add(e.where, error.what(), error.code());
      return false;
    }
    c.encoding_parameters = encoding.at("parameters").get<double>();
    c.parameters = static_cast<double>(parameter_count(model_of(config))) + c.encoding_parameters;
    return true;
  }

  bool add_evals(PlannedCell& c, const Asked& asked, const SuiteTask& t, const Json& task,
                 Plan& plan) {
    for (const auto& [settings, lengths] : asked.evals) {
      const char* key = "axes";
      try {
        EvalConfig ec = eval_config(*settings, lengths, asked.lengths.train, task);
        ec.examples = available(ec.examples, task, ec.split, t.id, plan);
        ec.cut_to(suite_.limit);
        key = "lengths";
        if (ranges(*settings)) ec.lengths = existing(t, ec, c.config.max_length, c.reach, plan);
        check_documents(ec, task, t, c.reach);
        if (settings->probes.empty())
          for (const int l : ec.lengths) c.evals.push_back({l, c.reach, ec, {}});
        key = "axes";
        note_what_comes_before(ec, t, plan);
        if ((ec.most(fill_axis) > 0 || ec.most(shots_axis) > 0) && !settings->probes.empty())
          fail(Exit::usage,
               "probes look at examples with nothing before them: 'axes' of the same entry names "
               "'{}'",
               ec.most(fill_axis) > 0 ? fill_axis : shots_axis);
        key = "probes";
        add_probes(c, *settings, ec.lengths, {0, c.reach, ec, {}});
      } catch (const Error& error) {
        problems_.add(settings->where.at(key), error.what(), error.code());
        return false;
      }
    }
    // two [[eval]] entries that ask the same are one
    std::set<std::string> parts;
    std::erase_if(c.evals, [&](const CellEval& x) { return !parts.insert(part_id(x)).second; });
    return true;
  }
  void note_what_comes_before(const EvalConfig& ec, const SuiteTask& t, Plan& plan) {
    if (ec.most(fill_axis) > 0 && t.train.lengths.fill == 0)
      note(plan, t.id,
           "evaluation puts FILL before examples, which training never shows; 'train.fill = 4' "
           "shows a little of it");
    if (ec.most(shots_axis) > 0 && t.train.lengths.shots == 0)
      note(plan, t.id,
           "evaluation puts solved examples before examples, which training never does; "
           "'train.shots = 3' does");
  }

  // What training reads beside the cell's task at its one length: which tasks, the alphabet of all
  // of them, and whether each has examples of every length.
  bool mix(CellConfig& config, const SuiteTask& t, const Lengths& lengths, ModelConfig& model) {
    const TrainSettings& s = t.train;
    if (s.mix.empty() && !s.lengths.varies()) return true;
    const std::string& where = s.lengths.kind != LengthKind::fixed ? s.lengths_where
                               : s.lengths.fill > 0                ? s.fill_where
                               : s.lengths.shots > 0               ? s.shots_where
                                                                   : s.mix[0].where;
    if (s.lengths.kind != LengthKind::fixed && s.lengths.least > lengths.train) {
      problems_.add(
          where, fmt::format("lengths of training begin at {} tokens, above the training length {}",
                             s.lengths.least, lengths.train));
      return false;
    }
    // of all encodings, so that those that train alike have the same trunk
    const int longest = longest_trained(lengths.train);
    config.train.length = lengths.train;
    for (const SuiteMix& m : s.mix) {
      SuiteTask other;
      other.expression = m.expression, other.where = m.where;
      other.id = "mixed " + to_text(m.expression);
      const Json& facts = task_facts(other, lengths.train, longest, 0);
      if (facts.is_null()) return false;
      config.mix.push_back(
          {facts.at("text"), identity_of_task(facts), m.share, m.same_alphabet, longest});
    }
    const Json& all = once(
        fmt::format("data {} {} {} {}", t.id, lengths.train, lengths.longest, lengths.reached),
        where, {{"vocabulary", model.vocabulary}}, [&](Json& facts) {
          facts = ask([&]() -> Json {
            const Task own(catalog_, t.expression, lengths.train, lengths.longest, lengths.reached);
            const std::vector<Task> mixed = make_mixed_tasks(catalog_, config);
            const Mixture mixture = make_mixture(own, mixed, config.mix);
            for (std::size_t part = 0; part < mixture.parts(); ++part) {
              const Task& task = mixture.task(part);
              const auto refuse = [&](int wanted, const char* what, const std::string& why) {
                if (wanted > 0 && !why.empty())
                  fail(Exit::usage, "no {} can stand before examples of task '{}': it {}", what,
                       task.text(), why);
              };
              refuse(s.lengths.fill, "FILL", task.refuses_fill(lengths.train));
              refuse(s.lengths.shots, "solved ones", task.refuses_shots(lengths.train));
            }
            try_lengths(mixture, s.lengths, lengths.train);
            for (const int later : switch_lengths_) try_lengths(mixture, s.lengths, later);
            return {{"vocabulary", mixture.vocabulary()}};
          });
        });
    if (all.is_null()) return false;
    if (!s.mix.empty()) model.vocabulary = model.classes = all.at("vocabulary");
    return true;
  }
  // Makes examples of the shortest lengths, which are those that tasks lack, and of some others.
  static void try_lengths(const Mixture& mixture, const LengthPlan& plan, int longest) {
    constexpr std::size_t shortest = 64, others = 64;
    const std::vector<int> all = plan.all(longest);
    for (std::size_t i = 0; i < all.size();
         i += i < shortest ? 1 : std::max<std::size_t>(1, all.size() / others))
      for (std::size_t part = 0; part < mixture.parts(); ++part)
        mixture.batch(part, PES_SPLIT_TRAIN, 0, 0, 1, all[i]);
  }
  int longest_trained(int first) const {
    return switch_lengths_.empty() ? first : std::max(first, *switch_lengths_.rbegin());
  }
  static std::map<std::string, std::string> identity_of_task(const Json& facts) {
    auto identity = facts.at("identity").get<std::map<std::string, std::string>>();
    if (const std::string digest = facts.at("digest"); !digest.empty()) identity["digest"] = digest;
    return identity;
  }

  static void add_probes(PlannedCell& c, const EvalSettings& settings,
                         const std::vector<int>& lengths, CellEval e) {
    const int longest = c.config.max_length;
    for (ProbeConfig p : settings.probes) {
      const std::size_t before = c.evals.size();
      for (const int l : lengths) {
        check(p, c.config.model, l);
        if (p.kind == ProbeKind::offset) {  // tables reach to the suite's longest length
          p.offsets = in_tokens(settings.offsets, e.config.train_length);
          std::erase_if(p.offsets, [&](int offset) { return l + offset > longest; });
          if (p.offsets.empty()) continue;
        }
        e.length = l, e.probe = p;
        c.evals.push_back(e);
      }
      if (c.evals.size() == before)
        fail(Exit::usage,
             "probe 'offset': no length moved by {} ends within {} tokens, the longest of the "
             "suite; choose shorter 'lengths' or smaller 'offsets'",
             join(settings.offsets, ", "), longest);
    }
  }

  // As many of `wanted` examples as the split has, with a note where that is fewer.
  int available(int wanted, const Json& facts, pes_split split, const std::string& id, Plan& plan) {
    const std::int64_t documents = facts.at("documents").at(static_cast<std::size_t>(split));
    if (documents == 0 || documents >= wanted) return wanted;
    const std::string note =
        fmt::format("{}: the {} text has {} documents, fewer than the {} asked for; all are used",
                    id, split == PES_SPLIT_TEST ? "test" : "validation", documents, wanted);
    if (noted_.insert(note).second) plan.notes.push_back(note);
    return static_cast<int>(documents);
  }

  static bool ranges(const EvalSettings& s) {
    return std::any_of(s.lengths.begin(), s.lengths.end(),
                       [](const auto& l) { return is_range(l); });
  }
  // Those of `lengths` at which the task has an example: who asks for 1..20 does not say that it
  // has one at each.
  std::vector<int> existing(const SuiteTask& t, const EvalConfig& ec, int max_length, int reached,
                            Plan& plan) {
    const std::vector<int>& lengths = ec.lengths;
    const std::string key =
        fmt::format("lengths {} {} {} {}", t.id, max_length, fmt::join(lengths, ","),
                    canonical(to_json(CellEval{0, reached, ec, {}})));
    const Json& answer = once(key, t.where, {{"lengths", lengths}}, [&](Json& facts) {
      facts = ask([&]() -> Json {
        const Task task(catalog_, t.expression, ec.train_length, max_length, reached);
        return {{"lengths", lengths_with_examples(task, ec)}};
      });
    });
    if (answer.is_null()) return lengths;  // refused, and said so
    const auto there = answer.at("lengths").get<std::vector<int>>();
    if (there.empty())
      fail(Exit::usage, "'lengths' holds none of which task '{}' has an example", t.id);
    if (there.size() < lengths.size()) {
      std::vector<int> missing;
      std::set_difference(lengths.begin(), lengths.end(), there.begin(), there.end(),
                          std::back_inserter(missing));
      const std::string note = fmt::format(
          "{}: there are no examples of {} tokens; ranges of lengths leave them out", t.id,
          missing.size() < 7 ? fmt::format("{}", fmt::join(missing, ", "))
                             : fmt::format("{} of the lengths {} to {}", missing.size(),
                                           missing.front(), missing.back()));
      if (noted_.insert(note).second) plan.notes.push_back(note);
    }
    return there;
  }

  void check_documents(const EvalConfig& c, const Json& facts, const SuiteTask& t, int reached) {
    const std::string key = fmt::format("check {} {}", t.id,
                                        canonical(to_json(CellEval{c.lengths.back(), reached, c})));
    if (!checked_.insert(key).second || facts.at("document").get<std::int64_t>() == 0) return;
    ask([&]() -> Json {
      check(c, Task(catalog_, t.expression, c.train_length,
                    *std::max_element(c.lengths.begin(), c.lengths.end()), reached));
      return true;
    });
  }

  const Suite& suite_;
  Catalog catalog_;
  Problems problems_;
  std::map<std::string, Json> answers_;
  Choice device_;  // what the suite's backend and precision stand for on this machine
  std::set<std::string> noted_, checked_;
  std::set<int> switch_lengths_;  // tokens, of all encodings
};

}  // namespace

Plan make_plan(const Suite& suite, const std::vector<std::string>& plugin_path, const Store& store,
               Problems problems) {
  return Planner(suite, plugin_path, std::move(problems)).plan(store);
}

}  // namespace pesuite
