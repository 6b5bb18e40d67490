#include "report/figures.h"

#include <algorithm>

namespace pesuite {

#define PESUITE_FIGURES(name) std::vector<FigureKind> name##_figures();
#include "figure_kinds.inc"  // made by the build: PESUITE_FIGURES(NAME) for each file
#undef PESUITE_FIGURES

const std::vector<FigureKind>& figure_kinds() {
  static const std::vector<FigureKind> all = [] {
    std::vector<FigureKind> out;
    const auto add = [&](std::vector<FigureKind> more) {
      std::move(more.begin(), more.end(), std::back_inserter(out));
    };
#define PESUITE_FIGURES(name) add(name##_figures());
#include "figure_kinds.inc"
#undef PESUITE_FIGURES
    std::stable_sort(out.begin(), out.end(),
                     [](const auto& a, const auto& b) { return a.place < b.place; });
    return out;
  }();
  return all;
}

std::vector<Figure> figures_of(FigureSection section, const FigureContext& context) {
  std::vector<Figure> out;
  for (const FigureKind& kind : figure_kinds()) {
    if (kind.section != section) continue;
    std::vector<Figure> more = kind.make(context);
    std::move(more.begin(), more.end(), std::back_inserter(out));
  }
  return out;
}

}  // namespace pesuite
