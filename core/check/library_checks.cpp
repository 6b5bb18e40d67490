#include "check/library_checks.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/elf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "check/finding.h"
#include "encoding/expression.h"
#include "plugin/card.h"
#include "plugin/library.h"
#include "plugin/options.h"

namespace pesuite::checks {

std::string check_exports(const fs::path& file, Note&) {
  std::vector<std::string> names = exported_symbols(file);
  const auto entry = std::find(names.begin(), names.end(), "pes_entry");
  require(entry != names.end(), "it does not export pes_entry");
  names.erase(entry);
  if (names.empty()) return "It exports pes_entry and nothing else.";
  const std::size_t shown = std::min<std::size_t>(3, names.size());
  fault(
      "besides pes_entry it exports {}: {}{}; hide them with a version script, as pesuite_plugin() "
      "of the CMake package does",
      counted(names.size(), "symbol"), join(std::span(names).first(shown), ", "),
      names.size() > shown ? ", ..." : "");
}

std::string check_loads(const fs::path& file, Note& note) {
  note.say(
      "running its static constructors, or reading its lists, which must end with a null pointer");
  const Library library = Library::open(file);
  const pes_library& e = library.entry();
  return fmt::format("{} {} ({}), ABI {}.{}, loads with RTLD_NOW: {}, {}.", e.name, e.version,
                     e.licence == nullptr ? "no licence" : e.licence, e.abi_major, e.abi_minor,
                     counted(library.encodings().size(), "encoding"),
                     counted(library.tasks().size(), "task"));
}

namespace {

void check_option(const std::string& where, const pes_option& o) {
  require(PES_HAS(&o, choices), "{}: its struct has {} bytes, pes_option {} or more", where, o.size,
          sizeof(pes_option));
  require(is_lower_snake(o.name), "{}: the name is not lower_snake", where);
  require(std::string_view(o.help).size() > 3, "{}: it has no help", where);
  require(o.type >= PES_BOOL && o.type <= PES_REALS, "{}: there is no option type {}", where,
          static_cast<int>(o.type));
  if (o.type == PES_INT || o.type == PES_REAL || o.type == PES_REALS)
    require(o.low <= o.high, "{}: its bounds {} .. {} hold nothing", where, o.low, o.high);
  if (o.type == PES_CHOICE) {
    require(o.choices != nullptr && *o.choices != 0, "{}: a choice of nothing", where);
    const auto all = split(o.choices, '|');
    require(std::set(all.begin(), all.end()).size() == all.size(), "{}: choices stand there twice",
            where);
  }
}

// Words of an encoding's card that guide and tables know.
void check_words(const std::string& what, const pes_card& card) {
  static const std::vector<std::string> words = {
      "absolute", "relative",       "hybrid", "fixed",      "learned", "randomized",
      "additive", "multiplicative", "bias",   "contextual", "none",    "schedule"};
  static const std::vector<std::string> costs = {"none", "minimal", "low", "moderate", "high"};
  static const std::vector<std::string> ratings = {"poor", "fair", "good", "excellent"};
  const auto known = [&](const char* field, const std::string& text, std::string_view word,
                         const std::vector<std::string>& all) {
    require(std::find(all.begin(), all.end(), word) != all.end(),
            "{}: the {} '{}' has '{}', which is none of {}", what, field, text, word,
            join(all, ", "));
  };
  require(!taxonomy_of(card).empty(), "{}: its card has no taxonomy; words are {}", what,
          join(words, ", "));
  for (const std::string& part : taxonomy_of(card))
    for (std::size_t at = 0, end = 0; at <= part.size(); at = end + 4) {  // "fixed or learned"
      end = std::min(part.find(" or ", at), part.size());
      known("taxonomy", card.taxonomy, part.substr(at, end - at), words);
    }
  const auto first_word = [](const std::string& text) { return text.substr(0, text.find(' ')); };
  if (const std::string cost = cost_of(card); !cost.empty()) known("cost", cost, cost, costs);
  if (const std::string rating = rating_of(card); !rating.empty())
    known("rating", rating, first_word(rating), ratings);
}

void check_card(const std::string& what, const pes_card& card) {
  require(PES_HAS(&card, options), "{}: its card has {} bytes, pes_card {} or more", what,
          card.size, sizeof(pes_card));
  require(std::string_view(card.summary).size() > 3, "{}: it has no summary", what);
  require(std::string_view(card.summary).find('\n') == std::string_view::npos,
          "{}: its summary is longer than a line", what);
  constexpr std::uint32_t known =
      PES_RELATIVE | PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_MONOTONE_DECAY | PES_UNBOUNDED;
  require((card.claims & ~known) == 0, "{}: its claims have bits ({:#x}) that mean nothing", what,
          card.claims & ~known);
  std::set<std::string> names;
  for (const pes_option* o : options_of(card)) {
    const std::string where = fmt::format("{}, option '{}'", what, o->name);
    check_option(where, *o);
    require(names.insert(o->name).second, "{}: two options have this name", where);
  }
  try {
    resolve_options(card, {}, what);
  } catch (const Error& e) {
    fault("a default is not sound: {}", e.what());
  }
  for (const std::string& setting : tune_of(card)) try {
      resolve_options(card, parse_expression(fmt::format("{}({})", card.name, setting)).options,
                      what);
    } catch (const Error& e) {
      fault("its card has tuning try '{}', which is not sound: {}", setting, e.what());
    }
}

}  // namespace

std::string check_descriptors(const fs::path& file, Note& note) {
  note.say("reading its cards, whose lists of options must end with a null pointer");
  const Library library = Library::open(file);
  std::set<std::string> names;
  std::size_t options = 0;
  const auto look = [&](const std::string& kind, const pes_card& card) {
    const std::string what = fmt::format("{} '{}'", kind, card.name);
    check_card(what, card);
    require(names.insert(what).second, "two of its {}s are called '{}'", kind, card.name);
    options += options_of(card).size();
  };
  for (const pes_encoding* e : library.encodings()) {
    look("encoding", *e->card);
    check_words(fmt::format("encoding '{}'", e->card->name), *e->card);
    require(e->rewrite == nullptr || e->attend != nullptr,
            "encoding '{}' has rewrite() and no attend() that could ask for it", e->card->name);
  }
  for (const pes_task* t : library.tasks()) look("task", *t->card);
  require(!names.empty(), "it offers neither an encoding nor a task");
  return fmt::format("{} and {}: names, sizes, bounds and defaults are sound.",
                     counted(names.size(), "card"), counted(options, "option"));
}

std::string check_manifest(const fs::path& file, Note&) {
  const fs::path beside = manifest_path(file);
  const std::string name = beside.filename().string();
  std::error_code error;
  if (!fs::is_regular_file(beside, error))
    skip("There is no {} beside it, so it is not listed; 'pesuite plugin manifest' writes one.",
         name);
  const Manifest wanted = make_manifest(Library::open(file));
  const Manifest found = parse_manifest(read_file(beside), beside.string());
  const char* advice = "'pesuite plugin manifest' writes what the library says";
  require(found.build == wanted.build, "{} is of another build; {}", name, advice);
  const std::string other = difference(found, wanted);
  require(other.empty(), "{}, {}; {}", name, other, advice);
  return fmt::format("{} is of this build and says what the library says.", name);
}

}  // namespace pesuite::checks
