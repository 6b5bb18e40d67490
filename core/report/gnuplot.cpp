#include "report/gnuplot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "base/file.h"
#include "base/machine.h"
#include "base/text.h"
#include "pesuite/random.hpp"
#include "plugin/library.h"
#include "report/png.h"
#include "report/renderers/latex.h"

namespace pesuite {

std::string gnuplot_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : printable(text, true)) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c == '`' ? '\'' : c == '\t' ? ' ' : c;  // gnuplot runs what stands in backquotes
  }
  return out + "\"";
}

namespace {

std::string number(double x) {
  return std::isnan(x) ? "NaN" : fmt::format("{:.10g}", x);
}

// A name as data and script have it: gnuplot reads quotes, backslashes and long texts of data as
// something else. Names that hold them get a number that tells them apart.
std::string data_name(const std::string& name) {
  constexpr std::size_t longest = 100;
  std::string out = printable(name);
  const bool plain = out.size() <= longest && out.find_first_of("\"'\\`") == std::string::npos;
  if (plain) return out;
  out.resize(std::min(out.size(), longest));
  for (char& c : out)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return fmt::format("{}_{:08x}", out, static_cast<std::uint32_t>(pes::hash64(name)));
}

// Ticks as one string, for `eval "set xtics ".x_ticks`. Gnuplot writes a tick's number in place of
// what follows a % in its text.
std::string ticks_text(const Ticks& ticks) {
  std::vector<std::string> all;
  for (const auto& [at, text] : ticks)
    all.push_back(fmt::format("{} {:.10g}", gnuplot_string(join(split(text, '%'), "%%")), at));
  return "(" + join(all, ", ") + ")";
}

std::size_t lines_of(const Ticks& ticks) {
  std::size_t lines = 1;
  for (const auto& [at, text] : ticks) lines = std::max(lines, split(text, '\n').size());
  return lines;
}

// Assignments to variables that templates read.
class Assignments {
 public:
  void add(const std::string& name, double value) {
    text_ += fmt::format("{} = {}\n", name, number(value));
  }
  void add(const std::string& name, const std::string& value) {
    text_ += fmt::format("{} = {}\n", name, gnuplot_string(value));
  }
  void add(const std::string& name, const Ticks& ticks) { add(name, ticks_text(ticks)); }
  void add(const std::string& name, const std::vector<std::string>& values) {
    add_array(name, values, [](const std::string& v) { return gnuplot_string(v); });
  }
  void add(const std::string& name, const std::vector<double>& values) {
    add_array(name, values, number);
  }
  void add(const std::string& name, const std::vector<Ticks>& values) {
    add_array(name, values, [](const Ticks& t) { return gnuplot_string(ticks_text(t)); });
  }
  void add(const char* axis, const Figure::Axis& a) {
    const std::string prefix = std::string(axis) + "_";
    add(prefix + "label", a.label);
    add(prefix + "low", a.low), add(prefix + "high", a.high);
    add(prefix + "log", a.logarithmic ? 1 : 0);
    if (!a.ticks.empty()) add(prefix + "ticks", a.ticks);
    add(prefix + "lines", static_cast<double>(lines_of(a.ticks)));
  }
  // Names and labels of the series, and line style i for the i-th, 100 + i for the same, faint.
  void add(const std::vector<Series>& series) {
    std::vector<std::string> ids, labels;
    std::size_t widest = 15;  // "training length"
    for (const Series& s : series) {
      ids.push_back(data_name(s.id)), labels.push_back(s.label);
      widest = std::max(widest, display_width(s.label));
    }
    constexpr double sample = 56, character = 8.2;  // pixels
    add("n", static_cast<double>(series.size()));
    add("legend_width", std::ceil(sample + character * static_cast<double>(widest)));
    if (series.empty()) return;
    add("id", ids), add("label", labels);
    for (std::size_t i = 0; i < series.size(); ++i) {
      const SeriesStyle& style = series[i].style;
      const auto line = [&](std::size_t number, const std::string& colour, const char* sizes) {
        text_ += fmt::format("set style line {} lc rgb \"{}\" pt {} dt {} {}\n", number, colour,
                             style.marker, style.dash, sizes);
      };
      line(i + 1, style.colour, "lw 2 ps 0.8");
      line(i + 101, faint(style.colour), "lw 1 ps 0.5");
    }
  }
  const std::string& text() const { return text_; }

 private:
  template <class T, class F>
  void add_array(const std::string& name, const std::vector<T>& values, F written) {
    if (values.empty()) return;  // gnuplot has none
    std::vector<std::string> all;
    for (const T& v : values) all.push_back(written(v));
    text_ += fmt::format("array {}[{}] = [{}]\n", name, values.size(), join(all, ", "));
  }

