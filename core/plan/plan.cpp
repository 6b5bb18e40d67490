#include "plan/plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <unordered_map>

#include "backend/choice.h"
#include "base/text.h"
#include "cell/determinism.h"
#include "cell/outside.h"
#include "encoding/swap.h"
#include "plan/elsewhere.h"
#include "plan/evaluations.h"
#include "plan/facts.h"
#include "plan/selection.h"
#include "plan/training_data.h"
#include "plan/trainings.h"

namespace pesuite {

namespace {

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

  // Beside tuned encodings others are at a disadvantage.
  void note_untuned(Plan& plan) const {
    for (const SuiteTask& t : suite_.tasks)
      for (const SuiteModel& m : suite_.models) {
        std::vector<std::string> untuned;
        for (const SuiteEncoding& e : suite_.encodings)
          if (suite_.tuned_for(e.id, t.id, m.id) == nullptr) untuned.push_back(e.id);
        if (!untuned.empty() && untuned.size() < suite_.encodings.size())
          plan.notes.push_back(fmt::format(
              "{}: {} not tuned, and the other encodings are; for a fair comparison tune all", t.id,
              join(untuned, ", ") + (untuned.size() == 1 ? " is" : " are")));
      }
  }

  Plan plan(const Store& store) {
    Plan plan;
    plan.problems = catalog_.problems;
    if (!problems_.empty()) facts_.check_names(suite_);
    problems_.throw_if_any();
    check_filters(suite_);
    // Refused now, not by every cell. Strict instructions know no bf16. Weights that are read have
    // half the size in it.
    const bool fp32 = suite_.or_fp32 && suite_.determinism == "strict";
    device_ = choose_backend(suite_.backend, fp32 ? Precision::fp32 : suite_.precision,
                             !suite_.or_fp32        ? OrFp32::no
                             : suite_.has_weights() ? OrFp32::where_refused
                                                    : OrFp32::where_faster);
    plan.notes.insert(plan.notes.end(), device_.notes.begin(), device_.notes.end());
    if (const std::string why =
            why_not_determined(suite_.determinism, {device_.backend, suite_.threads, 1});
        !why.empty())
      fail(Exit::usage, "'defaults.determinism' is '{}', but {}", suite_.determinism, why);
    if (suite_.limit > 0)
      plan.notes.push_back(fmt::format(
          "each evaluation reads at most {} examples (limit): for a quick look, not for results",
          suite_.limit));
    note_untuned(plan);
    for (const SuiteTask& t : suite_.tasks)
      if (t.train.early_stop.patience > 0)
        plan.notes.push_back(fmt::format(
            "{}: early_stop lets encodings train for different numbers of steps", t.id));
    const std::vector<SuiteModel> models = described_models(suite_, problems_);
    problems_.throw_if_any();
    const std::size_t most =
        suite_.tasks.size() * models.size() * suite_.encodings.size() * suite_.seeds.size();
    plan.cells.reserve(suite_.only.empty() ? most : 0);
    std::unordered_map<std::string, Ids> planned;  // by the cell's id
    for (const SuiteTask& t : suite_.tasks)
      for (const SuiteModel& m : models)
        for (const SuiteEncoding& e : suite_.encodings) add_seeds(plan, planned, e, t, m);
    problems_.throw_if_any();
    if (plan.cells.empty()) fail(Exit::usage, "no cell is left: the filters exclude all of them");
    const CellConfig& one = plan.cells[0].config;
    const Rate rate = measured_rate(one.backend, one.precision);
    plan.rate = rate.flops;
    share_trainings(plan);
    const auto cells = static_cast<std::ptrdiff_t>(plan.cells.size());
    std::vector<PlannedCell> all = std::move(plan.cells);
    std::move(plan.trunks.begin(), plan.trunks.end(), std::back_inserter(all));
    refresh_all(all, store);
    for (PlannedCell& c : all) estimate_cost(c, rate, suite_.recompute);
    const auto trunks = std::make_move_iterator(all.begin() + cells);
    plan.cells.assign(std::make_move_iterator(all.begin()), trunks);
    plan.trunks.assign(trunks, std::make_move_iterator(all.end()));
    return plan;
  }

