// The grammar of hypotheses, and how a suite states them.
#include "suite/hypothesis.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "model/metrics.h"
#include "model/protocol.h"

namespace pesuite {

const std::vector<std::string>& quantity_metrics() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const Metric& m : metrics()) names.emplace_back(m.name);
    return names;
  }();
  return all;
}

std::string_view relation_text(Comparison::Relation r) {
  switch (r) {
    case Comparison::Relation::less: return "<";
    case Comparison::Relation::less_equal: return "<=";
    case Comparison::Relation::greater: return ">";
    case Comparison::Relation::greater_equal: return ">=";
    case Comparison::Relation::equal: return "~";
  }
  return "?";
}

std::string Comparison::text() const {
  return fmt::format("{} {} {}", left.text, relation_text(relation), right.text);
}

namespace {

bool letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

const std::map<std::string, Term::Kind>& functions() {
  static const std::map<std::string, Term::Kind> all = {
      {"min", Term::Kind::minimum},   {"max", Term::Kind::maximum},
      {"mean", Term::Kind::mean},     {"abs", Term::Kind::magnitude},
      {"log", Term::Kind::logarithm}, {"exp", Term::Kind::exponential}};
  return all;
}

class RuleParser {
 public:
  explicit RuleParser(std::string_view text) : text_(text) {}

  std::vector<Comparison> statement() {
    if (text_.size() > most_bytes)
      refuse(most_bytes, fmt::format("nobody reads a claim of {} bytes; at most {} are understood",
                                     text_.size(), most_bytes));
    std::vector<Comparison> out;
    do chain(out);
    while (word("and"));
    skip();
    if (at_ < text_.size())
      refuse(at_, fmt::format("'{}' is not understood here; comparisons are joined by 'and'",
                              text_.substr(at_)));
    return out;
  }

 private:
  static constexpr std::size_t most_bytes = 4000;
  static constexpr int deepest = 64;

  // While a part of a part is read.
  struct Deeper {
    explicit Deeper(RuleParser& parser) : p(parser) {
      if (++p.depth_ > deepest)
        p.refuse(p.at_, fmt::format("parts stand in each other more than {} deep", deepest));
    }
    ~Deeper() { --p.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    RuleParser& p;
  };

