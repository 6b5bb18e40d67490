#include "plugin/card.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "plugin/options.h"

namespace pesuite {

namespace {

std::vector<std::string> parts(const char* text, char separator) {
  std::vector<std::string> out;
  if (text == nullptr || *text == 0) return out;
  for (const std::string& part : split(text, separator)) out.push_back(trim(part));
  return out;
}
std::string or_empty(const char* text) {
  return text == nullptr ? "" : text;
}

// JSON has no numbers for these.
Json bound(double x) {
  return std::isfinite(x) ? Json(x) : Json(format_number(x));
}

Json options_json(const pes_card& card) {
  Json out = Json::array();
  for (const pes_option* o : options_of(card)) {
    Json j = {
        {"name", o->name}, {"type", type_name(o->type)}, {"default", o->value}, {"help", o->help}};
    if (o->type == PES_INT || o->type == PES_REAL || o->type == PES_REALS) {
      j["low"] = bound(o->low);
      j["high"] = bound(o->high);
    }
    if (o->type == PES_CHOICE) j["choices"] = parts(o->choices, '|');
    out.push_back(std::move(j));
  }
  return out;
}

}  // namespace

bool is_lower_snake(std::string_view name) {
  return !name.empty() && name[0] >= 'a' && name[0] <= 'z' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

std::vector<std::string> claims_of(const pes_card& card) {
  static constexpr std::pair<std::uint32_t, const char*> names[] = {
      {PES_RELATIVE, "relative"},
      {PES_PARAMETER_FREE, "parameter-free"},
      {PES_NORM_PRESERVING, "norm-preserving"},
      {PES_MONOTONE_DECAY, "monotone decay"},
      {PES_UNBOUNDED, "unbounded"}};
  std::vector<std::string> out;
  for (const auto& [bit, name] : names)
    if ((card.claims & bit) != 0) out.emplace_back(name);
  return out;
}

std::vector<std::string> taxonomy_of(const pes_card& card) {
  return parts(card.taxonomy, ',');
}

std::vector<std::string> places_of(const pes_encoding& e) {
  std::vector<std::string> out;
  if (e.embed != nullptr) out.emplace_back("embedding");
  if (e.attend != nullptr) out.emplace_back("attention");
  if (e.rewrite != nullptr) out.emplace_back("scores");
  return out;
}

std::string cost_of(const pes_card& c) {
  return PES_HAS(&c, cost) ? or_empty(c.cost) : "";
}
std::string rating_of(const pes_card& c) {
  return PES_HAS(&c, rating) ? or_empty(c.rating) : "";
}
std::string extension_of(const pes_card& c) {
  return PES_HAS(&c, extension) ? or_empty(c.extension) : "";
}
std::vector<std::string> extends_of(const pes_card& c) {
  return PES_HAS(&c, extends) ? parts(c.extends, '|') : std::vector<std::string>();
}
std::vector<std::string> use_if_of(const pes_card& c) {
  return PES_HAS(&c, use_if) ? parts(c.use_if, '|') : std::vector<std::string>();
}
std::uint32_t uses_of(const pes_card& c) {
  return PES_HAS(&c, uses) ? c.uses : 0;
}
std::vector<std::string> tune_of(const pes_card& c) {
  return PES_HAS(&c, tune) ? parts(c.tune, '|') : std::vector<std::string>();
}

namespace {

std::vector<std::string> use_names(std::uint32_t uses) {
  static constexpr std::pair<std::uint32_t, const char*> names[] = {
      {PES_WITHOUT_TUNING, "without tuning"}, {PES_SEARCHED, "searched"}, {PES_PLACED, "placed"}};
  std::vector<std::string> out;
  for (const auto& [bit, name] : names)
    if ((uses & bit) != 0) out.emplace_back(name);
  return out;
}

Json head_of(const pes_card& c) {
  Json j = {
      {"name", c.name}, {"summary", c.summary}, {"version", c.version}, {"taxonomy", c.taxonomy}};
  if (c.used_in != nullptr) j["used_in"] = c.used_in;
  if (c.paper != nullptr) j["paper"] = c.paper;
  if (c.bibtex != nullptr) j["bibtex"] = c.bibtex;
  return j;
}

}  // namespace

Json card_json(const pes_card& c) {
  Json j = head_of(c);
  j["options"] = options_json(c);
  return j;
}

Json encoding_json(const pes_encoding& e) {
  const pes_card& c = *e.card;
  Json j = head_of(c);
  j["claims"] = claims_of(c);
  j["acts_on"] = places_of(e);
  if (!cost_of(c).empty()) j["cost"] = cost_of(c);
  if (!rating_of(c).empty()) j["rating"] = rating_of(c);
  if (!extension_of(c).empty()) j["extension"] = extension_of(c);
  if (!extends_of(c).empty()) j["extends"] = extends_of(c);
  if (!use_if_of(c).empty()) j["use_if"] = use_if_of(c);
  if (uses_of(c) != 0) j["uses"] = use_names(uses_of(c));
  if (!tune_of(c).empty()) j["tune"] = tune_of(c);
  j["options"] = options_json(c);
  return j;
}

std::string card_text(const Json& card, const char* key) {
  const auto it = card.find(key);
  if (it == card.end()) return "";
  return it->is_array() ? join(it->get<std::vector<std::string>>(), ", ") : it->get<std::string>();
}

std::vector<std::vector<std::string>> option_rows(const Json& card) {
  const auto number = [](const Json& bound) {
    return bound.is_string() ? bound.get<std::string>() : format_number(bound.get<double>());
  };
  std::vector<std::vector<std::string>> rows = {{"option", "type", "default", "range", "help"}};
  for (const Json& o : card.at("options")) {
    std::string range;
    if (o.contains("low")) range = fmt::format("{} .. {}", number(o["low"]), number(o["high"]));
    if (o.contains("choices")) range = join(o["choices"].get<std::vector<std::string>>(), " ");
    const std::string value = card_text(o, "default");
    rows.push_back({card_text(o, "name"), card_text(o, "type"), value.empty() ? "''" : value, range,
                    card_text(o, "help")});
  }
  return rows;
}

namespace {

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (std::string cell : cells) {
    for (std::size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2)
      cell.replace(at, 1, "\\|");
    line += " " + cell + " |";
  }
  return line + "\n";
}

}  // namespace

std::string markdown_text_table(const std::vector<std::vector<std::string>>& rows) {
  std::string out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    out += markdown_row(rows[r]);
    if (r == 0) out += markdown_row(std::vector<std::string>(rows[0].size(), "---"));
  }
  return out;
}

