#include "model/card.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "model/options.h"

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

Json options_json(const pes_card& card) {
  Json out = Json::array();
  for (const pes_option* o : options_of(card)) {
    Json j = {
        {"name", o->name}, {"type", type_name(o->type)}, {"default", o->value}, {"help", o->help}};
    if (o->type == PES_INT || o->type == PES_REAL || o->type == PES_REALS) {
      j["low"] = o->low;
      j["high"] = std::isfinite(o->high) ? Json(o->high) : Json("inf");
    }
    if (o->type == PES_CHOICE) j["choices"] = split(o->choices, '|');
    out.push_back(std::move(j));
  }
  return out;
}

}  // namespace

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

Json card_json(const pes_card& c, const Library& library) {
  Json j = {{"name", c.name},
            {"summary", c.summary},
            {"version", c.version},
            {"taxonomy", c.taxonomy},
            {"options", options_json(c)},
            {"library",
             {{"name", library.entry().name},
              {"version", library.entry().version},
              {"licence", library.entry().licence},
              {"file", library.path().string()}}}};
  if (c.used_in != nullptr) j["used_in"] = c.used_in;
  if (c.paper != nullptr) j["paper"] = c.paper;
  if (c.bibtex != nullptr) j["bibtex"] = c.bibtex;
  return j;
}

Json encoding_json(const pes_encoding& e, const Library& library) {
  const pes_card& c = *e.card;
  Json j = card_json(c, library);
  j["claims"] = claims_of(c);
  j["acts_on"] = places_of(e);
  if (!cost_of(c).empty()) j["cost"] = cost_of(c);
  if (!rating_of(c).empty()) j["rating"] = rating_of(c);
  if (!extension_of(c).empty()) j["extension"] = extension_of(c);
  if (!extends_of(c).empty()) j["extends"] = extends_of(c);
  if (!use_if_of(c).empty()) j["use_if"] = use_if_of(c);
  return j;
}

std::vector<std::vector<std::string>> option_rows(const pes_card& card) {
  std::vector<std::vector<std::string>> rows = {{"option", "type", "default", "range", "help"}};
  for (const pes_option* o : options_of(card)) {
    std::string range;
    if (o->type == PES_INT || o->type == PES_REAL || o->type == PES_REALS)
      range = fmt::format("{} .. {}", format_number(o->low), format_number(o->high));
    if (o->type == PES_CHOICE) range = join(split(o->choices, '|'), " ");
    rows.push_back({o->name, std::string(type_name(o->type)), *o->value == 0 ? "''" : o->value,
                    range, o->help});
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

std::string card_markdown(const pes_encoding& e) {
  const pes_card& c = *e.card;
  std::string out = "| card | |\n|---|---|\n";
  const auto row = [&](const char* name, const std::string& value) {
    if (!value.empty()) out += markdown_row({name, value});
  };
  row("taxonomy", or_empty(c.taxonomy));
  row("claims", join(claims_of(c), ", "));
  row("acts on", join(places_of(e), ", "));
  row("cost class", cost_of(c));
  row("claimed length generalization", rating_of(c));
  row("claimed context extension", extension_of(c));
  row("takes over models trained with", join(extends_of(c), ", "));
  row("used in", or_empty(c.used_in));
  row("paper", or_empty(c.paper));
  const auto options = options_of(c);
  if (options.empty()) return out + "\nNo options.\n";
  std::vector<std::vector<std::string>> rows = {{"option", "default", "range", "meaning"}};
  for (const auto& cells : option_rows(c)) {
    if (cells[0] == "option") continue;
    const std::string range = cells[3].empty() ? cells[1] : cells[3];
    rows.push_back({"`" + cells[0] + "`", "`" + cells[2] + "`", range, cells[4]});
  }
  return out + "\n" + markdown_text_table(rows);
}

}  // namespace pesuite
