#include "report/document.h"

#include <algorithm>

namespace pesuite {

std::string Text::plain() const {
  std::string out;
  for (const Span& s : spans_) out += s.text;
  return out;
}

Text join(const std::vector<Text>& all, std::string_view between) {
  Text out;
  for (const Text& t : all) {
    if (t.empty()) continue;
    if (!out.empty()) out += Text(std::string(between));
    out += t;
  }
  return out;
}

Text detail::Slots::fill(const std::string& written) const {
  Text out;
  for (std::size_t at = 0; at < written.size();) {
    const std::size_t slot = written.find(mark, at);
    out += Text(written.substr(at, slot - at));
    if (slot == std::string::npos) break;
    const std::size_t number =
        slot + 1 < written.size() ? static_cast<unsigned char>(written[slot + 1]) : 0;
    if (number > 0 && number <= texts_.size()) out += texts_[number - 1];
    at = slot + 2;
  }
  return out;
}

std::vector<const Figure*> Document::all_figures() const {
  std::vector<const Figure*> out;
  for (const Part& p : parts_)
    if (const auto* f = std::get_if<Figure>(&p)) out.push_back(f);
  return out;
}

Document Document::at(Depth depth) const {
  struct Open {
    const Heading* heading;
    bool written = false;
  };
  Document out;
  std::vector<Open> open;  // headings that stand above the part, outermost first
  for (const Part& p : parts_) {
    if (const auto* h = std::get_if<Heading>(&p)) {
      while (!open.empty() && open.back().heading->level >= h->level) open.pop_back();
      open.push_back({h});
      continue;
    }
    Depth here = Depth::screen;
    for (const Open& o : open) here = std::max(here, o.heading->depth);
    if (depth == Depth::page ? here > depth : here != depth) continue;
    for (Open& o : open)
      if (!std::exchange(o.written, true)) out.parts_.emplace_back(*o.heading);
    out.parts_.push_back(p);
  }
  return out;
}

}  // namespace pesuite
