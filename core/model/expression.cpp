#include "model/expression.h"

#include <cctype>

#include "base/error.h"
#include "base/text.h"

namespace pesuite {

namespace {

class Parser {
 public:
  Parser(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  Expression expression() {
    Expression e;
    e.name = word("a name");
    if (accept('(')) {
      if (!accept(')')) {
        do {
          const std::string name = word("an option's name");
          expect('=');
          if (!e.options.emplace(name, value()).second)
            refuse("option '" + name + "' given twice, the second time");
        } while (accept(','));
        expect(')');
      }
    }
    skip();
    if (at_ < text_.size()) refuse(fmt::format("unexpected '{}'", text_[at_]));
    return e;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool accept(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse(fmt::format("expected '{}'", c));
  }
  [[noreturn]] void refuse(const std::string& reason) const {
    fail(Exit::usage, "{} '{}': {} at column {}", what_, text_, reason, at_ + 1);
  }
  std::string word(const char* wanted) {
    skip();
    const std::size_t start = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    if (at_ == start) refuse(std::string("expected ") + wanted);
    return std::string(text_.substr(start, at_ - start));
  }
  std::string value() {
    skip();
    const std::size_t start = at_;
    if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) {
      const std::size_t end = text_.find(text_[at_], at_ + 1);
      if (end == std::string_view::npos) refuse("a quote that is never closed");
      at_ = end + 1;
      return std::string(text_.substr(start + 1, end - start - 1));
    }
    if (at_ < text_.size() && text_[at_] == '[') {
      const std::size_t end = text_.find(']', at_);
      if (end == std::string_view::npos) refuse("a list that is never closed");
      at_ = end + 1;
      return std::string(text_.substr(start, at_ - start));
    }
    while (at_ < text_.size() && std::string_view(",()").find(text_[at_]) == std::string_view::npos)
      ++at_;
    std::string out = trim(text_.substr(start, at_ - start));
    if (out.empty()) refuse("expected a value");
    return out;
  }

  std::string_view text_, what_;
  std::size_t at_ = 0;
};

}  // namespace

Expression parse_expression(std::string_view text, std::string_view what) {
  return Parser(text, what).expression();
}

}  // namespace pesuite
