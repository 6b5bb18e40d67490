// Every value of every seed as a list of objects, for pages and trackers.
#include "base/json.h"

#include <charconv>

#include "report/renderer.h"

namespace pesuite {

// "0.25" as a number; what JSON has no number for ("inf", names) as text, nothing as null.
static Json json_cell(const std::string& text) {
  if (text.empty()) return nullptr;
  double x = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && x - x == 0 ? Json(x) : Json(text);
}

Renderer json_renderer() {
  return {"json", [](const TableFile& t) {
            Json out = Json::array();
            for (std::size_t r = 1; r < t.csv.size(); ++r) {
              Json row = Json::object();
              for (std::size_t i = 0; i < t.csv[r].size() && i < t.csv[0].size(); ++i)
                row[t.csv[0][i]] = json_cell(t.csv[r][i]);
              out.push_back(std::move(row));
            }
            return out.dump(1) + "\n";
          }};
}

}  // namespace pesuite
