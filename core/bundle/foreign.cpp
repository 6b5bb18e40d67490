#include "bundle/foreign.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/seal.h"
#include "base/text.h"
#include "bundle/foreign_table.h"
#include "model/metrics.h"

namespace pesuite {

namespace {

// What can stand in a row, and the names of columns that say so.
struct Known {
  std::string what;
  std::vector<std::string> names;
};
const std::vector<Known>& context() {
  static const std::vector<Known> all = {
      {"encoding",
       {"encoding", "pe", "pe_type", "pos_enc", "position_encoding", "positional_encoding",
        "position_encoding_type", "embedding"}},
      {"seed", {"seed"}},
      {"task", {"task", "dataset"}},
      {"model", {"model", "model_size"}},
      {"train_len", {"train_len", "train_length"}},
      {"eval_len",
       {"eval_len", "eval_length", "test_length", "length", "context", "context_length",
        "seq_len"}},
      {"protocol", {"protocol"}},
      {"step", {"step", "global_step"}},
      {"tokens", {"tokens"}},
      {"n", {"n", "examples", "num_examples"}},
      {"metric", {"metric"}},
      {"value", {"value"}}};
  return all;
}
const std::vector<Known>& numbers() {
  static const std::vector<Known> all = {
      {"nll", {"nll", "loss", "eval_loss", "test_loss"}},
      {"ppl", {"ppl", "perplexity"}},
      {"bpb", {"bpb", "bits_per_byte"}},
      {"acc", {"acc", "accuracy", "test_acc", "test_accuracy"}},
      {"em", {"em", "exact_match", "seq_acc"}},
      {"train_loss", {"train_loss"}},
      {"val_loss", {"val_loss", "valid_loss", "validation_loss"}}};
  return all;
}

std::string plain(const std::string& name) {
  std::string out;
  for (const char c : name)
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c == ' ' || c == '-' ? '_' : c;
  return out;
}

std::vector<std::string> all_names() {
  std::vector<std::string> out;
  for (const auto* list : {&context(), &numbers()})
    for (const Known& k : *list) out.push_back(k.what);
  return out;
}
bool is_number(const std::string& what) {
  return std::any_of(numbers().begin(), numbers().end(),
                     [&](const Known& k) { return k.what == what; });
}
void check_name(const std::string& what) {
  const std::vector<std::string> names = all_names();
  if (std::find(names.begin(), names.end(), what) == names.end())
    fail(Exit::usage, "'{}' is nothing that a row of results has{}; what it can have is {}", what,
         did_you_mean(what, names), join(names, ", "));
}

struct Source {  // of numbers
  std::string what, column;
  std::optional<std::int64_t> eval_len;  // from the column's name
};

// Which columns hold what.
struct Columns {
  std::map<std::string, std::string> context;
  std::vector<Source> numbers;
};

std::optional<std::int64_t> whole(const std::string& text) {
  double x = 0;
  if (!parse_count(text, x) || x < 0 || x > 9e15 || x != std::floor(x)) return std::nullopt;
  return static_cast<std::int64_t>(x);
}

// "0.25", "1e-3", "inf", "nan".
bool parse_number(std::string_view text, double& out) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

class Import {
 public:
  Import(const fs::path& path, const ForeignOptions& options)
      : path_(path), options_(options), table_(read_foreign_table(path)) {
    for (const auto& [what, value] : options_.constants) check_name(what);
    for (const auto& [what, column] : options_.columns) name(what, column);
    for (const auto& [column, value] : options_.where) check_column(column);
    find();
    if (!is_long() && std::all_of(columns_.numbers.begin(), columns_.numbers.end(),
                                  [](const Source& s) { return s.what == "bpb"; }))
      fail(Exit::data,
           "{} has bits per byte alone, and reports are of losses, perplexities, accuracies or "
           "exact "
           "matches; --columns names one, as in --columns 'nll=my_loss'",
           path_.string());
    if (is_language()) otherwise_ = "reported";
  }

