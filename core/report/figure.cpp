#include "report/figure.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "plugin/library.h"

namespace pesuite {

// ---------------------------------------------------------------------------------- settings

std::string gnuplot_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else if (c == '`')
      out += '\'';  // gnuplot runs what stands in backquotes
    else
      out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + "\"";
}

void Settings::number(std::string_view name, double value) {
  text_ +=
      fmt::format("{} = {}\n", name, std::isnan(value) ? "NaN" : fmt::format("{:.10g}", value));
}
void Settings::text(std::string_view name, std::string_view value) {
  text_ += fmt::format("{} = {}\n", name, gnuplot_string(value));
}
void Settings::texts(std::string_view name, const std::vector<std::string>& values) {
  std::vector<std::string> all;
  for (const std::string& v : values) all.push_back(gnuplot_string(v));
  text_ += fmt::format("array {}[{}] = [{}]\n", name, values.size(), join(all, ", "));
}

// ------------------------------------------------------------------------------------ styles

SeriesStyle series_style(std::size_t i) {
  // Okabe and Ito without their black (the optimum) and yellow (too faint on white); then Tol's
  // muted.
  static constexpr std::array colours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                         "#E69F00", "#56B4E9", "#332288", "#882255",
                                         "#808000", "#7F7F7F", "#44AA99", "#A0522D"};
  static constexpr std::array markers = {7, 5, 9, 13, 11, 15, 6, 4, 8, 12, 10, 14};
  static constexpr std::array dashes = {"1", "(12,4)", "(3,3)", "(12,3,3,3)"};
  SeriesStyle s;
  s.colour = colours[i % colours.size()];
  s.marker = markers[(i + i / colours.size()) % markers.size()];
  s.dash = dashes[(i < 6 ? 0 : i / 6) % dashes.size()];
  return s;
}

std::string faint(const std::string& colour) {
  std::string out = "#";
  for (std::size_t i = 1; i < 7; i += 2) {
    const int x = std::stoi(colour.substr(i, 2), nullptr, 16);
    out += fmt::format("{:02X}", 255 - (255 - x) * 2 / 5);
  }
  return out;
}

std::vector<double> log_ticks(double low, double high) {
  static const std::vector<std::vector<double>> choices = {
      {1},
      {1, 3},
      {1, 2, 5},
      {1, 1.5, 2, 3, 5, 7},
      {1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9}};
  constexpr std::size_t wanted = 4, most = 9;
  std::vector<double> best;
  const int first = static_cast<int>(std::floor(std::log10(low))),
            last = static_cast<int>(std::ceil(std::log10(high)));
  const int stride = std::max(1, (last - first) / 8);  // decades
  for (const auto& mantissas : choices) {
    std::vector<double> ticks;
    for (int e = first; e <= last; e += stride)
      for (const double m : mantissas)
        if (const double x = m * std::pow(10.0, e); x >= low * 0.999 && x <= high * 1.001)
          ticks.push_back(x);
    if (ticks.size() > most) break;
    best = std::move(ticks);
    if (best.size() >= wanted) return best;
  }
  if (best.size() >= 3) return best;
  best.clear();  // a narrow range: even steps
  const double raw = (high - low) / 5, power = std::pow(10.0, std::floor(std::log10(raw)));
  const double step = power * (raw / power < 1.5   ? 1
                               : raw / power < 3.5 ? 2
                               : raw / power < 7.5 ? 5
                                                   : 10);
  for (double x = std::ceil(low / step) * step; x <= high; x += step) best.push_back(x);
  return best;
}

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
      const bool last = i + 1 == row.size();
      for (const char c : row[i]) out += c == '\t' || c == '\n' ? ' ' : c;
      if (last && row[i].empty()) out += "NaN";
      out += last ? '\n' : '\t';
    }
  return out;
}

std::string script_of(const Figure& f, const fs::path& templates) {
  std::string caption = f.caption;
  std::replace(caption.begin(), caption.end(), '\n', ' ');
  Settings head;
  head.text("name", f.name);
  head.text("figure_title", f.title);
  head.number("x_lines", 1);
  return fmt::format(
      "# {}\n# Redraw in this folder with: gnuplot {}.gp   (data: {}.tsv)\n\nreset\n{}{}\n{}\n{}",
      caption, f.name, f.name, head.str(), f.settings.str(), read_file(templates / "style.gp"),
      read_file(templates / (f.kind + ".gp")));
}

fs::path find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  if (path == nullptr) return {};
  for (const std::string& folder : split(path, ':')) {
    const fs::path p = fs::path(folder) / name;
    if (!folder.empty() && ::access(p.c_str(), X_OK) == 0 && !fs::is_directory(p)) return p;
  }
  return {};
}

// A gnuplot at work on one script.
class Drawing {
 public:
  Drawing(const fs::path& gnuplot, const fs::path& folder, const std::string& name)
      : name_(name), errors_(std::tmpfile()), start_(std::chrono::steady_clock::now()) {
    const std::string program = gnuplot.string(), script = name + ".gp", where = folder.string();
    pid_ = ::fork();
    if (pid_ != 0) return;
    const int nothing = ::open("/dev/null", O_RDWR);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(nothing, STDOUT_FILENO);
    if (errors_ != nullptr) ::dup2(::fileno(errors_), STDERR_FILENO);
    if (::chdir(where.c_str()) == 0) ::execl(program.c_str(), "gnuplot", script.c_str(), nullptr);
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
  const std::string& name() const { return name_; }

 private:
  std::string errors() {
    if (errors_ == nullptr) return "";
    std::rewind(errors_);
    std::string text(2000, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), errors_));
    std::replace(text.begin(), text.end(), '\n', ' ');
    return trim(text);
  }

  std::string name_;
  std::FILE* errors_;
  std::chrono::steady_clock::time_point start_;
  pid_t pid_;
};

}  // namespace

Drawn draw(const std::vector<Figure>& figures, const fs::path& folder, const fs::path& templates,
           double seconds) {
  Drawn out;
  if (figures.empty()) return out;
  for (const Figure& f : figures) {
    write_file_atomic(folder / (f.name + ".tsv"), data_of(f));
    if (!templates.empty()) write_file_atomic(folder / (f.name + ".gp"), script_of(f, templates));
    std::error_code ignored;
    fs::remove(folder / (f.name + ".svg"), ignored);  // no older drawing of other data
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
  const std::size_t at_once = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
  for (std::size_t i = 0; i < figures.size(); i += at_once) {
    std::vector<std::unique_ptr<Drawing>> running;
    for (std::size_t k = i; k < std::min(i + at_once, figures.size()); ++k)
      running.push_back(std::make_unique<Drawing>(gnuplot, folder, figures[k].name));
    for (const auto& d : running) {
      const std::string trouble = d->wait(seconds);
      if (!trouble.empty()) out.notes.push_back(fmt::format("figure {}: {}", d->name(), trouble));
      const fs::path svg = folder / (d->name() + ".svg");
      std::error_code error;
      if (fs::exists(svg, error) && fs::file_size(svg, error) > 0) out.files.push_back(svg);
    }
  }
  return out;
}

}  // namespace pesuite
