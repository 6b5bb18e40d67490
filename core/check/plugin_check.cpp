#include "check/plugin_check.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/isolate.h"
#include "base/text.h"
#include "check/checks.h"
#include "check/library_checks.h"
#include "check/task_check.h"
#include "encoding/expression.h"

namespace pesuite::checks {

namespace {

// ------------------------------------------------------------------------------- one process

// In the child: what it may use up. A loop without end runs into the first limit, what hoards
// memory into the second.
void limit_process(double seconds) {
  const auto cpu = static_cast<rlim_t>(std::ceil(seconds));
  const rlimit time{cpu, cpu + 5};
  ::setrlimit(RLIMIT_CPU, &time);
  constexpr double memory = 4.0 * (1 << 30);
  limit_memory(memory);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);  // what a plugin prints is no part of the report
}

// "P...", "F..." or "S...": how a check ended, as the child sends it.
std::string run_check(const std::function<std::string()>& body) {
  try {
    return fmt::format("P{}", body());
  } catch (const Fault& f) {
    return fmt::format("F{}", f.what());
  } catch (const Skip& s) {
    return fmt::format("S{}", s.what());
  } catch (const Refused& r) {
    return fmt::format("F{}", r.what());
  } catch (const Error& e) {
    return fmt::format("F{}", e.what());
  } catch (const std::bad_alloc&) {
    return "Fran out of memory";
  }
}

class Runner {
 public:
  Runner(const fs::path& file, const Settings& settings) : settings_(settings) {
    report_.file = file;
  }
  Report& report() { return report_; }
  Note& note() { return note_; }

  Finding ask(std::string subject, std::string check, const std::function<std::string()>& body) {
    Finding f{std::move(subject), std::move(check), {}, {}, 0};
    note_.clear();
    const auto start = std::chrono::steady_clock::now();
    const Isolated r = run_isolated(
        [&] {
          limit_process(settings_.time_limit);
          return run_check(body);
        },
        5 * settings_.time_limit);
    f.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const std::string at = note_.text().empty() ? "" : fmt::format(", while {}", note_.text());
    if (r.end == Isolated::End::timed_out ||
        (r.end == Isolated::End::crashed && r.code == SIGXCPU)) {
      f.outcome = Outcome::timed_out;
      f.detail = fmt::format("Did not end within {} s{}.", settings_.time_limit, at);
    } else if (r.end == Isolated::End::crashed) {
      f.outcome = Outcome::crashed;
      f.detail = fmt::format("The process {}{}.", r.text, at);
    } else if (r.end == Isolated::End::threw || r.text.empty()) {
      f.outcome = Outcome::failed;
      f.detail = r.text;
    } else {
      f.outcome = r.text[0] == 'P'   ? Outcome::passed
                  : r.text[0] == 'S' ? Outcome::skipped
                                     : Outcome::failed;
      f.detail = r.text.substr(1);
    }
    return f;
  }
  Outcome add(Finding f) {
    if (settings_.progress) settings_.progress(f);
    report_.findings.push_back(std::move(f));
    return report_.findings.back().outcome;
  }
  bool wants(std::string_view check) const {
    if (settings_.reproduce) return check == "fuzz";
    return settings_.checks.empty() ||
           std::any_of(settings_.checks.begin(), settings_.checks.end(),
                       [&](const std::string& c) { return glob_match(c, check); });
  }

