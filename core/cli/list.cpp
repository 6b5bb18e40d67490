// list and info: what there is, from manifests alone.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "cell/cell.h"
#include "cli/arguments.h"
#include "cli/catalog.h"
#include "cli/list_parts.h"
#include "cli/list_results.h"
#include "cli/measured.h"
#include "cli/sides.h"
#include "encoding/composition.h"
#include "model/preset.h"
#include "model/task.h"
#include "plugin/card.h"
#include "plugin/library.h"
#include "plugin/measured.h"
#include "suite/suite.h"

namespace pesuite::cli {

namespace {

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

// Rows of which cells of a column wider than `widths` says go on in the rows below; 0: any width.
std::vector<std::vector<std::string>> wrapped(const std::vector<std::vector<std::string>>& rows,
                                              const std::vector<std::size_t>& widths) {
  std::vector<std::vector<std::string>> out;
  for (const auto& row : rows) {
    const std::size_t first = out.size();
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::vector<std::string> lines = c < widths.size() && widths[c] > 0
                                                 ? wrap(row[c], widths[c])
                                                 : std::vector<std::string>{row[c]};
      while (out.size() < first + lines.size()) out.emplace_back(row.size());
      for (std::size_t l = 0; l < lines.size(); ++l) out[first + l][c] = lines[l];
    }
  }
  return out;
}

void print_card(const Json& card, const std::vector<std::vector<std::string>>& extra) {
  const auto text = [&](const char* key) { return card_text(card, key); };
  std::vector<std::vector<std::string>> rows = {{text("name"), text("summary")},
                                                {"version", text("version")},
                                                {"taxonomy", or_dash(text("taxonomy"))}};
  rows.insert(rows.end(), extra.begin(), extra.end());
  if (const std::string models = text("used_in"); !models.empty())
    rows.push_back({"used in", models});
  rows.push_back({"paper", or_dash(text("paper"))});
  const Json& l = card.at("library");
  rows.push_back({"library", fmt::format("{} {} ({}), ABI {}, {}", card_text(l, "name"),
                                         card_text(l, "version"), card_text(l, "licence"),
                                         card_text(l, "abi"), card_text(l, "file"))});
  fmt::print("{}", plain_table(wrapped(rows, {0, 84})));
  const auto options = option_rows(card);
  if (options.size() == 1)
    fmt::print("\nno options\n");
  else
    fmt::print("\n{}", plain_table(wrapped(options, {0, 0, 12, 24, 52})));
  if (const std::string entry = text("bibtex"); !entry.empty())
    fmt::print("\n{}\n", bibtex_text(entry));
}

Json model_json(const Preset& p) {
  Json j = {{"name", p.name},
            {"summary", p.summary},
            {"train_len", p.train_length},
            {"parameters", parameter_count(p.config)},
            {"config", to_json(p.config)},
            {"lr", p.lr}};
  if (p.stated_parameters > 0) j["stated_parameters"] = p.stated_parameters;
  if (p.tokens > 0) j["tokens"] = p.tokens;
  return j;
}

void print_json(const Json& j) {
  fmt::print("{}\n", j.dump(1));
}

void report_problems(const Catalog& c) {
  for (const auto* list : {&c.problems, &c.notes})
    for (const std::string& p : *list) fmt::print(stderr, "note: {}\n", printable(p));
}

// Names that suites give: "task lags: toylag(document=512), in length_generalization".
void print_ids(const std::vector<SuiteId>& ids, const std::string& kind = "") {
  std::vector<std::vector<std::string>> rows = {{"id in suites", "means", "suites"}};
  for (const SuiteId& i : ids)
    if (kind.empty() || i.kind == kind)
      rows.push_back({kind.empty() ? i.kind + " " + i.id : i.id, i.means, join(i.suites, ", ")});
  if (rows.size() > 1) fmt::print("\n{}", plain_table(rows));
}

// The name, or what shipped suites mean by it where it is none; then it says so.
std::string meant(const std::string& kind, const std::string& text,
                  const std::vector<std::string>& known, bool silent) {
  const std::string name = text.substr(0, text.find('('));
  if (std::find(known.begin(), known.end(), name) != known.end()) return text;
  std::string first;
  for (const SuiteId& i : suite_ids())
    if (i.kind == kind && i.id == text) {
      if (!silent)
        fmt::print("{} '{}' is {} in {} {}\n", kind, text, i.means,
                   i.suites.size() == 1 ? "suite" : "suites", join(i.suites, ", "));
      if (first.empty()) first = i.means;
    }
  if (!first.empty() && !silent) fmt::print("\n");
  if (kind == "encoding" && !first.empty()) return names_of(parse_encoding(first).first).at(0);
  return first.empty() ? text : first;
}

int list_cards(const std::string& kind, const Catalog& catalog, bool json) {
  const bool tasks = kind == "task";
  Json all = Json::array();
  std::vector<std::vector<std::string>> rows = {
      {kind, "taxonomy", "version", "library", "summary"}};
  for (const std::string& name : tasks ? catalog.task_names() : catalog.encoding_names()) {
    Json card = tasks ? catalog.task_card(name) : catalog.encoding_card(name);
    rows.push_back({name, or_dash(card_text(card, "taxonomy")), card_text(card, "version"),
                    card_text(card["library"], "name"), card_text(card, "summary")});
    all.push_back(std::move(card));
  }
  json ? print_json(all) : fmt::print("{}", plain_table(rows));
  if (!json) print_ids(suite_ids(), kind);
  return 0;
}

int list_models(bool json) {
  Json all = Json::array();
  std::vector<std::vector<std::string>> rows = {
      {"model", "parameters", "stated", "tokens", "length", "lr", "summary"}};
  for (const Preset& p : presets()) {
    all.push_back(model_json(p));
    rows.push_back({std::string(p.name),
                    format_count(static_cast<double>(parameter_count(p.config))),
                    p.stated_parameters > 0 ? format_count(p.stated_parameters) : "-",
                    p.tokens > 0 ? format_count(p.tokens) : "-", std::to_string(p.train_length),
                    format_number(p.lr), std::string(p.summary)});
  }
  json ? print_json(all) : fmt::print("{}", plain_table(rows));
  return 0;
}

int list_suites(bool json) {
  Json all = Json::array();
  std::vector<std::vector<std::string>> rows = {{"suite", "file", "about"}};
  for (const fs::path& file : known_suites()) {
    std::string about;
    try {
      about = load_suite(file).about;
    } catch (const Error& e) {
      about = fmt::format("(not sound: {})", split(e.what(), '\n')[0]);
    }
    all.push_back({{"name", file.stem().string()}, {"file", file.string()}, {"about", about}});
    rows.push_back({file.stem().string(), file.string(), about});
  }
  json ? print_json(all) : fmt::print("{}", plain_table(rows));
  return 0;
}

const std::vector<std::string> kinds = {"encoding", "task", "model", "suite"};

std::string kind_of(const Arguments& a, const std::vector<std::string>& more = {}) {
  std::vector<std::string> known = kinds;
  known.insert(known.end(), more.begin(), more.end());
  a.require("kind", "what to list (" + join(known, ", ") + ")");
  std::string kind = a.text("kind");
  if (kind.ends_with("s")) kind.pop_back();  // "encodings"
  if (std::find(known.begin(), known.end(), kind) != known.end()) return kind;
  fail(Exit::usage, "there is no kind '{}'; known are {}{}", a.text("kind"), join(known, ", "),
       did_you_mean(kind, known));
}

std::vector<std::string> names_of_kind(const std::string& kind, const Catalog& catalog) {
  if (kind == "encoding") return catalog.encoding_names();
  if (kind == "task") return catalog.task_names();
  std::vector<std::string> names;
  if (kind == "model")
    for (const Preset& p : presets()) names.emplace_back(p.name);
  else
    for (const fs::path& file : known_suites()) names.push_back(file.stem().string());
  return names;
}

// "task lags" as it is; of "lags" alone the kind is found.
std::pair<std::string, std::string> asked_for(const Arguments& a, const Catalog& catalog) {
  if (a.has("name")) return {kind_of(a), a.text("name")};
  const std::string name = a.text("kind");
  if (std::find(kinds.begin(), kinds.end(), name) != kinds.end()) a.require("name", "the name");
  std::vector<std::string> found, all;
  for (const std::string& kind : kinds)
    for (const std::string& known : names_of_kind(kind, catalog)) {
      all.push_back(known);
      if (known == name.substr(0, name.find('('))) found.push_back(kind);
    }
  for (const SuiteId& i : found.empty() ? suite_ids() : std::vector<SuiteId>()) {
    all.push_back(i.id);
    if (i.id == name) found.push_back(i.kind);
  }
  if (found.empty())
    fail(Exit::usage, "there is no encoding, task, model or suite '{}'{}", name,
         did_you_mean(name, all));
  for (const std::string& other : found)
    if (other != found[0])
      fmt::print(stderr, "note: this is the {}; there is also 'pesuite info {} {}'\n", found[0],
                 other, name);
  return {found[0], name};
}

int info_measured(const std::string& name, bool json) {
  const Measured all = shipped_measured();
  if (!json) return fmt::print("{}", measured_rows_text(name, all)), 0;
  Measured own{all.of(name), {}};
  for (const ClaimMeasured& c : all.claims)
    if (std::find(c.encodings.begin(), c.encodings.end(), name) != c.encodings.end())
      own.claims.push_back(c);
  fmt::print("{}", measured_text(own));
  return 0;
}

int info_encoding(const std::string& name, const Catalog& catalog, bool json, bool markdown) {
  const Json card = catalog.encoding_card(name);
  const auto row = [&](const char* title, const char* key) -> std::vector<std::string> {
    return {title, or_dash(card_text(card, key))};
  };
  if (json) {
    print_json(card);
  } else if (markdown) {
    fmt::print("{}", card_markdown(card));
  } else {
    const LengthClaim claim = length_claim(card);
    const Measured all = shipped_measured();
    const auto measured = all.of(name);
    print_card(card, {row("claims", "claims"),
                      row("acts on", "acts_on"),
                      row("cost", "cost"),
                      row("takes over", "extends"),
                      row("tuning tries", "tune"),
                      {"papers claim", or_dash(claim_text(claim))},
                      {"measured", or_dash(verdicts_text(measured))},
                      {"they disagree", or_dash(disagreement(claim, measured))},
                      {"hypotheses", or_dash(all.claims_on(name))}});
    if (!measured.empty())
      fmt::print("\n'pesuite info {} --measured' lists what was measured and tested.\n", name);
  }
  return 0;
}

// One example as tokens with what is to be predicted below.
void print_example(const Catalog& catalog, const std::string& text, int length) {
  const Task task(catalog, parse_expression(text, "task"), length, length);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(length)), targets(tokens.size());
  Task::Request r;
  r.length = length, r.seed = 42;
  std::vector<std::int32_t> positions(task.positions() > 0 ? tokens.size() : 0);
  task.sample(r, tokens, targets, {}, positions);
  std::vector<std::vector<std::string>> lines = {{"token"}, {"target"}};
  if (!positions.empty()) lines.push_back({"position"});
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    lines[0].push_back(std::to_string(tokens[i]));
    lines[1].push_back(targets[i] < 0 ? "." : std::to_string(targets[i]));
    if (!positions.empty()) lines[2].push_back(std::to_string(positions[i]));
  }
  fmt::print("\nexample 0 of training, seed 42, length {} (alphabet {}, {} classes):\n", length,
             task.info().inputs, task.info().outputs);
  for (std::size_t first = 1; first <= tokens.size(); first += 16) {
    const std::size_t end = std::min(first + 16, tokens.size() + 1);
    std::vector<std::vector<std::string>> part;
    for (const auto& line : lines) {
      part.push_back({line[0]});
      for (std::size_t i = first; i < end; ++i) part.back().push_back(line[i]);
    }
    fmt::print("{}", plain_table(part));
  }
  for (const Axis& a : task.axes())
    fmt::print("axis {}: {} ({})\n", a.name, join(a.labels, ", "), a.help);
}