 private:
  struct Ids {  // in the suite
    std::string encoding, task, model;
  };

  // What a folder's weights are read with. What is wrong with it is said, with its place, where
  // the cell is filled.
  std::string in_place(const SuiteEncoding& e, const SuiteModel& m) {
    if (e.expression == own_encoding) return m.encoding;
    try {
      if (no_layer_takes(e.expression, m.encoding, m.config.window_every)) {
        const std::string what =
            fmt::format("'{}' in model '{}': {}", e.expression, m.id, no_layer_changes);
        if (noted_.insert(e.where + what).second) problems_.add(e.where, what, Exit::usage);
      }
      return swapped_in(catalog_, e.expression, m.encoding, m.config.window_every);
    } catch (const Error&) {
      return e.expression;
    }
  }

  // The cells of one encoding, task and model, which differ in the seed alone.
  void add_seeds(Plan& plan, std::unordered_map<std::string, Ids>& planned, const SuiteEncoding& e,
                 const SuiteTask& t, const SuiteModel& m) {
    SuiteEncoding used = e;
    if (!m.weights.empty()) used.expression = in_place(e, m);
    if (const Tuned* tuned = suite_.tuned_for(e.id, trained_task(t).id, m.id); tuned != nullptr)
      used.expression = tuned->expression;
    PlannedCell first;
    std::optional<IdsBySeed> ids, trainings;
    for (const std::uint64_t seed : seeds_of(m, plan)) {
      PlannedCell c = first;
      c.encoding = e.id, c.task = t.id, c.model = m.id, c.seed = seed;
      if (!wanted(suite_, c.coordinates())) continue;
      if (!ids) {
        if (!fill(c, used, t, m, plan)) return;
        first = c;
        ids.emplace(c.config), trainings.emplace(training_of(c.config));
      } else {
        c.config.seed = seed;
        c.id = ids->id(seed), c.training = trainings->id(seed);
      }
      const auto [twin, is_new] = planned.emplace(c.id, Ids{e.id, t.id, m.id});
      if (is_new)
        plan.cells.push_back(std::move(c));
      else
        refuse_twin(twin->second, e, t, m);
    }
  }

  // A trained model has no other starts: further seeds would give the same numbers again, which no
  // test could tell from certainty.
  std::vector<std::uint64_t> seeds_of(const SuiteModel& m, Plan& plan) {
    if (m.weights.empty() || suite_.seeds.size() < 2) return suite_.seeds;
    note(plan, m.id, "has been trained, so that its cells have the first seed alone");
    return {suite_.seeds.front()};
  }

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

  // What is asked of a task: its evaluations with their lengths, and how long sequences get.
  struct Asked {
    Lengths lengths;
    std::vector<std::pair<const EvalSettings*, std::vector<int>>> evals;
  };

  // False, and a problem of the suite, where the cell cannot be.
  bool fill(PlannedCell& c, const SuiteEncoding& e, const SuiteTask& asked_task,
            const SuiteModel& m, Plan& plan) {
    const SuiteTask& t = trained_task(asked_task);
    const auto asked = asked_of(asked_task, t.train_length > 0 ? t.train_length : m.train_length);
    if (!asked) return false;
    const Lengths& lengths = asked->lengths;
    const TaskFacts* task = facts_.task(t, lengths);
    const TaskFacts* asked_facts = facts_.task(asked_task, lengths);
    if (task == nullptr || asked_facts == nullptr) return false;
    if (!asks_in_its_alphabet(asked_task, *asked_facts, t, *task)) return false;
    if (!has_its_score(asked_task, *asked_facts)) return false;
    c.config.model = model_for(*task, m.config);
    if (!m.weights.empty() && !take_weights(c.config, m, misfit(m, e, t, *task))) return false;
    if (!task->crashed && !mix(c.config, t, lengths, c.config.model)) return false;
    const EncodingFacts* encoding = facts_.encoding(e, c.config.model, lengths);
    if (encoding == nullptr) return false;
    note(plan, t.id, task->note);
    note(plan, e.id, encoding->note);
    c.reach = lengths.reached;
    c.longest = lengths.longest;
    identify(c, *task, *encoding);
    if (&t != &asked_task) {
      c.config.asked = asked_facts->text, c.config.asked_identity = asked_facts->identity;
      c.family = asked_facts->family;
      note(plan, asked_task.id, asked_facts->note);
    }
    if (!set_training(c, e, t, *task, *encoding, lengths.train, plan)) return false;
    set_max_lengths(c.config, *task, *encoding, lengths);
    if (t.branch && !branch(c.config, t)) return false;
    if (!asked_facts->crashed && !add_evals(c, *asked, asked_task, *asked_facts, plan))
      return false;
    c.id = cell_id(c.config);
    c.training = cell_id(training_of(c.config));
    c.series = series_id(c.config);
    return true;
  }