 private:
  const Settings& settings_;
  Report report_;
  Note note_;
};

// ------------------------------------------------------------------------------- encodings

Catalog catalog_of(const fs::path& file) {
  Catalog c;
  c.offers.emplace_back(Library::open(file));
  return c;
}

std::string run_encoding_check(const fs::path& file, const Expression& e,
                               const EncodingCheck& check, const Settings& settings, Note& note) {
  const Catalog catalog = catalog_of(file);
  const pes_encoding& encoding = *catalog.encoding(e.name).descriptor;
  const std::string what = fmt::format("encoding '{}'", e.name);
  Subject s{.catalog = catalog,
            .encoding = encoding,
            .given = e.options,
            .values = resolve_options(*encoding.card, e.options, what),
            .model = {},
            .note = note};
  s.level = settings.strictness;
  s.tolerance = settings.tolerance;
  s.seed = settings.reproduce.value_or(settings.seed);
  s.rounds = settings.reproduce ? 1 : settings.strictness > 7 ? 200 : 24;
  s.seconds = settings.reproduce ? 0 : settings.duration;
  note.say(fmt::format("creating {}", expression_text(*encoding.card, s.values)));
  try {
    s.model = accepted_shape(encoding, s.values);
  } catch (const Refused& r) {
    // An encoding may need something of its user, if it says which option that is.
    for (const pes_option* o : options_of(*encoding.card))
      if (std::string_view(r.what()).find(o->name) != std::string_view::npos)
        skip("It asks for an option first: {}; give it with --encoding '{}({}=...)'.", r.what(),
             e.name, o->name);
    fault("it refuses its own defaults in every model tried, and names no option that it needs: {}",
          r.what());
  }
  return check.run(s);
}

void check_encoding(Runner& runner, const Expression& e, const Settings& settings,
                    const std::string& subject, bool variant) {
  std::string gate;  // why the rest makes no sense
  for (const EncodingCheck& c : encoding_checks()) {
    const bool wanted = runner.wants(c.name);
    if (c.level > settings.strictness || (variant && c.of_defaults) || (!wanted && !c.gate))
      continue;
    if (!e.options.empty() && std::string_view(c.proves).starts_with("claim:")) {
      if (wanted)
        runner.add({subject, c.name, Outcome::skipped, "Claims are of the default options.", 0});
      continue;
    }
    if (!gate.empty()) {
      if (wanted) runner.add({subject, c.name, Outcome::skipped, gate, 0});
      continue;
    }
    Finding f = runner.ask(subject, c.name, [&] {
      return run_encoding_check(runner.report().file, e, c, settings, runner.note());
    });
    if (c.gate && f.outcome != Outcome::passed)
      gate = fmt::format("Needs the check '{}', which {}.", c.name,
                         f.outcome == Outcome::skipped  ? "was skipped"
                         : f.outcome == Outcome::failed ? "failed"
                                                        : outcome_name(f.outcome));
    if (wanted || is_bad(f.outcome)) runner.add(std::move(f));
  }
}

// Numbers that most options allow; of whole ones what is beyond the training length.
std::vector<std::string> some_numbers(const pes_option& o) {
  std::vector<double> some;
  if (o.type == PES_INT) some = {500};
  if (o.type == PES_REAL) some = {0.5, 3};
  std::vector<std::string> out;
  for (const double x : some)
    if (o.low <= x && x <= o.high) out.push_back(format_number(x));
  return out;
}

// name(option=value) for every other value of every option that is a choice, one at a time; and, if
// asked for, some numbers of the others.
std::vector<Expression> variants_of(const pes_card& card, const Expression& base, bool numbers) {
  std::vector<Expression> out;
  for (const pes_option* o : options_of(card)) {
    if (base.options.contains(o->name)) continue;
    std::vector<std::string> values;
    if (o->type == PES_BOOL) values = {"true", "false"};
    if (o->type == PES_CHOICE) values = split(o->choices, '|');
    if (numbers && values.empty()) values = some_numbers(*o);
    for (const std::string& v : values)
      if (v != o->value) {
        out.push_back(base);
        out.back().options[o->name] = v;
      }
  }
  return out;
}

// ----------------------------------------------------------------------------------- tasks

std::string run_task_checks(const fs::path& file, const std::string& name) {
  const Catalog catalog = catalog_of(file);
  Json out = Json::array();
  std::optional<Task> task;
  try {
    task.emplace(catalog, Expression{name, {}}, 64, 96);
  } catch (const Error& e) {  // a corpus that needs the user's text says so, naming its option
    for (const pes_option* o : options_of(*catalog.task(name).descriptor->card))
      if (std::string_view(e.what()).find(o->name) != std::string_view::npos)
        skip("It asks for an option first: {}", e.what());
    throw;
  }
  CheckOptions options;
  options.examples = 4096;
  options.tokens = 1 << 18;
  for (const pesuite::Finding& f : check_task(*task, options))
    out.push_back({f.check, f.skipped ? 2 : f.passed ? 0 : 1, f.detail});
  return out.dump();
}

void check_one_task(Runner& runner, const std::string& name) {
  const std::string subject = fmt::format("task {}", name);
  Finding all =
      runner.ask(subject, "creates", [&] { return run_task_checks(runner.report().file, name); });
  if (all.outcome != Outcome::passed) {
    runner.add(std::move(all));
    return;
  }
  const Json findings = Json::parse(all.detail);
  for (const Json& f : findings) {
    const auto check = f[0].get<std::string>();
    const Outcome outcomes[] = {Outcome::passed, Outcome::failed, Outcome::skipped};
    if (runner.wants(check))
      runner.add({subject, check, outcomes[f[1].get<int>()], f[2].get<std::string>(),
                  all.seconds / static_cast<double>(findings.size())});
  }
}

// --------------------------------------------------------------------------------- filters

bool matches(const std::vector<std::string>& patterns, std::string_view name) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                         [&](const auto& p) { return glob_match(p, name); });
}

