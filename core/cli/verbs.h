// Verbs and subcommands: rows of a table, from which help, man pages and completions follow.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace pesuite::cli {

struct Verb {
  const char* name;
  const char* summary;
  int (*run)(const std::vector<std::string>&);
};

struct Verbs {
  std::string_view usage;          // "pesuite" or "pesuite plugin"
  std::string_view word;           // what one of them is called in usage
  std::string_view about, to_end;  // what help says before them and after them
  std::span<const Verb> all;
};

// Runs the verb that the first word names. --help shows all; --help=man is the man page of the
// group or, behind a verb, the verb's; --help=complete WORD... prints what may stand in place of
// the last word, a line each: itself, a tab, what it is. Error (usage) for a word that is no verb.
int call(const Verbs&, const std::vector<std::string>& words);

// A man page in roff, of a verb or a group of them.
struct Manual {
  struct Entry {
    std::string title, text;
  };
  std::string name, summary;  // "pesuite plugin check"
  std::string usage, about;   // usage without the program's name; about with its line breaks
  std::string heading;        // of the entries
  std::vector<Entry> entries;
  std::vector<std::string> also;  // other pages
};
std::string man_page(const Manual&);

// A line of --help=complete, where `word` starts with `begun`.
void offer(std::string_view begun, std::string_view word, std::string_view what);

}  // namespace pesuite::cli