int info_task(const std::string& text, const Catalog& catalog, bool json, bool example,
              int length) {
  const Json card = catalog.task_card(parse_expression(text, "task").name);
  if (json)
    print_json(card);
  else
    print_card(card, {});
  if (example) print_example(catalog, text, length);
  return 0;
}

int info_model(const std::string& name, bool json) {
  const Preset& p = preset(name);
  if (json) {
    print_json(model_json(p));
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {{std::string(p.name), std::string(p.summary)}};
  const Json config = to_json(p.config);
  for (const auto& [key, value] : config.items())
    rows.push_back({key, value.is_string() ? value.get<std::string>() : value.dump()});
  rows.push_back({"parameters", fmt::format("{} without an encoding's{}", parameter_count(p.config),
                                            p.stated_parameters > 0
                                                ? fmt::format("; its source says {}",
                                                              format_count(p.stated_parameters))
                                                : "")});
  if (p.tokens > 0) rows.push_back({"tokens", format_count(p.tokens)});
  rows.push_back({"train_len", std::to_string(p.train_length)});
  rows.push_back({"lr", format_number(p.lr)});
  fmt::print("{}", plain_table(rows));
  return 0;
}

int info_suite(const std::string& name, bool json) {
  const Suite s = load_suite(find_suite(name));
  if (json) {
    print_json(s.resolved);
  } else {
    fmt::print("{}: {}\n{}\n", s.name, s.file.string(), s.about);
    if (!s.profiles.empty()) fmt::print("profiles: {}\n", join(s.profiles, ", "));
    print_ids(suite_ids(s));
    fmt::print("\n{}", to_toml(s.resolved));
  }
  return 0;
}

}  // namespace

