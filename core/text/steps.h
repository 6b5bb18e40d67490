// What tokenizer.json files do to a text before its pieces are merged: normalizers change it,
// pre-tokenizers cut it. As Hugging Face's tokenizers 0.23 does.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/regex.h"
#include "text/split.h"

namespace pesuite::text {

// A text or an expression to look for.
class Needle {
 public:
  static Needle literal(std::string text);
  static Needle regex(const std::string& expression);
  static Needle scanner(Pattern);  // all of a text is matches of it
  // The next match from `from` on.
  std::optional<std::pair<std::size_t, std::size_t>> find(std::string_view text,
                                                          std::size_t from) const;

 private:
  std::variant<std::string, Regex, Pattern> what_;
};

// From a text to a text, UTF-8 both.
using Normalizer = std::function<std::string(std::string_view)>;
enum class Form { nfc, nfd, nfkc, nfkd };
Normalizer unicode_form(Form);
Normalizer lower_case();            // character by character
Normalizer prepended(std::string);  // what is not empty
Normalizer replaced(Needle, std::string by);
Normalizer stripped(bool left, bool right);

// The pieces of a stretch of text between added tokens.
struct Pieces {
  std::vector<std::string_view> views;
  std::deque<std::string> own;  // of views that are not of the stretch itself
  bool first = false;           // the stretch begins the text
};
using Cutter = std::function<void(Pieces&)>;
enum class Behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };
Cutter split_at(Needle, Behavior, bool invert);
Cutter digits(bool individual);
Cutter prefix_space();  // a piece that begins with none gets one
enum class PrependScheme { always, first, never };
Cutter metaspace(std::string replacement, PrependScheme, bool split);

}  // namespace pesuite::text