namespace {

// As a suite writes it: alone, with options that tuning would try, over a trained model.
std::string usage_of(const Json& card) {
  const std::string name = card_text(card, "name");
  const auto first = [&](const char* key) {
    const auto it = card.find(key);
    return it == card.end() || it->empty() ? std::string() : it->at(0).get<std::string>();
  };
  std::vector<std::string> out = {"`" + name + "`"};
  if (const std::string tuned = first("tune"); !tuned.empty())
    out.push_back(fmt::format("`{}({})`", name, tuned));
  const bool untuned = card_text(card, "uses").find("without tuning") != std::string::npos;
  if (const std::string trained = first("extends"); !trained.empty())
    out.push_back(untuned ? fmt::format("`{} => {}`", trained, name)
                          : fmt::format("`{} -> {} @ 90%`", trained, name));
  return join(out, ", ");
}

}  // namespace

std::string card_markdown(const Json& card) {
  std::string out = "| card | |\n|---|---|\n";
  const auto row = [&](const char* name, const char* key) {
    const std::string value = card_text(card, key);
    if (!value.empty()) out += markdown_row({name, value});
  };
  out += markdown_row({"in a suite, `expr =`", usage_of(card)});
  row("taxonomy", "taxonomy");
  row("claims", "claims");
  row("acts on", "acts_on");
  row("cost class", "cost");
  row("claimed length generalization", "rating");
  row("claimed context extension", "extension");
  row("takes over models trained with", "extends");
  row("tuning tries", "tune");
  row("used in", "used_in");
  row("paper", "paper");
  const auto options = option_rows(card);
  if (options.size() == 1) return out + "\nNo options.\n";
  std::vector<std::vector<std::string>> rows = {{"option", "default", "range", "meaning"}};
  for (std::size_t i = 1; i < options.size(); ++i) {
    const auto& cells = options[i];
    const std::string range = cells[3].empty() ? cells[1] : cells[3];
    rows.push_back({"`" + cells[0] + "`", "`" + cells[2] + "`", range, cells[4]});
  }
  return out + "\n" + markdown_text_table(rows);
}

std::string bibtex_text(const std::string& entry) {
  std::string out;
  int depth = 0;
  for (std::size_t i = 0; i < entry.size(); ++i) {
    const char c = entry[i];
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (c == '}' && depth == 0) {
      out += "\n}";
    } else if (c == ',' && depth == 1) {
      out += ",\n  ";
      while (i + 1 < entry.size() && entry[i + 1] == ' ') ++i;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace pesuite