  ForeignResults all() {
    std::size_t left_out = 0;
    for (const ForeignTable::Row& row : table_.rows)
      if (wanted(row))
        read(row);
      else
        ++left_out;
    if (left_out > 0)
      out_.notes.push_back(fmt::format("left out, as --where says: {}", rows(left_out)));
    note_columns();
    as_shares();
    if (out_.records.empty())
      fail(Exit::data, "{} has no number in {}", path_.string(), rows(table_.rows.size()));
    return std::move(out_);
  }

 private:
  static std::string rows(std::size_t n) { return counted(n, "row"); }

  void check_column(const std::string& column) const {
    if (std::find(table_.columns.begin(), table_.columns.end(), column) == table_.columns.end())
      fail(Exit::usage, "{} has no column '{}'{}", path_.string(), column,
           did_you_mean(column, table_.columns));
  }

  // A column that was named.
  void name(const std::string& what, const std::string& column) {
    check_name(what);
    const std::size_t star = column.find('*');
    if (star == std::string::npos) {
      check_column(column);
      add(what, column, std::nullopt);
      return;
    }
    if (!is_number(what))
      fail(Exit::usage, "'{}={}': only numbers stand in several columns", what, column);
    const std::string begin = column.substr(0, star), end = column.substr(star + 1);
    bool some = false;
    for (const std::string& c : table_.columns) {
      if (c.size() < begin.size() + end.size() || !c.starts_with(begin) || !c.ends_with(end))
        continue;
      const std::string between = c.substr(begin.size(), c.size() - begin.size() - end.size());
      if (between.find_first_not_of("0123456789") != std::string::npos) continue;
      const auto length = whole(between);
      if (length && *length > 0) add(what, c, length), some = true;
    }
    if (!some)
      fail(Exit::usage, "{} has no column like '{}' with a length in place of the star",
           path_.string(), column);
  }
  void add(const std::string& what, const std::string& column,
           std::optional<std::int64_t> eval_len) {
    if (is_number(what))
      columns_.numbers.push_back({what, column, eval_len});
    else
      columns_.context[what] = column;
    used_.insert(column);
  }

  // Columns that nobody named, by their usual names.
  void find() {
    const auto of = [&](const Known& k) -> const std::string* {
      for (const std::string& n : k.names)
        for (const std::string& c : table_.columns)
          if (plain(c) == n && !used_.contains(c)) return &c;
      return nullptr;
    };
    for (const Known& k : context())
      if (!columns_.context.contains(k.what) && !options_.constants.contains(k.what))
        if (const std::string* const c = of(k)) add(k.what, *c, std::nullopt);
    if (is_long() || !columns_.numbers.empty()) return;
    for (const Known& k : numbers())
      if (const std::string* const c = of(k)) add(k.what, *c, std::nullopt);
    // Beside a loss a perplexity says the same again; beside curves it is that of their validation.
    const auto is_loss = [](const Source& s) {
      return s.what == "nll" || s.what == "train_loss" || s.what == "val_loss";
    };
    if (std::any_of(columns_.numbers.begin(), columns_.numbers.end(), is_loss))
      std::erase_if(columns_.numbers,
                    [&](const Source& s) { return s.what == "ppl" && used_.erase(s.column) > 0; });
    if (columns_.numbers.empty())
      fail(Exit::data,
           "{} has no column of numbers that is known by its name; --columns names one, as in "
           "--columns 'nll=my_loss'. Its columns are {}",
           path_.string(), join(table_.columns, ", "));
  }
  bool has(const std::string& what) const {
    return columns_.context.contains(what) || options_.constants.contains(what);
  }

  // Losses alone: a language, of which every number has a protocol. Problems have none.
  bool is_language() const {
    const auto is_score = [](const std::string& what) { return what == "acc" || what == "em"; };
    if (!is_long())
      return std::none_of(columns_.numbers.begin(), columns_.numbers.end(),
                          [&](const Source& s) { return is_score(s.what); });
    return std::none_of(table_.rows.begin(), table_.rows.end(), [&](const ForeignTable::Row& row) {
      return wanted(row) && is_score(metric_of(row));
    });
  }