// What the settings ask for of an encoding, with the options they give; empty: not wanted.
std::vector<Expression> wanted_of(const Settings& s, const std::string& name) {
  std::vector<Expression> out;
  for (const std::string& pattern : s.encodings) {
    if (pattern.find('(') != std::string::npos) {
      Expression e = parse_expression(pattern, "encoding");
      if (e.name == name) out.push_back(std::move(e));
    } else if (glob_match(pattern, name)) {
      out.push_back({name, {}});
    }
  }
  if (s.encodings.empty() && s.tasks.empty()) out.push_back({name, {}});
  return out;
}

struct Offer {
  std::vector<std::string> encodings, tasks;
  std::map<std::string, std::vector<Expression>> variants;
};

// What the library offers, read in a process of its own.
Offer offer_of(Runner& runner, bool numbers) {
  const Finding f = runner.ask("library", "loads", [&] {
    const Library library = Library::open(runner.report().file);
    Json out = {{"encodings", Json::object()}, {"tasks", Json::array()}};
    for (const pes_encoding* e : library.encodings()) {
      Json variants = Json::array();
      for (const Expression& v : variants_of(*e->card, {e->card->name, {}}, numbers))
        variants.push_back({v.options.begin()->first, v.options.begin()->second});
      out["encodings"][e->card->name] = std::move(variants);
    }
    for (const pes_task* t : library.tasks()) out["tasks"].push_back(t->card->name);
    return out.dump();
  });
  Offer offer;
  if (f.outcome != Outcome::passed) return offer;
  const Json all = Json::parse(f.detail);
  for (const auto& [name, variants] : all["encodings"].items()) {
    offer.encodings.push_back(name);
    for (const Json& v : variants)
      offer.variants[name].push_back({name, {{v[0].get<std::string>(), v[1].get<std::string>()}}});
  }
  offer.tasks = all["tasks"].get<std::vector<std::string>>();
  return offer;
}

}  // namespace

Report check_library(const fs::path& file, const Settings& settings) {
  constexpr int variants_from = 6, numbers_from = 7;
  for (const std::string& p : settings.encodings)
    if (p.find('(') != std::string::npos) parse_expression(p, "encoding");
  Runner runner(file, settings);
  const std::pair<const char*, std::string (*)(const fs::path&, Note&)> of_library[] = {
      {"loads", check_loads},
      {"exports", check_exports},
      {"descriptors", check_descriptors},
      {"manifest", check_manifest}};
  bool usable = true;
  for (const auto& [name, check] : of_library) {
    if (!runner.wants(name) && name != std::string_view("loads")) continue;
    Finding f =
        runner.ask("library", name, [&, check = check] { return check(file, runner.note()); });
    const bool needed =
        name == std::string_view("loads") || name == std::string_view("descriptors");
    usable = usable && !(needed && is_bad(f.outcome));
    if (runner.wants(name) || is_bad(f.outcome)) runner.add(std::move(f));
    if (!usable) return std::move(runner.report());
  }
  const Offer offer = offer_of(runner, settings.strictness >= numbers_from);
  runner.report().encodings = offer.encodings, runner.report().tasks = offer.tasks;
  for (const std::string& name : offer.encodings)
    for (const Expression& e : wanted_of(settings, name)) {
      std::string subject = fmt::format("encoding {}", name);
      for (const auto& [option, value] : e.options) subject += fmt::format(" {}={}", option, value);
      check_encoding(runner, e, settings, subject, false);
      const auto variants = offer.variants.find(name);
      if (settings.strictness < variants_from || settings.reproduce || !e.options.empty() ||
          variants == offer.variants.end())
        continue;
      for (const Expression& v : variants->second)
        check_encoding(runner, v, settings,
                       fmt::format("encoding {} {}={}", name, v.options.begin()->first,
                                   v.options.begin()->second),
                       true);
    }
  if (settings.reproduce || (settings.tasks.empty() && !settings.encodings.empty()))
    return std::move(runner.report());
  for (const std::string& name : offer.tasks)
    if (matches(settings.tasks, name)) check_one_task(runner, name);
  return std::move(runner.report());
}

std::vector<std::vector<std::string>> list_of_checks() {
  std::vector<std::vector<std::string>> rows = {
      {"check", "of", "strictness", "proves"},
      {"loads", "library", "1", "loads with RTLD_NOW; its entry is sound and of this ABI"},
      {"exports", "library", "1", "pes_entry is the one symbol that it exports"},
      {"descriptors", "library", "1",
       "names, struct sizes, bounds, choices and defaults are sound"},
      {"manifest", "library", "1", "its manifest is of this build and says what the library says"}};
  for (const EncodingCheck& c : encoding_checks())
    rows.push_back({c.name, "encoding", std::to_string(c.level), c.proves});
  rows.push_back({"(task check)", "task", "1", "all that 'pesuite task check' tries"});
  return rows;
}

}  // namespace pesuite::checks
