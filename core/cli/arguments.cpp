#include "cli/arguments.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <thread>
#include <typeinfo>

#include "base/error.h"
#include "base/text.h"
#include "cli/verbs.h"

namespace pesuite::cli {

namespace {

// What a flag takes that does not take any text, behind a sentence.
std::string wanted(const po::option_description& flag) {
  const auto* value = dynamic_cast<const po::typed_value_base*>(flag.semantic().get());
  if (value == nullptr) return "";
  const std::type_info& type = value->value_type();
  if (type == typeid(double)) return ": it wants a number";
  if (type == typeid(int)) return fmt::format(": it wants a whole number of at most {}", INT_MAX);
  if (type == typeid(std::int64_t) || type == typeid(std::uint64_t))
    return ": it wants a whole number";
  return "";
}

void refuse_what_only_parses(const po::variables_map& values) {
  for (const auto& [name, value] : values) {
    const auto* whole = boost::any_cast<std::uint64_t>(&value.value());
    if (whole != nullptr && *whole > INT64_MAX)  // as "-1" reads
      fail(Exit::usage, "--{}: wants a whole number of 0 to {}", name, INT64_MAX);
    const auto* real = boost::any_cast<double>(&value.value());
    if (real != nullptr && std::isnan(*real)) fail(Exit::usage, "--{} nan: wants a number", name);
  }
}

}  // namespace

Arguments::Arguments(std::string usage, std::string about)
    : usage_(std::move(usage)), about_(std::move(about)) {
  flags()("help,h", po::bool_switch(), "show this help")(
      "plugin-path", po::value<std::vector<std::string>>()->composing(),
      "folders or files to search for plugins first, separated by ':'");
}

void Arguments::positional(const std::string& name, int count) {
  if (count == 1)
    hidden_.add_options()(name.c_str(), po::value<std::string>());
  else
    hidden_.add_options()(name.c_str(), po::value<std::vector<std::string>>());
  positional_.add(name.c_str(), count);
}

namespace {

// "--batch_size=3" is "--batch-size=3".
void unify_names(std::vector<std::string>& words) {
  for (std::string& w : words) {
    if (w == "--") return;
    if (!w.starts_with("--")) continue;
    const std::size_t end = std::min(w.find('='), w.size());
    std::replace(w.begin() + 2, w.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
  }
}

}  // namespace

std::string Arguments::verb() const {
  const std::vector<std::string> words = split(usage_, ' ');
  const bool is_group = words[0] == "plugin" || words[0] == "history" || words[0] == "baseline" ||
                        words[0] == "data" || words[0] == "model";
  return is_group ? words[0] + " " + words.at(1) : words[0];
}

void Arguments::print_manual(const std::string& summary) const {
  Manual m;
  m.name = "pesuite " + verb(), m.summary = summary;
  m.usage = trim(usage_.substr(verb().size()));
  m.about = about_, m.heading = "OPTIONS";
  for (const auto& o : flags_.options()) {
    std::string name = o->format_name();  // "-j [ --jobs ]"
    if (const std::size_t at = name.find(" [ "); at != std::string::npos)
      name = name.substr(0, at) + ", " + name.substr(at + 3, name.size() - at - 5);
    m.entries.push_back({trim(name + " " + o->format_parameter()), o->description()});
  }
  m.also = {"pesuite"};
  std::fputs(man_page(m).c_str(), stdout);
}

bool Arguments::parse(std::vector<std::string> words) {
  if (words.size() == 2 && words[0] == "--help=man") {
    print_manual(words[1]);
    return false;
  }
  if (!words.empty() && words[0] == "--help=complete") {
    complete(*this, {words.begin() + 1, words.end()});
    return false;
  }
  unify_names(words);
  po::options_description all;
  all.add(flags_).add(hidden_);
  try {
    const int style =
        po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    po::store(
        po::command_line_parser(words).options(all).positional(positional_).style(style).run(),
        values_);
    po::notify(values_);
  } catch (const po::unknown_option& e) {
    std::vector<std::string> names;
    for (const auto& o : flags_.options()) names.push_back("--" + o->long_name());
    fail(Exit::usage, "unknown flag '{}'{}", e.get_option_name(),
         did_you_mean(e.get_option_name(), names));
  } catch (const po::too_many_positional_options_error&) {
    fail(Exit::usage, "too many arguments; usage: pesuite {}", usage_);
  } catch (const po::invalid_option_value& e) {
    const std::string name = e.get_option_name();  // "--jobs"
    const auto* flag = all.find_nothrow(name.substr(name.find_first_not_of('-')), false);
    fail(Exit::usage, "{}{}; 'pesuite {} --help' shows all flags", e.what(),
         flag ? wanted(*flag) : "", verb());
  } catch (const po::error& e) {
    fail(Exit::usage, "{}; 'pesuite {} --help' shows all flags", e.what(), verb());
  }
  refuse_what_only_parses(values_);
  if (!flag("help")) return true;
  std::ostringstream out;
  out << "usage: pesuite " << usage_ << "\n\n" << about_ << "\n\n" << flags_;
  std::fputs(out.str().c_str(), stdout);
  return false;
}

int Arguments::count(const std::string& name, int low, int otherwise) const {
  const int n = get<int>(name, otherwise);
  if (n < low) fail(Exit::usage, "--{} {}: wants a number of at least {}", name, n, low);
  return n;
}

int Arguments::threads() const {
  const int n = count("threads");
  const int most = std::max(256, 4 * static_cast<int>(std::thread::hardware_concurrency()));
  if (n > most) fail(Exit::usage, "--threads {}: wants at most {}", n, most);
  return n;
}

std::string Arguments::folder(const std::string& name) const {
  const std::string path = text(name);
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error))
    fail(Exit::usage, "--{} {}: this is a file; give a folder", name, path);
  error.clear();
  if (!is_utf8(std::filesystem::absolute(path, error).string()))  // as orders of cells name it
    fail(Exit::usage, "--{} {}: it lies in a folder whose name is no UTF-8; give another", name,
         path);
  std::filesystem::create_directories(path, error);
  if (!error && ::access(path.c_str(), W_OK | X_OK) != 0) error = {errno, std::generic_category()};
  if (error)
    fail(Exit::usage, "--{} {}: nothing can be written there ({}); give a folder of yours", name,
         path, error.message());
  return path;
}

void Arguments::require(const std::string& name, const std::string& what) const {
  if (!has(name)) fail(Exit::usage, "{} is missing; usage: pesuite {}", what, usage_);
}

}  // namespace pesuite::cli