  std::string text_;
};

}  // namespace

// ----------------------------------------------------------------------------------- drawing

fs::path plots_folder() {
  std::error_code error;
  for (const fs::path& p :
       {program_folder() / PESUITE_PLOTS_DIR, fs::path(PESUITE_PLOTS_SOURCE_DIR)})
    if (fs::exists(p / "style.gp", error)) return p;
  return {};
}

namespace {

// What is not there is empty, but NaN at the end of a line: gnuplot 5.4 takes what it finds behind
// a separator that ends a line, which is left of the line before.
std::string data_of(const Figure& f) {
  std::string out;
  for (const auto& row : f.rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool last = i + 1 == row.size(), is_name = f.rows[0][i] == "encoding";
      out += is_name ? data_name(row[i]) : printable(row[i]);
      if (last && row[i].empty()) out += "NaN";
      out += last ? '\n' : '\t';
    }
  return out;
}

std::string script_of(const Figure& f, const fs::path& templates) {
  const std::string caption = printable(f.caption);
  Assignments a;
  a.add("name", f.name);
  a.add("figure_title", f.title);
  a.add("x", f.x), a.add("y", f.y);
  a.add(f.series);
  for (const auto& [name, value] : f.values)
    std::visit([&a, &name = name](const auto& v) { a.add(name, v); }, value);
  return fmt::format(
      "# {}\n# Redraw in this folder with: gnuplot {}.gp   (data: {}.tsv)\n"
      "# Other formats: gnuplot -e 'format=\"pdf\"' {}.gp   (svg, pdf, png)\n"
      "# TikZ, whose texts need escapes: pesuite report . --figures tikz\n\n{}\n{}\n{}",
      caption, f.name, f.name, f.name, a.text(), read_file(templates / "style.gp"),
      read_file(templates / (f.kind + ".gp")));
}

// A gnuplot at work on one picture.
class Drawing {
 public:
  Drawing(const fs::path& gnuplot, const fs::path& folder, const Figure& figure,
          const std::string& format)
      : figure_(figure),
        format_(format),
        errors_(std::tmpfile()),
        start_(std::chrono::steady_clock::now()) {
    const std::string program = gnuplot.string(), script = figure.name + ".gp",
                      where = folder.string(), set = fmt::format("format = \"{}\"", format);
    pid_ = ::fork();
    if (pid_ != 0) return;
    const int nothing = ::open("/dev/null", O_RDWR);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(nothing, STDOUT_FILENO);
    if (errors_ != nullptr) ::dup2(::fileno(errors_), STDERR_FILENO);
    if (::chdir(where.c_str()) == 0)
      ::execl(program.c_str(), "gnuplot", "-e", set.c_str(), script.c_str(), nullptr);
    ::_exit(127);
  }
  ~Drawing() {
    if (errors_ != nullptr) std::fclose(errors_);
  }
  Drawing(const Drawing&) = delete;
  Drawing& operator=(const Drawing&) = delete;

  // "" when it went well, else why not.
  std::string wait(double seconds) {
    if (pid_ < 0) return "no process could be started";
    int status = 0;
    while (::waitpid(pid_, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() - start_ > std::chrono::duration<double>(seconds)) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, &status, 0);
        return fmt::format("took longer than {} s", format_number(seconds));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    const std::string said = errors();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return said;
    return said.empty() ? fmt::format("gnuplot ended with status {}", status) : said;
  }
  const Figure& figure() const { return figure_; }
  fs::path file() const { return figure_.name + (format_ == "tikz" ? ".tex" : "." + format_); }

 private:
  std::string errors() {
    if (errors_ == nullptr) return "";
    std::rewind(errors_);
    std::string text(2000, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), errors_));
    std::replace(text.begin(), text.end(), '\n', ' ');
    return trim(text);
  }

  const Figure& figure_;
  std::string format_;
  std::FILE* errors_;
  std::chrono::steady_clock::time_point start_;
  pid_t pid_;
};

// What points say (plots/style.gp): gnuplot calls a script that only its own viewer has, in an
// attribute that a quote in a name would end. A title says it everywhere.
std::string with_titles(const std::string& svg) {
  constexpr std::string_view from = "<g onmousemove=\"gnuplot_svg.showHypertext(evt,'",
                             to = "')\" onmouseout=\"gnuplot_svg.hideHypertext()\">"
                                  "<title> </title>";
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t begin = svg.find(from, at), end = svg.find(to, begin);
    if (begin == std::string::npos || end == std::string::npos) return out + svg.substr(at);
    std::string text = svg.substr(begin + from.size(), end - begin - from.size());
    for (std::size_t quote = 0; (quote = text.find('"', quote)) != std::string::npos;)
      text.replace(quote, 1, "&quot;");  // the rest is escaped already
    out += svg.substr(at, begin - at);
    out += said_point;
    out += "<title>" + text + "</title>";
    at = end + to.size();
  }
}