  [[noreturn]] void refuse(std::size_t at, const std::string& why) const {
    fail(Exit::usage, "column {}: {}", at + 1, why);
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  bool word(std::string_view w) {
    skip();
    const std::size_t end = at_ + w.size();
    if (text_.substr(at_, w.size()) != w) return false;
    if (end < text_.size() && (letter(text_[end]) || digit(text_[end]))) return false;
    at_ = end;
    return true;
  }
  // A list in braces would copy them, and what they hold, at each of a long sum's signs.
  static std::vector<Term> both(Term left, Term right) {
    std::vector<Term> parts;
    parts.reserve(2);
    parts.push_back(std::move(left)), parts.push_back(std::move(right));
    return parts;
  }
  Term finish(Term t, std::size_t from) const {
    t.column = from + 1;
    t.text = trim(text_.substr(from, at_ - from));
    return t;
  }

  // a < b < c is a < b and b < c.
  void chain(std::vector<Comparison>& out) {
    Term left = sum();
    std::size_t count = 0;
    Comparison::Relation r{};
    while (relation(r)) {
      Term right = sum();
      if (!speaks(left) && !speaks(right))
        refuse(left.column - 1,
               "compares two numbers; one side must be a metric of an encoding, "
               "such as nll(NAME, 4x)");
      out.push_back({left, right, r});
      left = std::move(right);
      ++count;
    }
    if (count == 0)
      refuse(at_, "a comparison is missing: write <, <=, >, >= or ~ and another side");
  }

  bool relation(Comparison::Relation& r) {
    using R = Comparison::Relation;
    static constexpr std::pair<const char*, R> all[] = {{"<=", R::less_equal},
                                                        {">=", R::greater_equal},
                                                        {"<", R::less},
                                                        {">", R::greater},
                                                        {"~", R::equal}};
    if (peek() == '=') refuse(at_, "'=' is no relation; write ~ for \"equal within the margin\"");
    for (const auto& [token, relation] : all)
      if (take(token)) {
        r = relation;
        return true;
      }
    return false;
  }

  Term sum() {
    skip();
    const std::size_t from = at_;
    const Deeper deeper(*this);
    Term left = product();
    for (;;) {
      const char c = peek();
      if (c != '+' && c != '-') return left;
      ++at_;
      Term right = product();
      Term t;
      t.kind = c == '+' ? Term::Kind::add : Term::Kind::subtract;
      t.parts = both(std::move(left), std::move(right));
      left = finish(std::move(t), from);
    }
  }

  Term product() {
    skip();
    const std::size_t from = at_;
    Term left = factor();
    for (;;) {
      const char c = peek();
      if (c != '*' && c != '/') return left;
      ++at_;
      Term right = factor();
      Term t;
      t.kind = c == '*' ? Term::Kind::multiply : Term::Kind::divide;
      t.parts = both(std::move(left), std::move(right));
      left = finish(std::move(t), from);
    }
  }

  Term factor() {
    const char c = peek();
    const std::size_t from = at_;
    if (take("-")) {
      const Deeper deeper(*this);
      Term t;
      t.kind = Term::Kind::negate;
      t.parts = {factor()};
      return finish(std::move(t), from);
    }
    if (take("(")) {
      Term t = sum();
      if (!take(")")) refuse(at_, "a ')' is missing");
      return finish(std::move(t), from);
    }
    if (digit(c) || c == '.') return number(from);
    if (letter(c)) return call(from);
    if (c == '\0') refuse(at_, "the text ends where a metric or a number is expected");
    refuse(at_, fmt::format("'{}' is not understood; here stands a metric such as nll(NAME, 4x) or "
                            "a number",
                            c));
  }

  Term number(std::size_t from) {
    while (at_ < text_.size() &&
           (digit(text_[at_]) || text_[at_] == '.' || text_[at_] == 'e' ||
            ((text_[at_] == '-' || text_[at_] == '+') && text_[at_ - 1] == 'e')))
      ++at_;
    Term t;
    if (!parse_count(text_.substr(from, at_ - from), t.value))
      refuse(from, fmt::format("'{}' is no number", text_.substr(from, at_ - from)));
    if (at_ < text_.size() && text_[at_] == '%') ++at_, t.value /= 100;
    return finish(std::move(t), from);
  }

  Term call(std::size_t from) {
    while (at_ < text_.size() && (letter(text_[at_]) || digit(text_[at_]))) ++at_;
    const std::string name(text_.substr(from, at_ - from));
    const auto& metrics = quantity_metrics();
    const bool metric = std::find(metrics.begin(), metrics.end(), name) != metrics.end();
    if (!metric && !functions().contains(name)) {
      std::vector<std::string> known = metrics;
      for (const auto& [f, kind] : functions()) known.push_back(f);
      refuse(from, fmt::format("there is no metric or function '{}'{}", name,
                               nearest(name, known).empty() ? "; known are " + join(known, ", ")
                                                            : did_you_mean(name, known)));
    }
    if (!take("("))
      refuse(at_, fmt::format("'{0}' needs arguments: {0}({1})", name,
                              metric ? "NAME, 4x" : "..., ..."));
    Term t;
    if (metric) {
      t.kind = Term::Kind::quantity;
      t.quantity = quantity(name, from);
      return finish(std::move(t), from);
    }
    t.kind = functions().at(name);
    do t.parts.push_back(sum());
    while (take(","));
    if (!take(")")) refuse(at_, fmt::format("a ')' is missing after the arguments of '{}'", name));
    const bool one = t.kind == Term::Kind::magnitude || t.kind == Term::Kind::logarithm ||
                     t.kind == Term::Kind::exponential;
    if (one && t.parts.size() != 1) refuse(from, fmt::format("'{}' takes one argument", name));
    return finish(std::move(t), from);
  }

  // The text of an argument: up to a comma or the closing parenthesis that is not inside others.
  std::string argument() {
    const std::size_t from = at_;
    int depth = 0;
    char quote = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == '(' || c == '[') {
        ++depth;
      } else if (depth > 0 && (c == ')' || c == ']')) {
        --depth;
      } else if (c == ',' || c == ')') {
        if (depth == 0) break;
      }
    }
    if (at_ == text_.size()) refuse(from, "a ')' is missing");
    return trim(text_.substr(from, at_ - from));
  }

