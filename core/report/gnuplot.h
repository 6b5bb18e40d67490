// Draws figures by gnuplot: a script that needs nothing but its data beside it, made of the
// figure's values and the templates plots/style.gp and plots/KIND.gp as they stand.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "report/figure.h"

namespace pesuite {

namespace fs = std::filesystem;

// `text` as a gnuplot string: in double quotes, with nothing in it that gnuplot would act on.
std::string gnuplot_string(std::string_view text);

// In an SVG, the element around a point that says something: its first child is the title.
inline constexpr const char* said_point = "<g class=\"point\">";

// Where the templates are: installed beside the program, or in the source tree; empty where
// neither.
fs::path plots_folder();

// Formats of pictures: "svg", "pdf", "png", "tikz" (a .tex for a document of its own).
const std::vector<std::string>& picture_formats();

struct Drawn {
  std::vector<fs::path> files;     // in the order of the figures; of the first format alone
  std::vector<std::string> notes;  // what could not be drawn, and why
};
// Writes NAME.tsv and NAME.gp of each figure into `folder` and draws NAME.FORMAT by gnuplot, where
// that is on PATH; each drawing has `seconds`.
Drawn draw(const std::vector<const Figure*>& figures, const fs::path& folder,
           const fs::path& templates, const std::vector<std::string>& formats = {"svg"},
           double seconds = 20);

}  // namespace pesuite
