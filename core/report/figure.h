// A figure is a gnuplot script that needs nothing but its data beside it: settings written here,
// followed by the templates plots/style.gp and plots/KIND.gp as they stand.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace pesuite {

namespace fs = std::filesystem;

// Settings of a template, as gnuplot assignments.
class Settings {
 public:
  void number(std::string_view name, double value);
  void text(std::string_view name, std::string_view value);
  void texts(std::string_view name, const std::vector<std::string>& values);  // an array
  void line(const std::string& command) { text_ += command + "\n"; }
  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

// `text` as a gnuplot string: in double quotes, with nothing in it that gnuplot would act on.
std::string gnuplot_string(std::string_view text);

// Colour, marker and dash of the i-th encoding of a suite, the same in every figure. The first
// seven colours are those of Okabe and Ito, told apart by colour-blind readers.
struct SeriesStyle {
  std::string colour;  // "#0072B2"
  int marker = 0;      // gnuplot point type
  std::string dash;    // gnuplot dash type
};
SeriesStyle series_style(std::size_t i);
std::string faint(const std::string& colour);  // nearer to white

struct Figure {
  std::string name;  // of its files
  std::string kind;  // of its template
  std::string title, caption;
  Settings settings;
  std::vector<std::vector<std::string>> rows;  // the first is the heading
};

// Where the templates are: installed beside the program, or in the source tree; empty where
// neither.
fs::path plots_folder();

struct Drawn {
  std::vector<fs::path> files;     // SVG, in the order of the figures
  std::vector<std::string> notes;  // what could not be drawn, and why
};
// Writes NAME.tsv and NAME.gp of each figure into `folder` and draws NAME.svg by gnuplot, where
// that is on PATH; each drawing has `seconds`.
Drawn draw(const std::vector<Figure>& figures, const fs::path& folder, const fs::path& templates,
           double seconds = 20);

// Ticks for a logarithmic axis from low to high, at most about eight.
std::vector<double> log_ticks(double low, double high);

}  // namespace pesuite
