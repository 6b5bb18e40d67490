// Added tokens: texts that are one token wherever they stand.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace pesuite::text {

struct AddedToken {
  std::string content;
  Token id = 0;
  bool special = false;                 // text like any other unless asked for
  bool single_word = false;             // only where no word goes on before or behind it
  bool lstrip = false, rstrip = false;  // takes the white space beside it
  bool normalized = false;              // looked for in the normalized text
};

// Of those that begin at one place the longest is taken, from the left.
class AddedTokens {
 public:
  void add(const AddedToken&);
  bool empty() const { return by_first_.empty(); }
  // Calls `token` and `text` in the order of the text.
  void cut(std::string_view text, bool specials, const std::function<void(Token)>& token,
           const std::function<void(std::string_view, std::size_t at)>& rest) const;

 private:
  std::map<char, std::vector<AddedToken>> by_first_;  // longest first
};

}  // namespace pesuite::text
