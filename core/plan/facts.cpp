#include "plan/facts.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "base/isolate.h"
#include "base/machine.h"
#include "base/text.h"
#include "plan/max_length.h"
#include "plan/trainings.h"
#include "plugin/card.h"

namespace pesuite {

namespace {

// A task may have to read a corpus.
constexpr double task_seconds = 120, encoding_seconds = 30, impatient_seconds = 5;

struct Crashed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a task answers in the child, and what is made of it here.
Json answer_of(const Task& task, int train_length) {
  const pes_task_created& i = task.info();
  Json axes = Json::object();
  for (const Axis& a : task.axes()) axes[a.name] = {{"values", a.values}, {"labels", a.labels}};
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
}
void take(const Json& answer, TaskFacts& f) {
  f.inputs = answer.at("inputs"), f.outputs = answer.at("outputs");
  f.positions = answer.at("positions"), f.head = answer.at("head");
  f.document = answer.at("document");
  f.documents = answer.at("documents").get<std::array<std::int64_t, 3>>();
  if (const std::string digest = answer.at("digest"); !digest.empty()) {
    // A task that says what it has read says it better than the names of files do.
    std::erase_if(f.identity, [](const auto& i) { return i.first.starts_with("file "); });
    f.identity["digest"] = digest;
  }
  f.note = answer.at("note");
  for (const auto& [name, a] : answer.at("axes").items())
    f.axes[name] = {a.at("values").get<std::vector<double>>(),
                    a.at("labels").get<std::vector<std::string>>()};
  f.refuses_fill = answer.at("refuses_fill"), f.refuses_shots = answer.at("refuses_shots");
  f.hangs = answer.at("hangs");
}

// Of all that an expression names.
std::string whom(const std::vector<const Sum*>& sums) {
  std::set<std::string> names;
  for (const Sum* s : sums)
    for (const std::string& name : names_of(*s)) names.insert(name);
  return join(std::vector<std::string>(names.begin(), names.end()), " + ");
}

std::string unused_layers(const Sum& s, int layers) {
  for (const Sum::Factor& f : s.factors)
    if (f.pattern.size() > static_cast<std::size_t>(layers))
      return fmt::format("the pattern names {} layers, the model has {}: the rest never acts",
                         f.pattern.size(), layers);
  return "";
}

// Finds what collides. What else goes wrong is a failure of the cell, not of the suite.
void rehearse(Composition& encoding, const ModelShape& shape, QkNorm norm) {
  bool widens = false;
  try {  // on the backend without threads, which a forked process may not start
    widens = encoding.rehearse(*open_backend("reference", {}), shape, norm == QkNorm::after);
  } catch (const Error& e) {
    if (e.code() != Exit::plugin) throw;
  }
  if (widens && norm == QkNorm::after)
    fail(Exit::usage,
         "encoding '{}' widens the heads of q and k, which 'qk_norm = \"after\"' cannot normalize; "
         "set 'qk_norm' of the model to \"before\" or \"off\"",
         encoding.text());
}

}  // namespace

template <class T>
const T* Facts::once(std::map<std::string, std::optional<T>>& known, const std::string& key,
                     const std::string& where, const std::function<void(T&)>& question) {
  const auto [at, is_new] = known.try_emplace(key);
  std::optional<T>& facts = at->second;
  if (is_new) {
    facts.emplace();
    try {
      question(*facts);
    } catch (const Crashed& e) {
      facts->crashed = true;
      facts->note = fmt::format("its plugin {} when it was created; its cells will fail", e.what());
    } catch (const Unloadable& e) {
      facts->crashed = true;
      facts->note = fmt::format("{}; its cells will fail", e.what());
    } catch (const Error& e) {
      problems_.add(where, e.what(), e.code());
      facts.reset();
    }
  }
  return facts ? &*facts : nullptr;
}

Json Facts::ask(const std::string& whom, double seconds,
                const std::function<Json()>& question) const {
  constexpr double most = 0.75;  // of the machine's memory
  const auto text = [&] {
    limit_memory(memory_ > 0 ? memory_ : most * machine_memory());
    return question().dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  const double patience = waited_in_vain_.contains(whom) ? impatient_seconds : seconds;
  constexpr double least = 2;
  const Isolated r =
      run_isolated(text, limit_ > 0 ? std::min(std::max(limit_, least), patience) : patience);
  switch (r.end) {
    case Isolated::End::returned: return Json::parse(r.text);
    case Isolated::End::threw: throw Error(static_cast<Exit>(r.code), r.text);
    case Isolated::End::timed_out: waited_in_vain_.insert(whom); [[fallthrough]];
    default: throw Crashed(r.text);
  }
}

std::string Facts::text_of(const Expression& x) const {
  return full_text(*catalog_.task(x.name).descriptor->card, x.options, "task '" + x.name + "'");
}

const TaskFacts* Facts::task(const SuiteTask& t, const Lengths& l) {
  const std::string key = fmt::format("{} {} {} {}", t.id, l.train, l.longest, l.reached);
  return once<TaskFacts>(tasks_, key, t.where, [&](TaskFacts& f) {
    f.text = t.id;  // until it is read
    const auto found = catalog_.task(t.expression.name);
    const char* family = found.descriptor->card->taxonomy;
    f.text = text_of(t.expression);
    f.identity = identity_of_task(catalog_, t.expression, true);
    f.family = family != nullptr ? family : "";
    take(ask(t.expression.name, task_seconds,
             [&] {
               Json answer =
                   answer_of(Task(catalog_, t.expression, l.train, l.longest, l.reached), l.train);
               answer["hangs"] = hangs_on_max_length(catalog_, t.expression, l.train, l.longest,
                                                     l.trained, l.reached);
               return answer;
             }),
         f);
  });
}

const EncodingFacts* Facts::encoding(const SuiteEncoding& e, const ModelConfig& m,
                                     const Lengths& l) {
  const std::string key = fmt::format("{} {} {} {} {} {} {} {}", e.expression, m.layers, m.heads,
                                      m.groups(), m.width, m.positions, l.train, l.longest);
  return once<EncodingFacts>(encodings_, key, e.where, [&](EncodingFacts& f) {
    f.text = f.written = f.first = e.expression;  // until it is read
    const EncodingExpression x = parse_encoding(e.expression);
    // as far as it is written, until a library that may not even load has told the rest
    f.first = to_text(x.first), f.evaluation = to_text(x.evaluation);
    for (const Switch& s : x.switches) f.switches.push_back(to_text(s.to));
    const TermText full = full_terms(catalog_, e.expression);
    f.text = to_text(x, full), f.written = to_text(x);
    f.first = to_text(x.first, full), f.evaluation = to_text(x.evaluation, full);
    std::vector<const Sum*> sums = {&x.first};
    for (std::size_t i = 0; i < x.switches.size(); ++i) {
      f.switches[i] = to_text(x.switches[i].to, full);
      sums.push_back(&x.switches[i].to);
    }
    if (!x.evaluation.empty()) sums.push_back(&x.evaluation);
    for (const Sum* sum : sums) {
      for (const std::string& name : names_of(*sum))
        f.identity[name].merge(identity_of_encoding(catalog_, *sum, name));
      for (const std::string& note :
           {unused_layers(*sum, m.layers), unread_positions(*sum, m), no_fast_pair(*sum, l.train)})
        if (!note.empty()) f.note = note;
    }
    const ModelShape shape = shape_of(m, l.train, l.longest);
    f.parameters = ask(whom(sums), encoding_seconds, [&]() -> Json {
                     return parameters_of(x, sums, shape, m.qk_norm);
                   }).get<double>();
    f.hangs = hang_of(sums, shape, l.trained);
  });
}

// Creates all encodings of an expression.
double Facts::parameters_of(const EncodingExpression& x, const std::vector<const Sum*>& sums,
                            const ModelShape& shape, QkNorm norm) const {
  std::vector<Encoding::ParameterSpec> trained;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Sum* sum = sums[i];
    if (i > 0 && i <= x.switches.size() && x.switches[i - 1].qk_norm)
      norm = qk_norm_named(*x.switches[i - 1].qk_norm);
    Composition encoding(catalog_, *sum, shape);
    rehearse(encoding, shape, norm);
    if (sum != &x.evaluation) {
      trained = encoding.parameters();
      continue;
    }
    for (const Encoding::ParameterSpec& p : encoding.parameters())
      if (std::none_of(trained.begin(), trained.end(),
                       [&](const auto& t) { return t.name == p.name && t.shape == p.shape; }))
        fail(Exit::usage,
             "encoding '{}': what '=>' swaps in learns '{}' {}, which the training before it does "
             "not have; let it train, as in {} -> {} @ 90%",
             x.source, p.name, p.shape.text(), to_text(*sums[sums.size() - 2]), to_text(*sum));
  }
  double n = 0;
  for (const auto& p : trained) n += static_cast<double>(p.shape.count());
  return n;
}

// Whether each hangs on the longest length. Whose step crashes fails its cells, not the plan.
std::vector<bool> Facts::hang_of(const std::vector<const Sum*>& sums, const ModelShape& shape,
                                 int trained) const {
  try {
    return ask(whom(sums), encoding_seconds,
               [&] {
                 Json out = Json::array();
                 for (const Sum* sum : sums)
                   out.push_back(hangs_on_max_length(catalog_, *sum, shape, trained));
                 return out;
               })
        .get<std::vector<bool>>();
  } catch (const Crashed&) {
    return {};  // which says yes of all
  }
}

// An encoding that tells slow pairs from fast ones by the turns they make in training, as its
// options "beta_fast" and "original" say, where no pair turns so often (Peng et al. 2023, 3.2).
std::string Facts::no_fast_pair(const Sum& s, int train_length) const {
  constexpr double turn = 2 * std::numbers::pi;  // the fastest pair moves 1 radian a token
  for (const std::string& name : names_of(s)) {
    const pes_card& card = *catalog_.encoding(name).descriptor->card;
    const auto options = options_of(card);
    const auto values = resolve_options(card, term_of(s, {name})->options, name);
    double fast = 0, original = 0;
    bool listed = false;  // pair by pair: then no turn is counted
    for (std::size_t i = 0; i < options.size(); ++i) {
      const bool list = options[i]->type == PES_REALS || options[i]->type == PES_TEXT;
      listed |= list && values[i] != options[i]->value;
      if (options[i]->name == std::string_view("beta_fast")) parse_count(values[i], fast);
      if (options[i]->name == std::string_view("original")) parse_count(values[i], original);
    }
    const double length = original > 0 ? original : train_length;
    if (!listed && length < turn * fast)
      return fmt::format(
          "no pair turns {} times in {} tokens, so '{}' keeps the frequency of at most one pair "
          "and interpolates the rest; train on at least {:.0f} tokens, or give it beta_fast={:.3g}",
          format_number(fast), length, name, std::ceil(turn * fast), length / (4 * turn));
  }
  return "";
}

std::string Facts::unread_positions(const Sum& s, const ModelConfig& m) const {
  const auto names = names_of(s);
  const bool read = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return (uses_of(*catalog_.encoding(name).descriptor->card) & PES_PLACED) != 0;
  });
  return m.positions == 0 || read
             ? ""
             : "does not read the positions that the task gives its tokens; to "
               "it they stand at their places";
}