int list_verb(const std::vector<std::string>& words) {
  Arguments a("list encoding|task|model|data|suite|backend|run|baseline [--json]",
              "Lists what there is. Encodings and tasks are those that the manifests beside plugin "
              "libraries name;\nno library is loaded.");
  a.flags()("json", po::bool_switch(), "as JSON");
  add_side_flags(a);
  a.positional("kind");
  if (!a.parse(words)) return 0;
  const std::string kind = kind_of(a, {"data", "backend", "run", "baseline"});
  if (kind == "data") return list_data(a);
  if (kind == "backend") return list_backends(a);
  if (kind == "run") return list_runs(a);
  if (kind == "baseline") return list_baselines(a);
  if (kind == "model") return list_models(a.flag("json"));
  if (kind == "suite") return list_suites(a.flag("json"));
  const Catalog catalog = list_catalog(plugin_search_path(a.plugin_path()));
  report_problems(catalog);
  return list_cards(kind, catalog, a.flag("json"));
}

int info_verb(const std::vector<std::string>& words) {
  Arguments a(
      "info [encoding|task|model|suite] NAME [--json]",
      "The card of one thing: options with types, defaults and help, claims, source. NAME may "
      "also be an id\nthat a shipped suite gives, such as task 'lags'.");
  a.flags()("json", po::bool_switch(), "as JSON")("example", po::bool_switch(),
                                                  "tasks: show an example")(
      "length", po::value<int>()->default_value(32), "tokens of the example");
  a.flags()("markdown", po::bool_switch(), "encodings: as it stands in the page")(
      "measured", po::bool_switch(), "encodings: each task of the kept runs, and each claim");
  a.positional("kind");
  a.positional("name");
  if (!a.parse(words)) return 0;
  a.require("kind", "the name");
  const Catalog catalog = open_catalog(plugin_search_path(a.plugin_path()));
  report_problems(catalog);
  const auto [kind, text] = asked_for(a, catalog);
  const bool json = a.flag("json");
  const std::string name = meant(kind, text, names_of_kind(kind, catalog), json);
  if (kind == "model") return info_model(name, json);
  if (kind == "suite") return info_suite(name, json);
  if (kind == "encoding" && a.flag("measured")) return info_measured(name, json);
  if (kind == "encoding") return info_encoding(name, catalog, json, a.flag("markdown"));
  return info_task(name, catalog, json, a.flag("example"), a.count("length", 1));
}

}  // namespace pesuite::cli
