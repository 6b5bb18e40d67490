#include "encoding/expression.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "encoding/schedule.h"

namespace pesuite {

namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

// Without space at its ends, of the kinds that the parser skips.
std::string_view stripped(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

const std::vector<std::string> settings = {"optimizer", "lr",     "warmup",
                                           "schedule",  "length", "qk_norm"};

class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  Expression whole_term() {
    Expression e = term();
    end();
    return e;
  }
  EncodingExpression whole_encoding() {
    EncodingExpression e = swap();
    end();
    e.source = text_;
    return e;
  }

 private:
  // ------------------------------------------------------------------------------- characters
  void skip() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  bool next_is(std::string_view token) {
    skip();
    return text_.substr(at_).starts_with(token);
  }
  bool accept(std::string_view token) {
    if (!next_is(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) refuse(fmt::format("expected '{}'", token));
  }
  void end() {
    skip();
    if (at_ < text_.size()) refuse(fmt::format("unexpected '{}'", shown(text_[at_])));
  }
  static std::string shown(char c) {
    return std::isprint(static_cast<unsigned char>(c)) != 0
               ? std::string(1, c)
               : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  [[noreturn]] void refuse(const std::string& reason) const { refuse_at(at_, reason); }
  [[noreturn]] void refuse_at(std::size_t at, const std::string& reason,
                              std::string_view hint = "") const {
    fail(Exit::usage, "{} '{}': {} at column {}{}", what_, text_, reason, at + 1, hint);
  }
  // Words and numbers, which may hold more characters than names.
  std::string word(const char* wanted) {
    skip();
    const std::size_t start = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (at_ == start) refuse(std::string("expected ") + wanted);
    return std::string(text_.substr(start, at_ - start));
  }
  std::string number_text() {
    skip();
    const std::size_t start = at_;
    const auto goes_on = [&] {
      const char c = text_[at_];
      if (is_word(c) || c == '.' || c == '%') return true;
      const bool sign = c == '-' || c == '+';  // of an exponent, not of "->" or a sum
      return sign && at_ > start && std::tolower(text_[at_ - 1]) == 'e' && at_ + 1 < text_.size() &&
             std::isdigit(static_cast<unsigned char>(text_[at_ + 1])) != 0;
    };
    while (at_ < text_.size() && goes_on()) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }

  // ------------------------------------------------------------------------------------ terms
  Expression term() {
    Expression e;
    e.name = word("a name");
    if (accept("(") && !accept(")")) {
      do {
        const std::string name = word("an option's name");
        expect("=");
        if (!e.options.emplace(name, value()).second)
          refuse("option '" + name + "' given twice, the second time");
      } while (accept(","));
      expect(")");
    }
    return e;
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
    std::string out(stripped(text_.substr(start, at_ - start)));
    if (out.empty()) refuse("expected a value");
    return out;
  }

  // ---------------------------------------------------------------------------------- algebra
  EncodingExpression swap() {
    EncodingExpression e = schedule();
    if (!next_is("=>")) return e;
    if (!e.evaluation.empty()) refuse("a second '=>'");
    accept("=>");
    e.evaluation = plain("what '=>' swaps in", sum());
    if (next_is("->")) refuse("training cannot go on behind '=>': '->'");
    if (next_is("=>")) refuse("a second '=>'");
    return e;
  }

  EncodingExpression schedule() {
    EncodingExpression e = sum();
    while (next_is("->")) {
      if (!e.evaluation.empty()) refuse("training cannot go on behind '=>': '->'");
      Switch s;
      s.column = at_ + 1;
      accept("->");
      s.to = plain("what '->' switches to", sum());
      if (!accept("@"))
        refuse("expected '@' and when to switch, such as '@ 70%' or '@ 700 steps',");
      s.at = extent();
      while (accept(",")) setting(s);
      e.switches.push_back(std::move(s));
    }
    return e;
  }

  Extent extent() {
    skip();
    const std::size_t start = at_;
    std::string text = number_text();
    const std::size_t after = at_;
    skip();
    std::string unit;
    while (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0)
      unit += text_[at_++];
    if (unit.empty())
      at_ = after;
    else
      text += " " + unit;
    const auto e = parse_extent(text);
    if (!e)
      refuse_at(start, fmt::format("'{}' is no stretch of training such as 70%, 700 steps or 1.4B "
                                   "tokens,",
                                   text));
    return *e;
  }

  // Says once what it is given twice.
  template <class T, class V>
  void set(std::optional<T>& to, V value, std::size_t at, const std::string& name) {
    if (to) refuse_at(at, fmt::format("setting '{}' given twice", name));
    to = std::move(value);
  }
  std::string one_of(const std::vector<std::string>& known, const std::string& name) {
    skip();
    const std::size_t start = at_;
    std::string w = word(fmt::format("one of {} for '{}'", join(known, ", "), name).c_str());
    if (std::find(known.begin(), known.end(), w) == known.end())
      refuse_at(start, fmt::format("'{}' is none of {}", w, join(known, ", ")),
                did_you_mean(w, known));
    return w;
  }
  double positive(const std::string& name, const char* wanted) {
    skip();
    const std::size_t start = at_;
    const std::string text = number_text();
    double x = 0;
    if (!parse_count(text, x) || !(x > 0) || !std::isfinite(x))
      refuse_at(start, fmt::format("'{}' is no {} for '{}'", text, wanted, name));
    return x;
  }
  void setting(Switch& s) {
    skip();
    const std::size_t start = at_;
    const std::string name = word("a setting");
    if (name == "optimizer") {
      s.reset_optimizer = one_of({"keep", "reset"}, name) == "reset";
    } else if (name == "lr") {
      set(s.lr, positive(name, "learning rate"), start, name);
    } else if (name == "warmup") {
      set(s.warmup, extent(), start, name);
    } else if (name == "schedule") {
      set(s.schedule, one_of(schedule_names(), name), start, name);
    } else if (name == "length") {
      const double length = positive(name, "length");
      if (length > 1 << 24 || length != std::floor(length))
        refuse_at(start, "a length is a whole number of tokens,");
      set(s.length, static_cast<std::int64_t>(length), start, name);
    } else if (name == "qk_norm") {
      skip();
      const bool said = at_ < text_.size() && is_word(text_[at_]);
      set(s.qk_norm, said ? one_of({"before", "after", "off", "q", "k"}, name) : "before", start, name);
    } else {
      const std::string near = did_you_mean(name, settings);
      refuse_at(start, fmt::format("unknown setting '{}'", name),
                near.empty() ? fmt::format("; known are {}", join(settings, ", ")) : near);
    }
  }

  EncodingExpression sum() {
    EncodingExpression e = factor();
    while (next_is("+")) {
      e.first = plain("what stands in a sum", std::move(e));
      accept("+");
      Sum more = plain("what stands in a sum", factor());
      std::move(more.factors.begin(), more.factors.end(), std::back_inserter(e.first.factors));
    }
    return e;
  }

  EncodingExpression factor() {
    if (accept("(")) {
      if (++depth_ > 64) refuse("parentheses deeper than 64");
      EncodingExpression e = swap();
      expect(")");
      --depth_;
      return e;
    }
    const std::size_t name_at = at_;  // accept() has skipped what stands before it
    Sum::Factor f;
    f.column = name_at + 1;
    if (word("the name of an encoding, 'layers[' or '('") == "layers" && accept("[")) {
      if (in_pattern_) refuse_at(name_at, "'layers[...]' inside another");
      in_pattern_ = true;
      do {
        f.pattern.push_back(plain("what stands in 'layers[...]'", sum()));
        if (next_is("->") || next_is("=>"))
          refuse(fmt::format("a layer cannot switch alone: '{}'", text_.substr(at_, 2)));
      } while (accept(","));
      expect("]");
      in_pattern_ = false;
    } else {
      at_ = name_at;
      f.term = term();
    }
    EncodingExpression e;
    e.first.factors.push_back(std::move(f));
    return e;
  }

  // The sum that `e` is, where nothing else is allowed.
  Sum plain(const char* what, EncodingExpression e) {
    if (!e.switches.empty())
      refuse_at(e.switches.front().column - 1,
                fmt::format("{} cannot itself switch during training: '->'", what),
                "; switch the whole, as in (a + b) -> (a + c) @ 70%");
    if (!e.evaluation.empty())
      refuse_at(e.evaluation.factors.front().column - 1,
                fmt::format("{} cannot itself be swapped", what),
                "; '=>' stands last, as in (a + b) => (a + c)");
    return std::move(e.first);
  }

  std::string_view text_, what_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool in_pattern_ = false;
};

// As value() reads it back.
std::string quoted(const std::string& value) {
  const bool list = value.starts_with('[') && value.find(']') == value.size() - 1;
  const bool bare = !value.empty() && stripped(value) == value &&
                    value.find_first_of(",()") == std::string::npos &&
                    std::string_view("'\"[").find(value.front()) == std::string_view::npos;
  if (list || bare) return value;
  const char mark = value.find('\'') == std::string::npos ? '\'' : '"';
  return fmt::format("{0}{1}{0}", mark, value);
}

}  // namespace

Expression parse_expression(std::string_view text, std::string_view what) {
  return ExpressionParser(text, what).whole_term();
}
EncodingExpression parse_encoding(std::string_view text) {
  return ExpressionParser(text, "encoding").whole_encoding();
}

std::string to_text(const Expression& e) {
  std::vector<std::string> options;
  for (const auto& [name, value] : e.options)
    options.push_back(fmt::format("{}={}", name, quoted(value)));
  return options.empty() ? e.name : fmt::format("{}({})", e.name, join(options, ", "));
}

std::string to_text(const Sum& s, const TermText& term) {
  std::vector<std::string> factors;
  for (const Sum::Factor& f : s.factors) {
    if (f.pattern.empty()) {
      factors.push_back(term ? term(f) : to_text(f.term));
      continue;
    }
    std::vector<std::string> layers;
    for (const Sum& l : f.pattern) layers.push_back(to_text(l, term));
    factors.push_back(fmt::format("layers[{}]", join(layers, ", ")));
  }
  return join(factors, " + ");
}

std::string to_text(const EncodingExpression& e, const TermText& term) {
  std::string out = to_text(e.first, term);
  for (const Switch& s : e.switches) {
    out += fmt::format(" -> {} @ {}", to_text(s.to, term), s.at.text());
    if (s.reset_optimizer) out += ", optimizer reset";
    if (s.lr) out += fmt::format(", lr {}", format_number(*s.lr));
    if (s.warmup) out += fmt::format(", warmup {}", s.warmup->text());
    if (s.schedule) out += fmt::format(", schedule {}", *s.schedule);
    if (s.length) out += fmt::format(", length {}", *s.length);
    if (s.qk_norm) out += fmt::format(", qk_norm {}", *s.qk_norm);
  }
  if (!e.evaluation.empty()) out += fmt::format(" => {}", to_text(e.evaluation, term));
  return out;
}

}  // namespace pesuite
