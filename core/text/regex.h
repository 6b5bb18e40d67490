// Regular expressions of tokenizer files, by Oniguruma, which Hugging Face's tokenizers use: sets in
// sets, && and lines that ^ and $ see are as there.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pesuite::text {

class Regex {
 public:
  // Error (data) with the reason where the expression does not compile.
  explicit Regex(const std::string& expression);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  // The first match that begins at `from` or later, as begin and end. The text is UTF-8. Error
  // (data) where the expression needs more than a fixed effort for it.
  std::optional<std::pair<std::size_t, std::size_t>> find(std::string_view text,
                                                          std::size_t from) const;

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

}  // namespace pesuite::text