  // The task whose models are asked this one.
  const SuiteTask& trained_task(const SuiteTask& t) const {
    const auto& all = suite_.tasks;
    const auto it = std::find_if(all.begin(), all.end(),
                                 [&](const SuiteTask& other) { return other.id == t.trained_on; });
    return it == all.end() ? t : *it;
  }
  bool asks_in_its_alphabet(const SuiteTask& asked, const TaskFacts& facts, const SuiteTask& t,
                            const TaskFacts& trained) {
    if (&asked == &t || facts.crashed || trained.crashed) return true;
    if (facts.inputs == trained.inputs && facts.outputs == trained.outputs &&
        facts.head == trained.head && facts.positions == trained.positions)
      return true;
    const std::string what = fmt::format(
        "task '{}' has {} tokens and {} classes, and is asked of models that are trained "
        "on '{}', which has {} and {}",
        asked.id, facts.inputs, facts.outputs, t.id, trained.inputs, trained.outputs);
    if (noted_.insert(asked.where + what).second) problems_.add(asked.where, what, Exit::usage);
    return false;
  }

  bool has_its_score(const SuiteTask& t, const TaskFacts& facts) {
    if (!t.exact_match || facts.document == 0) return true;
    const std::string what = fmt::format(
        "task '{}' is a corpus, which is compared by its loss; score = \"em\" is for problems",
        t.id);
    if (noted_.insert(t.where + what).second) problems_.add(t.where, what, Exit::usage);
    return false;
  }

  void note(Plan& plan, const std::string& id, const std::string& sentence) {
    if (!sentence.empty() && noted_.insert(id + sentence).second)
      plan.notes.push_back(fmt::format("{}: {}", id, sentence));
  }