  // A metric a row, named in a column.
  bool is_long() const { return columns_.numbers.empty() && has("metric") && has("value"); }
  std::string metric_of(const ForeignTable::Row& row) const {
    const std::string metric = needed(row, "metric");
    for (const Known& k : numbers())
      if (std::find(k.names.begin(), k.names.end(), plain(metric)) != k.names.end()) return k.what;
    fail(Exit::data, "{}: line {} has the metric '{}', which is not known", path_.string(),
         row.line, metric);
  }

  bool wanted(const ForeignTable::Row& row) const {
    return std::all_of(options_.where.begin(), options_.where.end(), [&](const auto& w) {
      const auto it = row.fields.find(w.first);
      return (it == row.fields.end() ? "" : it->second) == w.second;
    });
  }

  std::string text(const ForeignTable::Row& row, const std::string& what,
                   const std::string& otherwise) const {
    if (const auto it = options_.constants.find(what); it != options_.constants.end())
      return it->second;
    const auto column = columns_.context.find(what);
    if (column == columns_.context.end()) return otherwise;
    const auto it = row.fields.find(column->second);
    return it == row.fields.end() ? otherwise : it->second;
  }
  std::string needed(const ForeignTable::Row& row, const std::string& what) const {
    const std::string found = text(row, what, "");
    if (found.empty())
      fail(Exit::data,
           "{}: line {} does not say its {}; --columns '{}=COLUMN' names a column, --constant "
           "'{}=...' says it for all",
           path_.string(), row.line, what, what, what);
    return found;
  }
  std::int64_t count(const ForeignTable::Row& row, const std::string& what, const std::string& text,
                     std::int64_t least) const {
    const auto n = whole(text);
    if (!n || *n < least)
      fail(Exit::data, "{}: line {} has '{}' for {}, which wants a whole number from {} on",
           path_.string(), row.line, text, what, least);
    return *n;
  }

  void read(const ForeignTable::Row& row) {
    if (is_long()) return observe(row, metric_of(row), text(row, "value", ""), std::nullopt);
    for (const Source& s : columns_.numbers) {
      const auto it = row.fields.find(s.column);
      if (it != row.fields.end()) observe(row, s.what, it->second, s.eval_len);
    }
  }

  void observe(const ForeignTable::Row& row, const std::string& what, const std::string& number,
               std::optional<std::int64_t> eval_len) {
    if (number.empty()) return;
    double value = 0;
    const bool share = what == "acc" || what == "em";
    if (!parse_number(number, value) || value == -HUGE_VAL)
      fail(Exit::data, "{}: line {} has '{}' for {}, which is no number", path_.string(), row.line,
           number, what);
    if (share && (value < 0 || std::isinf(value)))
      fail(Exit::data, "{}: line {} has '{}' for {}, which is a share", path_.string(), row.line,
           number, what);
    const bool curve = what == "train_loss" || what == "val_loss";
    const std::string name = curve || what == "ppl" ? "nll" : what;
    if (what == "ppl") {
      if (value <= 0)
        fail(Exit::data, "{}: line {} has the perplexity {}", path_.string(), row.line, number);
      value = std::log(value);
    }
    Json j = cell_of(row);
    const std::int64_t train = j["coords"]["train_len"];
    const std::int64_t length =
        eval_len ? *eval_len
                 : count(row, "eval_len", text(row, "eval_len", std::to_string(train)), 1);
    const std::string protocol = text(row, "protocol", otherwise_);
    const Metric& m = metric(name);
    j["metric"] = name, j["unit"] = m.unit, j["direction"] = m.direction();
    j["split"] = what == "train_loss" ? "train" : curve ? "val" : length > train ? "ood" : "id";
    if (!curve) {
      j["coords"]["eval_len"] = length;
      if (!protocol.empty()) j["coords"]["protocol"] = protocol;
    }
    const std::string setting = fmt::format("{}\n{}", length, protocol);
    j["part"] = curve ? "train" : "eval-" + checksum(setting).substr(0, 8);
    if (std::isfinite(value)) {
      j["value"] = value, j["status"] = "ok";
    } else {
      j["value"] = nullptr, j["status"] = std::isnan(value) ? "nan" : "inf";
    }
    const std::string place =
        fmt::format("{}\n{}\n{}\n{}\n{}", j["cell"].get<std::string>(), name, setting,
                    curve ? j["step"].get<std::int64_t>() : -1, j["split"].get<std::string>());
    if (const auto [it, is_new] = seen_.emplace(place, row.line); !is_new)
      fail(Exit::data,
           "{}: lines {} and {} both have {} at {} of {} with seed {}; --columns says which column "
           "tells them apart, as in 'model=COLUMN'{}",
           path_.string(), it->second, row.line, what, length,
           j["encoding"]["id"].get<std::string>(), j["seed"].get<std::uint64_t>(),
           has("eval_len") ? "" : "; none was taken for eval_len");
    out_.records.push_back(std::move(j));
  }