std::optional<int> Facts::number(const std::string& key, const std::string& where, int if_crashed,
                                 const std::function<int()>& question) {
  const Number* n = once<Number>(numbers_, key, where, [&](Number& answer) {
    answer.value = if_crashed;
    answer.value = ask(key, task_seconds, [&]() -> Json { return question(); }).get<int>();
  });
  return n == nullptr ? std::nullopt : std::optional(n->value);
}

std::vector<int> Facts::numbers(const std::function<std::vector<int>()>& question,
                                std::vector<int> if_crashed) const {
  try {
    return ask("", task_seconds, [&]() -> Json { return question(); }).get<std::vector<int>>();
  } catch (const Crashed&) {
    return if_crashed;
  }
}

void Facts::try_out(const std::function<void()>& question) const {
  const auto asked = [&] {
    question();
    return std::vector<int>();
  };
  numbers(asked, {});
}

void Facts::check_names(const Suite& suite) {
  const auto check = [&](const std::string& where, auto&& question) {
    try {
      question();
    } catch (const Error& e) {
      problems_.add(where, e.what(), e.code());
    }
  };
  for (const SuiteEncoding& e : suite.encodings)
    if (e.expression != own_encoding || !suite.has_weights())
      check(e.where,
            [&] { to_text(parse_encoding(e.expression), full_terms(catalog_, e.expression)); });
  for (const SuiteTask& t : suite.tasks) check(t.where, [&] { text_of(t.expression); });
}

}  // namespace pesuite
