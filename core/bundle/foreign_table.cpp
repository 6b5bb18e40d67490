#include "bundle/foreign_table.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

namespace pesuite {

namespace {

// Fields of a line, which goes on over line ends in quotes.
class Csv {
 public:
  Csv(std::string_view text, const fs::path& path) : text_(text), path_(path) {
    const std::string_view header = text.substr(0, text.find('\n'));
    for (const char c : {';', '\t'})
      if (std::count(header.begin(), header.end(), c) >
          std::count(header.begin(), header.end(), separator_))
        separator_ = c;
  }

  // False at the end; empty lines are passed over.
  bool next(std::vector<std::string>& fields, std::size_t& line) {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) skip();
    if (at_ == text_.size()) return false;
    line = line_;
    fields.clear();
    do fields.push_back(field());
    while (at_ < text_.size() && text_[at_] == separator_ && ++at_);
    return true;
  }

 private:
  void skip() { line_ += text_[at_++] == '\n'; }

  std::string field() {
    std::string out;
    if (at_ < text_.size() && text_[at_] == '"') return quoted();
    while (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n')
      out += text_[at_++];
    return trim(out);
  }
  std::string quoted() {
    const std::size_t line = line_;
    std::string out;
    for (++at_; at_ < text_.size(); skip()) {
      if (text_[at_] == '"') {
        if (at_ + 1 == text_.size() || text_[at_ + 1] != '"') break;
        ++at_;
      }
      out += text_[at_];
    }
    if (at_ == text_.size())
      fail(Exit::data, "{}: line {} has a quote that is not closed", path_.string(), line);
    ++at_;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\r')) ++at_;
    if (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n')
      fail(Exit::data, "{}: line {} has more behind a quote that is closed", path_.string(), line);
    return out;
  }

  std::string_view text_;
  const fs::path& path_;
  char separator_ = ',';
  std::size_t at_ = 0, line_ = 1;
};

ForeignTable from_csv(std::string_view text, const fs::path& path) {
  ForeignTable out;
  Csv csv(text, path);
  std::size_t line = 0;
  if (!csv.next(out.columns, line)) fail(Exit::data, "{} is empty", path.string());
  std::set<std::string> names;
  for (const std::string& c : out.columns)
    if (!c.empty() && !names.insert(c).second)
      fail(Exit::data, "{}: two columns are named '{}'", path.string(), c);
  for (std::vector<std::string> fields; csv.next(fields, line);) {
    if (fields.size() != out.columns.size())
      fail(Exit::data, "{}: line {} has {} fields, and the header names {}", path.string(), line,
           fields.size(), out.columns.size());
    ForeignTable::Row row{line, {}};
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (!fields[i].empty()) row.fields[out.columns[i]] = fields[i];
    out.rows.push_back(std::move(row));
  }
  return out;
}

void flatten(const Json& object, const std::string& prefix, ForeignTable& table,
             ForeignTable::Row& row, std::set<std::string>& names) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix + key;
    if (value.is_object()) {
      flatten(value, name + ".", table, row, names);
      continue;
    }
    if (names.insert(name).second) table.columns.push_back(name);
    if (value.is_null()) continue;
    std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (!text.empty()) row.fields[name] = std::move(text);
  }
}

ForeignTable from_json(const std::string& text, const fs::path& path) {
  ForeignTable out;
  std::set<std::string> names;
  const auto add = [&](const Json& j, std::size_t line) {
    if (!j.is_object())
      fail(Exit::data, "{}: line or item {} is no JSON object", path.string(), line);
    ForeignTable::Row row{line, {}};
    flatten(j, "", out, row, names);
    out.rows.push_back(std::move(row));
  };
  const Json whole = Json::parse(text, nullptr, false);
  if (whole.is_array()) {
    std::size_t item = 0;
    for (const Json& j : whole) add(j, ++item);
  } else {
    std::size_t number = 0;
    for (const std::string& line : split(text, '\n'))
      if (++number, !trim(line).empty()) add(Json::parse(line, nullptr, false), number);
  }
  return out;
}

void require_text(const std::string& text, const fs::path& path) {
  const auto sound = [](const std::string& s) { return is_utf8(s) && s.find('\0') == s.npos; };
  if (sound(text)) return;
  std::size_t number = 0;
  for (const std::string& line : split(text, '\n'))
    if (++number; !sound(line))
      fail(Exit::data, "{}: line {} is no text in UTF-8; save the file in that encoding",
           path.string(), number);
}

}  // namespace

bool is_foreign_table(const fs::path& path) {
  const std::string kind = path.extension();
  return kind == ".csv" || kind == ".tsv" || kind == ".json" || kind == ".jsonl";
}

ForeignTable read_foreign_table(const fs::path& path) {
  std::string text = read_file(path);
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // a byte order mark
  require_text(text, path);
  return path.extension() == ".csv" || path.extension() == ".tsv" ? from_csv(text, path)
                                                                  : from_json(text, path);
}

}  // namespace pesuite
