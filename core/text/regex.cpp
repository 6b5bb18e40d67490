#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"

namespace pesuite::text {

namespace {

// White_Space, which PCRE2's \s is not: it has U+180E and lacks none.
constexpr const char* white_space =
    "\\x{9}-\\x{D}\\x{20}\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}"
    "\\x{205F}\\x{3000}";

// \s and \S written out, \h as Oniguruma and Rust do not have it is left alone.
std::string with_white_space(const std::string& expression) {
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c == '\\' && i + 1 < expression.size()) {
      const char next = expression[++i];
      if (next == 's')
        out += in_class ? white_space : std::string("[") + white_space + "]";
      else if (next == 'S' && !in_class)
        out += std::string("[^") + white_space + "]";
      else
        out += std::string("\\") + next;
      continue;
    }
    if (c == '[' && !in_class) {
      in_class = true;
      out += c;
      if (i + 1 < expression.size() && expression[i + 1] == '^') out += expression[++i];
      if (i + 1 < expression.size() && expression[i + 1] == ']') out += expression[++i];
      continue;
    }
    if (c == ']') in_class = false;
    out += c;
  }
  return out;
}

std::string message_of(int error) {
  unsigned char text[256];
  pcre2_get_error_message(error, text, sizeof(text));
  return reinterpret_cast<const char*>(text);
}

}  // namespace

struct Regex::Code {
  pcre2_code* code = nullptr;
  pcre2_match_context* context = nullptr;
  ~Code() {
    pcre2_match_context_free(context);
    pcre2_code_free(code);
  }
};

Regex::Regex(const std::string& expression) : code_(std::make_unique<Code>()) {
  const std::string written = with_white_space(expression);
  int error = 0;
  PCRE2_SIZE at = 0;
  code_->code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(written.data()), written.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &at, nullptr);
  if (code_->code == nullptr)
    fail(Exit::data, "the pattern '{}' does not compile: {}", expression, message_of(error));
  pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE);  // without it matching is slower, not wrong
  code_->context = pcre2_match_context_create(nullptr);
  PES_CHECK(code_->context != nullptr);
  pcre2_set_match_limit(code_->context, 10'000'000);
}
Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

std::optional<std::pair<std::size_t, std::size_t>> Regex::find(std::string_view text,
                                                               std::size_t from) const {
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(
      pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
  PES_CHECK(match != nullptr);
  const int n = pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                            from, PCRE2_NO_UTF_CHECK, match.get(), code_->context);
  if (n == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (n < 0)
    fail(Exit::data, "the tokenizer's pattern cannot cut a text of {} bytes: {}", text.size(),
         message_of(n));
  const PCRE2_SIZE* found = pcre2_get_ovector_pointer(match.get());
  return std::pair(found[0], found[1]);
}

}  // namespace pesuite::text
