#include "text/regex.h"

#include <oniguruma.h>

#include "base/error.h"

namespace pesuite::text {

namespace {

const OnigUChar* bytes(std::string_view text) {
  return reinterpret_cast<const OnigUChar*>(text.data());
}

std::string message_of(int error, OnigErrorInfo* of = nullptr) {
  OnigUChar text[ONIG_MAX_ERROR_MESSAGE_LEN];
  const int n = onig_error_code_to_str(text, error, of);
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(n)};
}

struct FreesRegion {
  void operator()(OnigRegion* r) const { onig_region_free(r, 1); }
};

void begin_once() {
  static const int begun = [] {
    OnigEncoding utf8 = ONIG_ENCODING_UTF8;
    return onig_initialize(&utf8, 1);
  }();
  PES_CHECK(begun == ONIG_NORMAL);
}

}  // namespace

struct Regex::Code {
  OnigRegex regex = nullptr;
  ~Code() {
    if (regex != nullptr) onig_free(regex);
  }
};

Regex::Regex(const std::string& expression) : code_(std::make_unique<Code>()) {
  begin_once();
  OnigErrorInfo wrong{};
  const int code = onig_new(&code_->regex, bytes(expression), bytes(expression) + expression.size(),
                            ONIG_OPTION_NONE, ONIG_ENCODING_UTF8, ONIG_SYNTAX_DEFAULT, &wrong);
  if (code != ONIG_NORMAL)
    fail(Exit::data, "the pattern '{}' does not compile: {}", expression, message_of(code, &wrong));
}
Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

std::optional<std::pair<std::size_t, std::size_t>> Regex::find(std::string_view text,
                                                               std::size_t from) const {
  const std::unique_ptr<OnigRegion, FreesRegion> found(onig_region_new());
  PES_CHECK(found != nullptr);
  const OnigUChar *begin = bytes(text), *end = begin + text.size();
  const int n =
      onig_search(code_->regex, begin, end, begin + from, end, found.get(), ONIG_OPTION_NONE);
  if (n == ONIG_MISMATCH) return std::nullopt;
  if (n < 0)
    fail(Exit::data, "the tokenizer's pattern cannot cut a text of {} bytes: {}", text.size(),
         message_of(n));
  return std::pair(static_cast<std::size_t>(found->beg[0]),
                   static_cast<std::size_t>(found->end[0]));
}

}  // namespace pesuite::text
