#include "cli/verbs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "run/environment.h"

namespace pesuite::cli {

namespace {

constexpr std::string_view program = "pesuite";

void print_group(const Verbs& g) {
  if (!g.about.empty()) fmt::print("{}\n\n", g.about);
  fmt::print("usage: {0} {1} [arguments]      {0} {1} --help\n\n", g.usage, g.word);
  std::size_t width = 10;
  for (const Verb& v : g.all) width = std::max(width, std::string_view(v.name).size() + 2);
  for (const Verb& v : g.all) fmt::print("  {:<{}}{}\n", v.name, width, v.summary);
  if (!g.to_end.empty()) fmt::print("\n{}\n", g.to_end);
}

std::string page_name(std::string_view usage, const Verb& v) {
  return fmt::format("{} {}", usage, v.name);
}

Manual manual_of(const Verbs& g, std::string_view summary) {
  Manual m;
  m.name = g.usage, m.summary = summary;
  m.usage = fmt::format("{} [arguments]", g.word);
  m.about = join(std::vector<std::string>{std::string(g.about), std::string(g.to_end)}, "\n\n");
  m.heading = "COMMANDS";
  for (const Verb& v : g.all) {
    m.entries.push_back({v.name, v.summary});
    m.also.push_back(page_name(g.usage, v));
  }
  return m;
}

// What other programs call what a verb here does.
constexpr std::pair<std::string_view, const char*> elsewhere[] = {{"benchmark", "bench"},
                                                                  {"check", "plugin check"},
                                                                  {"clean", "gc"},
                                                                  {"dashboard", "app"},
                                                                  {"diff", "compare"},
                                                                  {"download", "data import"},
                                                                  {"evaluate", "eval"},
                                                                  {"explain", "info"},
                                                                  {"figures", "report"},
                                                                  {"generate", "sample"},
                                                                  {"new", "plugin new"},
                                                                  {"plot", "report"},
                                                                  {"resume", "run"},
                                                                  {"serve", "app"},
                                                                  {"show", "info"},
                                                                  {"table", "report"},
                                                                  {"tokenize", "data tokenize"},
                                                                  {"tune", "run"},
                                                                  {"ui", "app"}};

const Verb& verb_of(const Verbs& g, const std::string& name) {
  std::vector<std::string> names;
  for (const Verb& v : g.all) {
    if (name == v.name) return v;
    names.emplace_back(v.name);
  }
  const std::string group = fmt::format("{} ", g.usage).substr(program.size() + 1);
  for (const auto& [word, verb] : elsewhere)
    if (group.empty() && word == name)
      fail(Exit::usage, "there is no verb '{}'; 'pesuite {}' does that", name, verb);
  fail(Exit::usage, "there is no {}'{}{}'{}", group.empty() ? "verb " : "", group, name,
       nearest(name, names).empty() ? fmt::format("; '{} --help' shows all", g.usage)
                                    : did_you_mean(name, names));
}

int complete(const Verbs& g, std::vector<std::string> words) {
  if (words.size() < 2) {
    for (const Verb& v : g.all) offer(words.empty() ? "" : words[0], v.name, v.summary);
    return 0;
  }
  const Verb& v = verb_of(g, words[0]);
  words[0] = "--help=complete";
  return v.run(words);
}

// What roff would take for its own: its escapes, and a point or apostrophe at the start of a line.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '\'': out += "\\(aq"; break;
      case '`': out += "\\(ga"; break;
      case '^': out += "\\(ha"; break;
      case '~': out += "\\(ti"; break;
      default: out += c;
    }
  return out.starts_with('.') ? "\\&" + out : out;
}

// Words in lines of a length that checkers of man pages accept.
std::string wrapped(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string& word : split(text, ' '))
    if (!word.empty()) words.push_back(escaped(word));
  return words.empty() ? "" : join(wrap(join(words, " "), 76), "\n") + "\n";
}

// Lines that begin with blanks stay as they are; the others are paragraphs.
std::string paragraphs(const std::string& text) {
  std::string out, running;
  bool table = false;
  const auto end_paragraph = [&] {
    out += wrapped(running);
    running.clear();
  };
  for (const std::string& line : split(text, '\n')) {
    const bool indented = line.starts_with(' ');
    if (indented || line.empty()) end_paragraph();
    if (indented != table) out += (table = indented) ? ".nf\n" : ".fi\n";
    if (indented)
      out += escaped(line) + "\n";
    else if (line.empty() && !out.empty() && !out.ends_with(".PP\n"))
      out += ".PP\n";
    else
      running += (running.empty() ? "" : " ") + line;
  }
  end_paragraph();
  if (table) out += ".fi\n";
  while (out.ends_with(".PP\n")) out.resize(out.size() - 4);
  return out;
}

std::string with_hyphens(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

}  // namespace

void offer(std::string_view begun, std::string_view word, std::string_view what) {
  if (word.starts_with(begun)) fmt::print("{}\t{}\n", word, what);
}

std::string man_page(const Manual& m) {
  const std::string page = with_hyphens(m.name);
  std::string title = page;
  std::transform(title.begin(), title.end(), title.begin(), ::toupper);
  std::string out = fmt::format(".TH {} 1 \"{}\" \"{}\"\n.SH NAME\n{}", title, build_date(),
                                program_version(), wrapped(page + " - " + m.summary));
  out += fmt::format(".SH SYNOPSIS\n.B {}\n{}.SH DESCRIPTION\n{}.SH {}\n", escaped(m.name),
                     wrapped(m.usage), paragraphs(m.about), m.heading);
  for (const Manual::Entry& e : m.entries)
    out += fmt::format(".TP\n.B {}\n{}", escaped(e.title), wrapped(e.text));
  out += ".SH SEE ALSO\n";
  for (std::size_t i = 0; i < m.also.size(); ++i)
    out += fmt::format(".BR {} (1){}\n", escaped(with_hyphens(m.also[i])),
                       i + 1 < m.also.size() ? "," : "");
  return out;
}

int call(const Verbs& g, const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    print_group(g);
    return words.empty() ? static_cast<int>(Exit::usage) : 0;
  }
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (words[0] == "--help=complete") return complete(g, rest);
  if (words[0] == "--help=man") {
    fmt::print(
        "{}", man_page(manual_of(g, rest.empty() ? "benchmark of positional encodings" : rest[0])));
    return 0;
  }
  const Verb& v = verb_of(g, words[0]);
  if (rest.size() == 1 && rest[0] == "--help=man") return v.run({rest[0], v.summary});
  return v.run(rest);
}

}  // namespace pesuite::cli
