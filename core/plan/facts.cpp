#include "plan/facts.h"

#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/isolate.h"
#include "base/text.h"
#include "plugin/card.h"

namespace pesuite {

namespace {

constexpr double question_seconds = 120;  // a task may have to read a corpus

template <class D>
PluginIdentity identity_of(const D& found) {
  static std::map<std::string, std::string>
      builds;  // of this process: files do not change under us
  const std::string path = found.library->path().string();
  auto it = builds.find(path);
  if (it == builds.end()) it = builds.emplace(path, sha256_file(path).substr(0, 16)).first;
  return {{"version", found.descriptor->card->version},
          {"library", found.library->entry().name},
          {"build", "sha256:" + it->second}};
}

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
  if (const std::string digest = answer.at("digest"); !digest.empty())
    f.identity["digest"] = digest;
  f.note = answer.at("note");
  for (const auto& [name, a] : answer.at("axes").items())
    f.axes[name] = {a.at("values").get<std::vector<double>>(),
                    a.at("labels").get<std::vector<std::string>>()};
  f.refuses_fill = answer.at("refuses_fill"), f.refuses_shots = answer.at("refuses_shots");
}

std::string unused_layers(const Sum& s, int layers) {
  for (const Sum::Factor& f : s.factors)
    if (f.pattern.size() > static_cast<std::size_t>(layers))
      return fmt::format("the pattern names {} layers, the model has {}: the rest never acts",
                         f.pattern.size(), layers);
  return "";
}

// Finds what collides. What else goes wrong is a failure of the cell, not of the suite.
void rehearse(Composition& encoding, const ModelShape& shape) {
  try {  // on the backend without threads, which a forked process may not start
    encoding.rehearse(*open_backend("reference", {}), shape);
  } catch (const Error& e) {
    if (e.code() != Exit::plugin) throw;
  }
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
    } catch (const Error& e) {
      problems_.add(where, e.what(), e.code());
      facts.reset();
    }
  }
  return facts ? &*facts : nullptr;
}

std::string Facts::text_of(const Expression& x) const {
  return full_text(*catalog_.task(x.name).descriptor->card, x.options, "task '" + x.name + "'");
}

const TaskFacts* Facts::task(const SuiteTask& t, int train_length, int max_length, int reached) {
  const std::string key = fmt::format("{} {} {} {}", t.id, train_length, max_length, reached);
  return once<TaskFacts>(tasks_, key, t.where, [&](TaskFacts& f) {
    const auto found = catalog_.task(t.expression.name);
    const char* family = found.descriptor->card->taxonomy;
    f.text = text_of(t.expression);
    f.identity = identity_of(found);
    f.family = family != nullptr ? family : "";
    take(ask([&] {
           return answer_of(Task(catalog_, t.expression, train_length, max_length, reached),
                            train_length);
         }),
         f);
  });
}

const EncodingFacts* Facts::encoding(const SuiteEncoding& e, const ModelConfig& m, int train_length,
                                     int max_length) {
  const std::string key = fmt::format("{} {} {} {} {} {} {} {}", e.id, m.layers, m.heads,
                                      m.groups(), m.width, m.positions, train_length, max_length);
  return once<EncodingFacts>(encodings_, key, e.where, [&](EncodingFacts& f) {
    f.text = f.written = f.first = e.expression;  // until it is read
    const EncodingExpression x = parse_encoding(e.expression);
    const TermText full = full_terms(catalog_, e.expression);
    f.text = to_text(x, full), f.written = to_text(x);
    f.first = to_text(x.first, full), f.evaluation = to_text(x.evaluation, full);
    std::vector<const Sum*> sums = {&x.first};
    for (const Switch& s : x.switches) {
      f.switches.push_back(to_text(s.to, full));
      sums.push_back(&s.to);
    }
    if (!x.evaluation.empty()) sums.push_back(&x.evaluation);
    for (const Sum* sum : sums) {
      for (const std::string& name : names_of(*sum))
        f.identity[name] = identity_of(catalog_.encoding(name));
      for (const std::string& note : {unused_layers(*sum, m.layers), unread_positions(*sum, m)})
        if (!note.empty()) f.note = note;
    }
    f.parameters = ask([&]() -> Json {
                     return parameters_of(x, sums, shape_of(m, train_length, max_length));
                   }).get<double>();
  });
}

// Creates all encodings of an expression.
double Facts::parameters_of(const EncodingExpression& x, const std::vector<const Sum*>& sums,
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
        fail(Exit::usage,
             "encoding '{}': what '=>' swaps in learns '{}' {}, which the training before it does "
             "not have; let it train, as in {} -> {} @ 90%",
             x.source, p.name, p.shape.text(), to_text(*sums[sums.size() - 2]), to_text(*sum));
  }
  double n = 0;
  for (const auto& p : trained) n += static_cast<double>(p.shape.count());
  return n;
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
    answer.value = ask([&]() -> Json { return question(); }).get<int>();
  });
  return n == nullptr ? std::nullopt : std::optional(n->value);
}

std::vector<int> Facts::numbers(const std::function<std::vector<int>()>& question) const {
  return ask([&]() -> Json { return question(); }).get<std::vector<int>>();
}

void Facts::try_out(const std::function<void()>& question) const {
  ask([&]() -> Json {
    question();
    return true;
  });
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
    check(e.where,
          [&] { to_text(parse_encoding(e.expression), full_terms(catalog_, e.expression)); });
  for (const SuiteTask& t : suite.tasks) check(t.where, [&] { text_of(t.expression); });
}

}  // namespace pesuite
