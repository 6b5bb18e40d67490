#include "model/protocol.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace pesuite {

struct ProtocolRule {
  std::string_view name;
  int example;  // of the number in brackets; 0: it has none
  bool same_targets;
  const char *help, *explanation;  // {0}: the number
  std::vector<Window> (*windows)(const WindowLengths&, int count, int length);
};

namespace {

// A document's first `longest` tokens cut into windows.
std::vector<Window> side_by_side(const WindowLengths& all, int, int length) {
  std::vector<Window> out;
  for (std::int64_t start = 0; start + length <= all.longest; start += length)
    out.push_back({start, 0});
  return out;
}

// Windows whose last `count` targets together are the `region` behind token `longest`.
std::vector<Window> ending_behind(const WindowLengths& all, int region, int count, int length) {
  std::vector<Window> out;
  for (int end = count; end <= region; end += count)
    out.push_back({std::int64_t{all.longest} + end - length, length - std::min(length, count)});
  return out;
}

const ProtocolRule rules[] = {
    {"non_overlapping", 0, false, "windows side by side, in which every target counts",
     "documents are cut into windows of the evaluation length and every token counts, also those "
     "at a window's start, which have little context",
     side_by_side},
    {"sliding", 64, true, "windows end {0} apart, the last {0} targets of each count",
     "windows of the evaluation length end {0} tokens apart and the last {0} tokens of each count: "
     "the same tokens at every length, each with at least length - {0} tokens of context",
     [](const WindowLengths& all, int count, int length) {
       return ending_behind(all, std::max(1, all.train / count) * count, count, length);
     }},
    {"last", 64, true, "the last {0} targets of one window",
     "one window a document, whose last {0} tokens count: the same tokens at every length",
     [](const WindowLengths& all, int count, int length) {
       return ending_behind(all, count, count, length);
     }}};

const ProtocolRule* rule_named(std::string_view name) {
  const auto found = std::find_if(std::begin(rules), std::end(rules),
                                  [&](const auto& r) { return r.name == name; });
  return found == std::end(rules) ? nullptr : found;
}

template <class Count>
std::string written(const ProtocolRule& r, const Count& count) {
  return r.example == 0 ? std::string(r.name) : fmt::format("{}({})", r.name, count);
}

}  // namespace

Protocol::Protocol() : rule_(&rules[0]) {}

std::string Protocol::text() const {
  return written(*rule_, count_);
}
bool Protocol::same_targets() const {
  return rule_->same_targets;
}
std::string Protocol::explanation() const {
  return fmt::format(fmt::runtime(rule_->explanation), count_);
}
std::vector<Window> Protocol::windows(const WindowLengths& all, int length) const {
  return rule_->windows(all, count_, length);
}

std::optional<Protocol> find_protocol(std::string_view text) {
  const std::size_t open = text.find('(');
  const ProtocolRule* rule = rule_named(text.substr(0, open));
  if (rule == nullptr || (rule->example > 0) != (open != std::string_view::npos)) return {};
  if (rule->example == 0) return Protocol(*rule, 0);
  double n = 0;
  if (!text.ends_with(")") || !parse_count(text.substr(open + 1, text.size() - open - 2), n) ||
      !(n >= 1 && n < 1e9 && n == std::floor(n)))
    return {};
  return Protocol(*rule, static_cast<int>(n));
}

Protocol parse_protocol(std::string_view text) {
  if (const auto found = find_protocol(text)) return *found;
  fail(Exit::usage, "there is no protocol '{}'; known are {}", text, protocol_examples(" and "));
}

bool names_protocol(std::string_view text) {
  const std::size_t open = text.find('(');
  const ProtocolRule* rule = rule_named(text.substr(0, open));
  return rule != nullptr && (rule->example > 0) == (open != std::string_view::npos);
}

bool same_targets(std::string_view text) {
  const auto found = find_protocol(text);
  return found && found->same_targets();
}

std::string protocol_examples(const char* last) {
  std::string out;
  for (const ProtocolRule& r : rules) {
    if (!out.empty()) out += &r == std::end(rules) - 1 ? last : ", ";
    out += written(r, r.example);
  }
  return out;
}

std::string protocol_help() {
  std::string out;
  for (const ProtocolRule& r : rules)
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", written(r, "K"),
                       fmt::format(fmt::runtime(r.help), "K"));
  return out + ".";
}

std::string protocol_pattern(std::string_view count) {
  std::vector<std::string> names;
  for (const ProtocolRule& r : rules)
    names.push_back(r.example == 0 ? std::string(r.name)
                                   : fmt::format("{}\\({}\\)", r.name, count));
  return "^(" + join(names, "|") + ")$";
}

}  // namespace pesuite