  static std::string unquoted(const std::string& s) {
    const bool quoted = s.size() >= 2 && (s[0] == '\'' || s[0] == '"') && s.back() == s[0];
    return quoted ? s.substr(1, s.size() - 2) : s;
  }

  // Where the '=' of `NAME = VALUE` stands, 0 in another text: 'rope => pi(scale=4)' names nothing.
  // By hand, as below: the standard library's expressions take a frame of the stack for each byte.
  static std::size_t after_name(const std::string& a) {
    std::size_t at = 0;
    if (a.empty() || !letter(a[0])) return 0;
    while (at < a.size() && (letter(a[at]) || digit(a[at]))) ++at;
    while (at < a.size() && a[at] == ' ') ++at;
    if (at >= a.size() || a[at] != '=') return 0;
    const char next = at + 1 < a.size() ? a[at + 1] : '\0';
    return next == '>' || next == '=' ? 0 : at;
  }

  // Digits and points, then k, then x: 256, 4k, 1.5x.
  static bool looks_like_a_length(std::string_view a) {
    if (a.ends_with('x')) a.remove_suffix(1);
    if (a.ends_with('k') || a.ends_with('K')) a.remove_suffix(1);
    return !a.empty() &&
           std::all_of(a.begin(), a.end(), [](char c) { return digit(c) || c == '.'; });
  }

  Quantity quantity(const std::string& metric, std::size_t from) {
    Quantity q;
    q.metric = metric;
    bool closed = false;
    while (!closed) {
      skip();
      const std::size_t at = at_;
      const std::string a = argument();
      closed = text_[at_++] == ')';
      if (a.empty()) refuse(at, fmt::format("an argument of '{}' is missing", metric));
      if (const std::size_t eq = after_name(a); eq != 0)
        set(q, trim(a.substr(0, eq)), unquoted(trim(a.substr(eq + 1))), at);
      else
        place(q, a, at);
    }
    if (q.encoding.empty())
      refuse(from, fmt::format("'{0}' names no encoding: write {0}(NAME, 4x)", metric));
    return q;
  }

  // An argument without a name says by its form what it is.
  void place(Quantity& q, const std::string& a, std::size_t at) {
    if (looks_like_a_length(a))
      set(q, "eval_len", a, at);
    else if (names_protocol(a))
      set(q, "protocol", a, at);
    else if (a == "seen" || a == "unseen" || a == "recall")
      set(q, "bucket", a, at);
    else
      set(q, "encoding", unquoted(a), at);
  }

  void set(Quantity& q, const std::string& key, const std::string& value, std::size_t at) {
    const auto once = [&](std::string& field) {
      if (!field.empty())
        refuse(at, fmt::format("'{}' is a second {}, beside '{}'", value, key, field));
      field = value;
    };
    double x = 0;
    if (key == "encoding") {
      once(q.encoding);
    } else if (key == "task") {
      once(q.task);
    } else if (key == "model") {
      once(q.model);
    } else if (key == "protocol") {
      once(q.protocol);
      const auto protocol = find_protocol(value);
      if (!protocol)
        refuse(at,
               fmt::format("'{}' is no protocol; known are {}", value, protocol_examples(" and ")));
      q.protocol = protocol->text();  // as records have it
    } else if (key == "bucket") {
      if (value != "seen" && value != "unseen" && value != "all" && value != "recall")
        refuse(at, fmt::format("bucket is '{}'; known are seen, unseen, recall and all", value));
      once(q.bucket);
    } else if (key == "eval_len" || key == "length") {
      q.multiple = value.ends_with("x");
      if (!parse_count(value.substr(0, value.size() - (q.multiple ? 1 : 0)), x) || x <= 0)
        refuse(at,
               fmt::format("'{}' is no length; write tokens (256) or a multiple of the training "
                           "length (4x)",
                           value));
      q.length = x;
    } else if (key == "train_len") {
      if (!parse_count(value, x) || x < 1)
        refuse(at, fmt::format("train_len is '{}', which is no number of tokens", value));
      q.train_length = static_cast<int>(x);
    } else if (!q.axes.emplace(key, value).second) {
      refuse(at, fmt::format("'{}' is given twice", key));
    }
  }

