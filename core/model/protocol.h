// Which targets of a corpus count at a length, and with how much context. All that tells one
// protocol from another stands in protocol.cpp: a new one is a row there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pesuite {

// What a model reads of a document. Targets before place `first_scored` of the window do not count.
struct Window {
  std::int64_t start = 0;
  int first_scored = 0;
};

// The lengths that all windows of an evaluation follow from, in tokens.
struct WindowLengths {
  int longest = 0, train = 0;
};

struct ProtocolRule;

class Protocol {
 public:
  Protocol();  // windows side by side, in which every target counts

  std::string text() const;         // "sliding(64)", as it is written in suites and records
  bool same_targets() const;        // the same targets count at every length
  std::string explanation() const;  // how it scores, as the end of a sentence
  // Of each document, at one length.
  std::vector<Window> windows(const WindowLengths&, int length) const;

 private:
  friend std::optional<Protocol> find_protocol(std::string_view);
  Protocol(const ProtocolRule& rule, int count) : rule_(&rule), count_(count) {}
  const ProtocolRule* rule_;
  int count_ = 0;  // the number in brackets, where it has one
};

std::optional<Protocol> find_protocol(std::string_view text);  // nothing where there is none
Protocol parse_protocol(std::string_view text);                // Error (usage)
// Whether a text begins as one does, sound or not: "sliding(x)".
bool names_protocol(std::string_view text);
// Of one that records name: false also for those that this program does not know.
bool same_targets(std::string_view text);

// For help and schemas.
std::string protocol_examples(const char* last = ", ");  // joined by commas, the last by `last`
std::string protocol_help();
std::string protocol_pattern(
    std::string_view count);  // a regular expression; `count` of its number

}  // namespace pesuite