// gnuplot titles every picture "Gnuplot"; readers of screens want to hear what it shows.
void describe(const fs::path& svg, const Figure& f) {
  std::string text = with_smaller_images(with_titles(read_file(svg)));
  const std::size_t from = text.find("<title>"), desc = text.find("<desc>"),
                    to = text.find("</desc>");
  if (from == std::string::npos || desc == std::string::npos || to == std::string::npos ||
      !(from < desc && desc < to))
    return;
  text.replace(from, to - from,
               fmt::format("<title>{}</title>\n<desc>{}", xml_text(f.title), xml_text(f.caption)));
  write_file_atomic(svg, text);
}

// Gnuplot writes texts into TikZ as they are, where an _ or a % of a name means something else; and
// its preamble asks for what LaTeX has no more. Numbers that it wrote itself are mathematics.
std::string tikz_line(const std::string& line) {
  if (line.starts_with("\\SetUnicodeOption")) return "";
  const std::string end = "};";
  const std::size_t open = line.find(") {");
  if (!line.starts_with("\\node[gp node") || open == std::string::npos || !line.ends_with(end))
    return line;
  const std::size_t from = open + 3;
  const std::string text = line.substr(from, line.size() - end.size() - from);
  const bool number = text.size() > 2 && text.front() == '$' && text.back() == '$' &&
                      text.find_first_not_of("0123456789.+-^{}e", 1) == text.size() - 1;
  return number ? line : line.substr(0, from) + latex(Text(text)) + end;
}

void escape_tikz(const fs::path& file) {
  std::vector<std::string> lines = split(read_file(file), '\n');
  for (std::string& line : lines) line = tikz_line(line);
  write_file_atomic(file, join(lines, "\n"));
}

}  // namespace

const std::vector<std::string>& picture_formats() {
  static const std::vector<std::string> all = {"svg", "pdf", "png", "tikz"};
  return all;
}

Drawn draw(const std::vector<const Figure*>& figures, const fs::path& folder,
           const fs::path& templates, const std::vector<std::string>& formats, double seconds) {
  Drawn out;
  if (figures.empty()) return out;
  for (const Figure* f : figures) {
    write_file_atomic(folder / (f->name + ".tsv"), data_of(*f));
    if (!templates.empty()) write_file_atomic(folder / (f->name + ".gp"), script_of(*f, templates));
    std::error_code ignored;
    for (const char* format : {".svg", ".pdf", ".png", ".tex"})  // no older drawing of other data
      fs::remove(folder / (f->name + format), ignored);
  }
  if (templates.empty()) {
    out.notes.push_back(
        "the figures' templates (plots/*.gp) were not found: only their data is written");
    return out;
  }
  const fs::path gnuplot = find_program("gnuplot");
  if (gnuplot.empty()) {
    out.notes.push_back(
        fmt::format("gnuplot is not on PATH, so no figure is drawn; 'gnuplot NAME.gp' in {} "
                    "draws one later (Debian: gnuplot-nox)",
                    folder.string()));
    return out;
  }
  std::vector<std::pair<const Figure*, std::string>> wanted;
  for (const std::string& format : formats)
    for (const Figure* f : figures) wanted.emplace_back(f, format);
  const std::size_t at_once = static_cast<std::size_t>(std::min(usable_cores(), 8));
  for (std::size_t i = 0; i < wanted.size(); i += at_once) {
    std::vector<std::unique_ptr<Drawing>> running;
    for (std::size_t k = i; k < std::min(i + at_once, wanted.size()); ++k)
      running.push_back(
          std::make_unique<Drawing>(gnuplot, folder, *wanted[k].first, wanted[k].second));
    for (std::size_t k = 0; k < running.size(); ++k) {
      Drawing& d = *running[k];
      const std::string trouble = d.wait(seconds);
      if (!trouble.empty())
        out.notes.push_back(fmt::format("figure {}: {}", d.figure().name, trouble));
      const fs::path file = folder / d.file();
      std::error_code error;
      if (!fs::exists(file, error) || fs::file_size(file, error) == 0) continue;
      if (file.extension() == ".svg") describe(file, d.figure());
      if (file.extension() == ".tex") escape_tikz(file);
      if (wanted[i + k].second == formats.front()) out.files.push_back(file);
    }
  }
  return out;
}

}  // namespace pesuite