  // What is the same for all numbers of a row.
  Json cell_of(const ForeignTable::Row& row) const {
    const std::string encoding = needed(row, "encoding"), task = text(row, "task", "task"),
                      model = text(row, "model", "model");
    const std::int64_t seed = count(row, "seed", needed(row, "seed"), 0),
                       train = count(row, "train_len", needed(row, "train_len"), 1);
    const std::string settings =
        fmt::format("imported\n{}\n{}\n{}\n{}", encoding, task, model, train);
    Json j = {{"schema", "pesuite.record/1"},
              {"suite", options_.suite},
              {"cell", checksum(fmt::format("{}\n{}", settings, seed))},
              {"series", checksum(settings)},
              {"encoding",
               {{"id", encoding},
                {"expr", encoding},
                {"plugins", {{{"id", "imported"}, {"version", ""}, {"build", ""}}}}}},
              {"model", model},
              {"task", task},
              {"task_expr", task},
              {"task_version", ""},
              {"seed", seed},
              {"backend", "other"},
              {"determinism", "none"},
              {"coords", {{"train_len", train}}},
              {"step", count(row, "step", text(row, "step", "0"), 0)},
              {"tokens", count(row, "tokens", text(row, "tokens", "0"), 0)},
              {"flops", 0.0},
              {"wall_s", 0.0},
              {"path", "none"},
              {"ts", now_}};
    if (const std::string n = text(row, "n", ""); !n.empty()) j["n"] = count(row, "n", n, 1);
    return j;
  }

  // Shares above one are percents, of a whole metric or not at all.
  void as_shares() {
    for (const Metric& m : metrics()) {
      if (m.written != Metric::Written::share) continue;
      double most = 0;
      for (const Json& j : out_.records)
        if (j["metric"] == m.name && j["value"].is_number())
          most = std::max(most, j["value"].get<double>());
      if (most <= 1) continue;
      if (most > 100)
        fail(Exit::data, "{} has {} of {}, which is neither a share nor a percentage",
             path_.string(), m.name, most);
      out_.notes.push_back(
          fmt::format("{} was read as percent, since it goes up to {:.4g}", m.name, most));
      for (Json& j : out_.records)
        if (j["metric"] == m.name && j["value"].is_number())
          j["value"] = j["value"].get<double>() / 100;
    }
  }

  void note_columns() {
    std::vector<std::string> read, unread;
    for (const auto& [what, column] : columns_.context) read.push_back(what + " = " + column);
    for (const Source& s : columns_.numbers)
      if (read.size() < 20) read.push_back(s.what + " = " + s.column);
    for (const std::string& c : table_.columns)
      if (!used_.contains(c) && !c.empty()) unread.push_back(c);
    out_.notes.push_back("columns read: " + join(read, ", "));
    if (!unread.empty()) {
      const std::size_t all = unread.size();
      if (all > 12) unread.resize(12), unread.push_back("...");
      out_.notes.push_back(
          fmt::format("{} not read: {}", counted(all, "column"), join(unread, ", ")));
    }
  }

  const fs::path path_;
  const ForeignOptions& options_;
  ForeignTable table_;
  Columns columns_;
  std::string otherwise_;  // the protocol of rows that name none
  std::set<std::string> used_;
  std::map<std::string, std::size_t> seen_;
  const std::string now_ = utc_timestamp();
  ForeignResults out_;
};

}  // namespace

ForeignResults foreign_results(const fs::path& table, const ForeignOptions& options) {
  return Import(table, options).all();
}

}  // namespace pesuite