  static bool speaks(const Term& t) {
    return t.kind == Term::Kind::quantity || std::any_of(t.parts.begin(), t.parts.end(), speaks);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

namespace {

// A share beside a number that no share can be was meant in percent.
void check_bounds(const Term& share, const Term& bound) {
  if (share.kind != Term::Kind::quantity || bound.kind != Term::Kind::number) return;
  const Metric& m = metric(share.quantity.metric);
  if (m.bounded && bound.value > 1)
    fail(Exit::usage, "column {0}: {1} is at most 1, so it is never {2}; write {2}% for percent",
         bound.column, m.name, format_number(bound.value));
}

}  // namespace

std::vector<Comparison> parse_hypothesis(std::string_view text) {
  std::vector<Comparison> out = RuleParser(text).statement();
  for (const Comparison& c : out) check_bounds(c.left, c.right), check_bounds(c.right, c.left);
  return out;
}

namespace {

void check_names(const Term& t, const SuiteNames& names) {
  for (const Term& p : t.parts) check_names(p, names);
  if (t.kind != Term::Kind::quantity) return;
  const Quantity& q = t.quantity;
  const auto refuse = [&](const std::string& why) {
    fail(Exit::usage, "column {}: {}: {}", t.column, t.text, why);
  };
  const auto known = [&](const std::vector<std::string>& all, const std::string& name) {
    return std::any_of(all.begin(), all.end(),
                       [&](const std::string& one) { return glob_match(name, one); });
  };
  const auto& e = names.encodings;
  if (std::find(e.begin(), e.end(), q.encoding) == e.end())
    refuse(fmt::format("the suite has no encoding '{}'{}", q.encoding,
                       nearest(q.encoding, e).empty() ? "; it has " + join(e, ", ")
                                                      : did_you_mean(q.encoding, e)));
  if (!q.task.empty() && !known(names.tasks, q.task))
    refuse(fmt::format("the suite has no task '{}'{}", q.task, did_you_mean(q.task, names.tasks)));
  if (!q.model.empty() && !known(names.models, q.model))
    refuse(
        fmt::format("the suite has no model '{}'{}", q.model, did_you_mean(q.model, names.models)));
  if (q.task.empty() && names.tasks.size() > 1)
    refuse(fmt::format("of {} tasks none is named; add task=NAME, or task=* for the mean over them",
                       names.tasks.size()));
  if (q.model.empty() && names.models.size() > 1)
    refuse(fmt::format("of {} models none is named; add model=NAME", names.models.size()));
}

}  // namespace

void check_names(const std::vector<Comparison>& all, const SuiteNames& names) {
  for (const Comparison& c : all) check_names(c.left, names), check_names(c.right, names);
}

std::vector<Hypothesis> read_hypotheses(Reader& suite, const SuiteNames* known) {
  std::vector<Hypothesis> out;
  suite.tables("hypothesis", [&](Reader& r, const std::string&) {
    Hypothesis h;
    h.id = r.text("id", fmt::format("H{}", out.size() + 1));
    h.says = r.text("says", "");
    h.source = r.text("source", "");
    h.expect = r.text("expect", "");
    h.alpha = r.number("alpha", h.alpha, 1e-6, 0.5);
    if (r.has("margin")) h.margin = r.number("margin", 0, 0, 1e18);
    if (h.expect.empty()) {
      r.problem("expect", "is missing: write e.g. expect = \"nll(A, 4x) < nll(B, 4x)\"");
      return;
    }
    for (const Hypothesis& o : out)
      if (o.id == h.id) r.problem("id", fmt::format("'{}' is used twice", h.id));
    try {
      h.comparisons = parse_hypothesis(h.expect);
      if (known != nullptr) check_names(h.comparisons, *known);
      out.push_back(std::move(h));
    } catch (const Error& e) {
      r.problem("expect", fmt::format("is no hypothesis: {}", e.what()));
    }
  });
  return out;
}

}  // namespace pesuite