  std::optional<Asked> asked_of(const SuiteTask& t, int train_length) {
    Asked a;
    // of all encodings, so that those that train alike have the same trunk
    const int trained =
        longest_trained(train_length) * (1 + t.train.lengths.shots) + t.train.lengths.fill;
    a.lengths = {train_length, trained, trained, 0};
    for (const EvalSettings& s : suite_.evals) {
      const auto is_for = [&](const SuiteTask& one) {
        return s.task == "*" || s.task == one.id || s.task == one.group;
      };
      // a model is made for the longest of all that it is asked
      const std::string& model = trained_task(t).id;
      const bool mine = is_for(t);
      if (!mine &&
          std::none_of(suite_.tasks.begin(), suite_.tasks.end(), [&](const SuiteTask& one) {
            return trained_task(one).id == model && is_for(one);
          }))
        continue;
      const char* key = "lengths";
      try {
        const std::vector<int> lengths = in_tokens(s.lengths, train_length);
        if (mine) a.evals.emplace_back(&s, lengths);
        key = "axes";
        for (const int l : lengths)
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
      windows.lengths = in_tokens(s.lengths, train_length), windows.protocols = s.protocols,
      windows.train_length = train_length;
      a.lengths.reached = std::max(a.lengths.reached, reach(windows));
    }
    return a;
  }

  static ModelConfig model_for(const TaskFacts& task, ModelConfig model) {
    model.vocabulary = task.inputs;
    model.classes = task.outputs;
    model.positions = task.positions;
    if (task.head != PES_LM) {
      model.tied = false;  // classes are no tokens
      model.padded_vocabulary = 0;
    } else if (model.padded_vocabulary > task.inputs) {
      model.vocabulary = model.classes = model.padded_vocabulary;
    }
    return model;
  }

  // False, and a problem of the suite, where a model that was trained elsewhere cannot be asked so.
  bool take_weights(CellConfig& config, const SuiteModel& m, const Misfit& wrong) {
    config.weights = m.weights;
    config.weights_identity = identity_of_weights(m.weights);
    if (!wrong.why.empty() && noted_.insert(wrong.where + wrong.why).second)
      problems_.add(wrong.where, wrong.why, Exit::usage);
    return wrong.why.empty();
  }

  // What the cell is about, by what plugins said.
  void identify(PlannedCell& c, const TaskFacts& task, const EncodingFacts& encoding) {
    CellConfig& config = c.config;
    c.expression = encoding.text;
    c.encoding_text = encoding.written;
    c.family = task.family;
    config.encoding = encoding.first;
    config.evaluation = encoding.evaluation;
    config.encoding_identity = encoding.identity;
    config.task = task.text;
    config.task_identity = task.identity;
    config.seed = c.seed;
    config.backend = device_.backend;
    config.precision = device_.precision;
  }

  bool set_training(PlannedCell& c, const SuiteEncoding& e, const SuiteTask& t,
                    const TaskFacts& task, const EncodingFacts& encoding, int train_length,
                    Plan& plan) {
    CellConfig& config = c.config;
    c.encoding_parameters = encoding.parameters;
    if (!config.weights.empty()) {  // the same whatever the suite trains others with
      config.train = TrainConfig();
      config.train.length = train_length, config.train.steps = 1;
      c.parameters = static_cast<double>(parameter_count(config.model)) + c.encoding_parameters;
      return true;
    }
    config.train = t.train.resolve(train_length, forward_flops(config.model, train_length),
                                   static_cast<double>(parameter_count(config.model)));
    config.train.pass_tokens = usual_pass_tokens(device_.backend);
    if (const Tuned* tuned = suite_.tuned_for(c.encoding, t.id, c.model); tuned != nullptr)
      config.train.optimizer.lr = tuned->rate;
    config.train.validation_examples =
        available(config.train.validation_examples, task, PES_SPLIT_VALIDATION, t.id, plan);
    try {
      config.switches =
          resolve_switches(parse_encoding(e.expression), t.train, config.train, config.model);
      for (std::size_t i = 0; i < config.switches.size(); ++i)
        config.switches[i].encoding = encoding.switches.at(i);
    } catch (const Error& error) {
      if (noted_.insert(e.where + error.what()).second)
        problems_.add(e.where, error.what(), error.code());
      return false;
    }
    c.parameters = static_cast<double>(parameter_count(model_of(config))) + c.encoding_parameters;
    return true;
  }

  bool branch(CellConfig& config, const SuiteTask& t) {
    try {
      branch_for_budget(config, t);
      return true;
    } catch (const Error& error) {
      if (noted_.insert(t.where + error.what()).second)
        problems_.add(t.where, error.what(), error.code());
      return false;
    }
  }

  // That of training is enough for whatever is the same for both.
  static void set_max_lengths(CellConfig& config, const TaskFacts& task,
                              const EncodingFacts& encoding, const Lengths& lengths) {
    const auto max_length_of = [&](std::size_t sum) {
      const bool hangs = task.hangs || sum >= encoding.hangs.size() || encoding.hangs[sum];
      return hangs ? lengths.longest : lengths.trained;
    };
    config.max_length = max_length_of(0);
    for (std::size_t i = 0; i < config.switches.size(); ++i)
      config.switches[i].max_length = max_length_of(i + 1);
    if (!config.evaluation.empty())
      config.evaluation_max_length = max_length_of(config.switches.size() + 1);
  }

  bool add_evals(PlannedCell& c, const Asked& asked, const SuiteTask& t, const TaskFacts& task,
                 Plan& plan) {
    for (const auto& [settings, lengths] : asked.evals) {
      const char* key = "axes";
      try {
        EvalConfig ec = eval_config(*settings, lengths, asked.lengths.train, task);
        ec.examples = available(ec.examples, task, ec.split, t.id, plan);
        ec.cut_to(suite_.limit);
        key = "lengths";
        if (ranges(*settings)) ec.lengths = existing(t, ec, c.longest, c.reach, plan);
        check_documents(ec, task, t, c.reach);
        if (!ranges(*settings)) check_problems(ec, task, t, c.longest);
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
        check_answers(*settings, task);
        add_probes(c.evals, *settings, ec.lengths, c.config.model, c.longest, {0, c.reach, ec, {}});
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
      const TaskFacts* facts = facts_.task(other, {lengths.train, longest, longest, 0});
      if (facts == nullptr) return false;
      config.mix.push_back({facts->text, facts->identity, m.share, m.same_alphabet, longest});
    }
    const std::optional<int> vocabulary = facts_.number(
        fmt::format("data {} {} {} {}", t.id, lengths.train, lengths.longest, lengths.reached),
        where, model.vocabulary,
        [&] { return alphabet_of(catalog_, config, t, lengths, switch_lengths_); });
    if (!vocabulary) return false;
    if (!s.mix.empty())
      model.vocabulary = model.classes = std::max(*vocabulary, model.padded_vocabulary);
    return true;
  }
  int longest_trained(int first) const {
    return switch_lengths_.empty() ? first : std::max(first, *switch_lengths_.rbegin());
  }
  // As many of `wanted` examples as the split has, with a note where that is fewer.
  int available(int wanted, const TaskFacts& facts, pes_split split, const std::string& id,
                Plan& plan) {
    const std::int64_t documents = facts.documents.at(static_cast<std::size_t>(split));
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
        fmt::format("{} {}", t.id, canonical(to_json(CellEval{0, reached, ec, {}})));
    const auto ask = [&] {
      return lengths_with_examples(
          Task(catalog_, t.expression, ec.train_length, max_length, reached), ec);
    };
    auto known = existing_.find(key);
    if (known == existing_.end())
      known = existing_.emplace(key, facts_.numbers(ask, lengths)).first;
    const std::vector<int>& there = known->second;
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

  void check_documents(const EvalConfig& c, const TaskFacts& facts, const SuiteTask& t,
                       int reached) {
    const std::string key = fmt::format("check {} {}", t.id,
                                        canonical(to_json(CellEval{c.lengths.back(), reached, c})));
    if (!checked_.insert(key).second || facts.document == 0) return;
    facts_.try_out([&] {
      check(c, Task(catalog_, t.expression, c.train_length,
                    *std::max_element(c.lengths.begin(), c.lengths.end()), reached));
    });
  }

  // That problems have examples of every length that is named: training is over when it shows.
  void check_problems(const EvalConfig& c, const TaskFacts& facts, const SuiteTask& t,
                      int longest) {
    const std::string key =
        fmt::format("examples {} {} {} {}", t.id, longest, fmt::join(c.lengths, ","),
                    canonical(to_json(CellEval{0, 0, c, {}})));
    if (!checked_.insert(key).second || facts.document > 0) return;
    facts_.try_out(
        [&] { check_examples(Task(catalog_, t.expression, c.train_length, longest), c); });
  }

  const Suite& suite_;
  Catalog catalog_;
  Problems problems_;
  Facts facts_{catalog_, problems_, suite_.time_limit.value_or(0), suite_.memory_limit.value_or(0)};
  Choice device_;  // what the suite's backend and precision stand for on this machine
  std::set<std::string> noted_, checked_;
  std::map<std::string, std::vector<int>> existing_;  // lengths, by task and evaluation
  std::set<int> switch_lengths_;                      // tokens, of all encodings
};

}  // namespace

Plan make_plan(const Suite& suite, const std::vector<std::string>& plugin_path, const Store& store,
               Problems problems) {
  return Planner(suite, plugin_path, std::move(problems)).plan(store);
}

}  // namespace pesuite
