// Damages what pesuite reads, many times, each time in another way, and looks at what it makes of
// it: the same numbers as before, bit by bit, or a failure with a name. See docs/reliability.md.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "model/metrics.h"
#include "tests/reliability/damage.h"
#include "tests/scratch.h"

namespace pesuite::testing {
namespace {

struct Settings {
  fs::path program, sources;
  std::vector<std::string> kinds;
  std::size_t cases = 0, from = 0, jobs = 1;
  std::uint64_t seed = 1;
};

// ---------------------------------------------------------------------------------- processes

struct Said {
  int code = 0;  // exit code, or minus the signal; -1000: it did not end
  std::string out, err;
};

constexpr int endless = -1000;
constexpr double patience = 120;  // seconds

Said run(const Settings& s, const fs::path& folder, const std::vector<std::string>& arguments) {
  const fs::path out = folder / "said.out", err = folder / "said.err";
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), s.program.string());
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setpgid(0, 0);
    const auto redirect = [](const fs::path& file, int to) {
      ::dup2(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), to);
    };
    redirect(out, STDOUT_FILENO), redirect(err, STDERR_FILENO);
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::setenv("PATH", "/nowhere", 1);  // figures are not drawn, which takes most of a report's time
    ::unsetenv("PESUITE_PLUGIN_PATH");
    if (::chdir(folder.c_str()) == 0) ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  const auto start = std::chrono::steady_clock::now();
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (std::chrono::steady_clock::now() - start < std::chrono::duration<double>(patience))
      continue;
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, &status, 0);
    return {endless, read_file(out), read_file(err)};
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), read_file(out),
          read_file(err)};
}

// Why an end is no honest one; "" where it is.
std::string dishonest(const Said& s) {
  if (s.code == endless) return fmt::format("did not end within {} s", patience);
  if (s.code < 0) return fmt::format("ended by signal {}", -s.code);
  if (s.code == 9) return "exit code 9: " + s.err;
  if (s.code != 0 && trim(s.err).empty()) return fmt::format("exit code {} without a word", s.code);
  return "";
}

// ------------------------------------------------------------------------------------ verdicts

// What may come of a case, for the count. A fault is what must not.
struct Outcome {
  std::string what, fault = {};
};

Outcome judged(const Said& s, const std::function<std::string()>& difference) {
  if (const std::string why = dishonest(s); !why.empty()) return {"fault", why};
  if (s.code != 0) return {fmt::format("named failure, exit code {}", s.code)};
  const std::string found = difference();
  return found.empty() ? Outcome{"the same numbers"} : Outcome{"fault", "silently other: " + found};
}

// One kind of damage. A worker process has one of each that it needs.
class Kind {
 public:
  Kind(const Settings& s, const fs::path& folder) : settings_(s), folder_(folder) {}
  virtual ~Kind() = default;
  Kind(const Kind&) = delete;
  Kind& operator=(const Kind&) = delete;
  virtual Outcome one(Dice& dice, std::string& did) = 0;

 protected:
  Said pesuite(const std::vector<std::string>& words) const {
    return run(settings_, folder_, words);
  }
  // Error where what is sound does not do well: then no case says anything.
  Said must(const std::vector<std::string>& words) const {
    Said s = pesuite(words);
    if (s.code != 0) throw std::runtime_error(join(words, " ") + ": " + s.err);
    return s;
  }
  fs::path suite() const { return settings_.sources / "campaign.toml"; }

  const Settings& settings_;
  const fs::path folder_;
};

// Files below a folder, in one order everywhere.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> all;
  for (const auto& item : fs::recursive_directory_iterator(folder))
    if (item.is_regular_file()) all.push_back(item.path());
  std::sort(all.begin(), all.end());
  return all;
}

void damage(const fs::path& file, Dice& dice, std::string& did) {
  if (dice.chance(12)) {
    fs::remove(file);
    did += fmt::format("{} deleted; ", file.string());
    return;
  }
  std::string bytes = read_file(file);
  did += fmt::format("{}: {}; ", file.string(), damage_bytes(bytes, dice));
  write_file_atomic(file, bytes);
}

// --------------------------------------------------------------------------------------- store

// Of a finished run, or of one that was killed while its cells were at work.
class StoreDamage : public Kind {
 public:
  StoreDamage(const Settings& s, const fs::path& folder) : Kind(s, folder) {
    must({"run", suite().string(), "--out", "sound", "--progress", "none", "-j", "1"});
    numbers_ = numbers_of(folder_ / "sound");
    fs::copy(folder_ / "sound", folder_ / "half", fs::copy_options::recursive);
    for (const fs::path& file : files_below(folder_ / "half" / "store")) {
      const std::string name = file.filename().string();
      const fs::path earlier = file.parent_path() / "step_4.safetensors";
      if (name == "last.safetensors" && fs::exists(earlier))
        fs::rename(earlier, file);  // as if it had come so far
      else if (name == "status.jsonl" || name == "train.jsonl" || name.starts_with("eval-"))
        fs::remove(file);
    }
    const fs::path run = run_of("half");
    for (const char* name : {"records.jsonl", "digests.json", "report.md"}) fs::remove(run / name);
    fs::remove_all(run / "tables");
  }

  Outcome one(Dice& dice, std::string& did) override {
    const bool half = dice.chance(40);
    fs::remove_all(folder_ / "r");
    fs::copy(folder_ / (half ? "half" : "sound"), folder_ / "r", fs::copy_options::recursive);
    did = half ? "half-finished: " : "finished: ";
    for (std::size_t n = 1 + dice.below(3); n > 0; --n)
      if (const auto all = files_below(folder_ / "r"); !all.empty())
        damage(dice.of(all), dice, did);
    const auto difference = [&] { return first_difference(numbers_, numbers_of(folder_ / "r")); };
    const fs::path of_run = run_of("r");
    if (!half) {  // a report alone reads the records, and no store
      const Outcome o = judged(pesuite({"report", of_run.string()}), difference);
      if (!o.fault.empty()) return {o.what, "report: " + o.fault};
    }
    const Said s =
        pesuite({"run", suite().string(), "--out", "r", "--progress", "none", "-j", "1"});
    const Outcome after = judged(s, [] { return ""; });
    if (s.code != 0) return after;
    return judged(pesuite({"report", of_run.string()}), difference);
  }

 private:
  using Numbers = std::map<std::string, std::multiset<std::string>>;

  fs::path run_of(const char* out) const {
    return fs::directory_iterator(folder_ / out / "runs")->path();
  }

  // All but times and memory, by file. Lines that cannot be read are lines that differ.
  static Numbers numbers_of(const fs::path& out) {
    Numbers all;
    const fs::path run = fs::directory_iterator(out / "runs")->path();
    for (const std::string& line : split(read_file(run / "records.jsonl"), '\n')) {
      Json j = Json::parse(line, nullptr, false);
      if (line.empty() || is_cost(j.value("metric", ""))) continue;
      for (const char* key : {"wall_s", "ts"}) j.erase(key);
      all["records.jsonl"].insert(j.dump());
    }
    all["hypotheses.json"].insert(read_file(run / "hypotheses.json"));
    for (const fs::path& file : files_below(run / "tables"))
      if (file.extension() == ".csv" && file.stem() != "cost")
        all[file.filename().string()].insert(read_file(file));
    return all;
  }
  static std::string first_difference(const Numbers& wanted, const Numbers& found) {
    for (const auto& [file, lines] : wanted) {
      const auto it = found.find(file);
      if (it == found.end()) return file + " is not there";
      if (it->second == lines) continue;
      for (const std::string& line : it->second)
        if (!lines.contains(line)) return file + ": " + line;
      return file + " lacks lines";
    }
    return "";
  }

  Numbers numbers_;
};

// -------------------------------------------------------------------------------------- suites

class SuiteDamage : public Kind {
 public:
  SuiteDamage(const Settings& s, const fs::path& folder) : Kind(s, folder) {
    texts_ = {read_file(suite()), read_file(s.sources / "../../suites/smoke.toml")};
  }
  Outcome one(Dice& dice, std::string& did) override {
    std::string text = dice.of(texts_);
    for (std::size_t n = 1 + dice.below(3); n > 0; --n) did += change_suite(text, dice) + "; ";
    write_file_atomic(folder_ / "suite.toml", text);
    const Said s = pesuite({"plan", "suite.toml"});
    if (const std::string why = dishonest(s); !why.empty()) return {"fault", why + "\n" + text};
    return {s.code == 0 ? "a plan" : fmt::format("named failure, exit code {}", s.code)};
  }

 private:
  std::vector<std::string> texts_;
};

// --------------------------------------------------------------------------------- checkpoints

class CheckpointDamage : public Kind {
 public:
  CheckpointDamage(const Settings& s, const fs::path& folder) : Kind(s, folder) {
    must({"run", suite().string(), "--out", "sound", "--progress", "none", "-j", "1", "--no-report",
          "--only", "encoding=t5"});
    for (const fs::path& file : files_below(folder_ / "sound"))
      if (file.filename() == "last.safetensors") bytes_ = read_file(file);
    write_file_atomic(folder_ / "c.safetensors", bytes_);
    numbers_ = evaluation().out;
  }
  Outcome one(Dice& dice, std::string& did) override {
    std::string bytes = bytes_;
    for (std::size_t n = 1 + dice.below(2); n > 0; --n) did += damage_bytes(bytes, dice) + "; ";
    write_file_atomic(folder_ / "c.safetensors", bytes);
    const Said s = evaluation();
    return judged(s, [&] { return s.out == numbers_ ? "" : s.out; });
  }

 private:
  Said evaluation() const {
    return pesuite({"eval", "c.safetensors", "--lengths", "1x", "--examples", "2"});
  }
  std::string bytes_, numbers_;
};

// What it says of itself is changed, under checksums that fit, as another program might have
// written it: a failure with a name, or other numbers.
class ForgedCheckpoint : public Kind {
 public:
  ForgedCheckpoint(const Settings& s, const fs::path& folder) : Kind(s, folder) {
    must({"run", suite().string(), "--out", "sound", "--progress", "none", "-j", "1", "--no-report",
          "--only", "encoding=t5"});
    for (const fs::path& file : files_below(folder_ / "sound"))
      if (file.filename() == "last.safetensors") bytes_ = read_file(file);
  }
  Outcome one(Dice& dice, std::string& did) override {
    std::uint64_t size = 0;
    std::memcpy(&size, bytes_.data(), sizeof size);
    Json header = Json::parse(bytes_.substr(8, size));
    Json& about = header["__metadata__"];
    about["schema"] = "pesuite.checkpoint/1";  // which may lack checksums
    about.erase("xxh3");
    std::string part = about[dice.chance(60) ? "run" : "state"];
    const bool run = part == about["run"];
    did = change_json(part, dice);
    about[run ? "run" : "state"] = part;
    std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
    text.append((8 - text.size() % 8) % 8, ' ');
    size = text.size();
    std::string all(sizeof size, '\0');
    std::memcpy(all.data(), &size, sizeof size);
    write_file_atomic(folder_ / "c.safetensors", all + text + bytes_.substr(8 + header_size()));
    // not at "1x": a training length that says a million is hours of honest work
    const Said s = pesuite({"eval", "c.safetensors", "--lengths", "32", "--examples", "2"});
    if (const std::string why = dishonest(s); !why.empty()) return {"fault", why};
    return {s.code == 0 ? "numbers" : fmt::format("named failure, exit code {}", s.code)};
  }

 private:
  std::uint64_t header_size() const {
    std::uint64_t size = 0;
    std::memcpy(&size, bytes_.data(), sizeof size);
    return size;
  }
  // A value of another kind or size somewhere in it, or its text damaged.
  static std::string change_json(std::string& text, Dice& dice) {
    if (dice.chance(20)) return damage_bytes(text, dice);
    static const std::vector<Json> values = {nullptr,   0,
                                             -1,        1,
                                             2.5,       1e30,
                                             "",        "x",
                                             true,      Json::array(),
                                             3,         1 << 20,
                                             1LL << 40, Json::object(),
                                             "rope"};
    Json flat = Json::parse(text).flatten();
    auto it = flat.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(dice.below(flat.size())));
    const Json value = dice.of(values);
    const std::string did = fmt::format("{} is {}", it.key(), value.dump());
    Json whole = Json::parse(text);
    whole[Json::json_pointer(it.key())] = value;
    text = whole.dump();
    return did;
  }
  std::string bytes_;
};

// ----------------------------------------------------------------------------------- libraries

class LibraryDamage : public Kind {
 public:
  LibraryDamage(const Settings& s, const fs::path& folder) : Kind(s, folder) {
    fs::path plugins =
        s.program.parent_path() / "../plugins";  // of a build, else of an installation
    if (!fs::exists(plugins)) plugins = s.program.parent_path() / "../lib/pesuite/plugins";
    library_ = read_file(plugins / "rotary.plugin.so");
    manifest_ = read_file(plugins / "rotary.plugin.toml");
  }
  Outcome one(Dice& dice, std::string& did) override {
    std::string library = library_, manifest = manifest_;
    const bool also = dice.chance(20);
    for (std::size_t n = 1 + dice.below(3); n > 0; --n)
      did += damage_bytes(also && n == 1 ? manifest : library, dice) + "; ";
    fs::create_directories(folder_ / "p");
    write_file_atomic(folder_ / "p" / "rotary.plugin.so", library);
    write_file_atomic(folder_ / "p" / "rotary.plugin.toml", manifest);
    if (dice.chance(20)) fs::remove(folder_ / "p" / "rotary.plugin.toml"), did += "no manifest";
    const Said s = pesuite({"plan", suite().string(), "--plugin-path", "p"});
    if (const std::string why = dishonest(s); !why.empty()) return {"fault", why};
    return {s.code == 0 ? "a plan" : fmt::format("named failure, exit code {}", s.code)};
  }

 private:
  std::string library_, manifest_;
};

// -------------------------------------------------------------------------------------- counts

template <class T>
std::unique_ptr<Kind> make(const Settings& s, const fs::path& folder) {
  return std::make_unique<T>(s, folder);
}

struct Named {
  const char* name;
  std::size_t cases;  // of a whole campaign
  std::unique_ptr<Kind> (*make)(const Settings&, const fs::path&);
};
constexpr Named all_kinds[] = {{"store", 10000, make<StoreDamage>},
                               {"suites", 10000, make<SuiteDamage>},
                               {"checkpoints", 10000, make<CheckpointDamage>},
                               {"forged", 2000, make<ForgedCheckpoint>},
                               {"libraries", 3000, make<LibraryDamage>}};

// The cases of one of several processes, as lines "OUTCOME" or "fault" with what led to it.
void work(const Settings& s, const Named& kind, std::size_t share, std::FILE* to) {
  const Scratch folder;
  const std::unique_ptr<Kind> k = kind.make(s, folder);
  const std::size_t cases = s.cases > 0 ? s.cases : kind.cases;
  for (std::size_t i = s.from + share; i < s.from + cases; i += s.jobs) {
    Dice dice(s.seed * 1000003 + i);
    for (int warm = 0; warm < 3; ++warm) dice.next();
    std::string did;
    Outcome o;
    try {
      o = k->one(dice, did);
    } catch (const std::exception& e) {
      o = {"fault", std::string("the campaign itself: ") + e.what()};
    }
    Json line = {{"what", o.what}};
    if (!o.fault.empty()) line.update({{"case", i}, {"did", did}, {"fault", o.fault}});
    fmt::print(to, "{}\n", line.dump(-1, ' ', false, Json::error_handler_t::replace));
    std::fflush(to);
  }
}

// Prints how many cases of a kind came to what; the number of faults.
std::size_t campaign(const Settings& s, const Named& kind) {
  const auto start = std::chrono::steady_clock::now();
  const Scratch folder;
  std::vector<pid_t> workers;
  for (std::size_t share = 0; share < s.jobs; ++share) {
    workers.push_back(::fork());
    if (workers.back() != 0) continue;
    int code = 0;
    try {
      std::FILE* to = std::fopen((folder / std::to_string(share)).c_str(), "w");
      work(s, kind, share, to);
      std::fclose(to);
    } catch (const std::exception& e) {
      fmt::print(stderr, "{}: {}\n", kind.name, e.what());
      code = 1;
    }
    std::fflush(stderr);
    ::_exit(code);
  }
  std::size_t faults = 0, cases = 0;
  for (const pid_t w : workers) {
    int status = 0;
    ::waitpid(w, &status, 0);
    faults += status == 0 ? 0 : 1;
  }
  std::map<std::string, std::size_t> counts;
  for (const fs::path& file : files_below(folder))
    for (const std::string& text : split(read_file(file), '\n')) {
      if (text.empty()) continue;
      const Json line = Json::parse(text);
      ++counts[line["what"].get<std::string>()], ++cases;
      if (!line.contains("fault")) continue;
      ++faults;
      fmt::print("FAULT {} --seed {} --from {} --cases 1: {}\n  {}\n", kind.name, s.seed,
                 line["case"].get<std::size_t>(), line["did"].get<std::string>(),
                 line["fault"].get<std::string>());
    }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print("{}: {} cases in {:.0f} s\n", kind.name, cases, took.count());
  for (const auto& [what, n] : counts) fmt::print("  {:6} {}\n", n, what);
  std::fflush(stdout);
  return faults;
}

constexpr const char* usage =
    "usage: reliability_damage PROGRAM SOURCES [KIND...] [--cases N] [--from N] [--seed N] "
    "[--jobs N]\nkinds: store, suites, checkpoints, forged, libraries; all, where none is named\n";

std::size_t number(const std::string& text) {
  double x = 0;
  if (!parse_count(text, x) || x < 0) throw std::runtime_error(text + " is no count");
  return static_cast<std::size_t>(x);
}

int campaigns(const std::vector<std::string>& words) {
  Settings s;
  std::vector<std::string> plain;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) {
      plain.push_back(words[i]);
      continue;
    }
    const std::size_t n = i + 1 < words.size() ? number(words[i + 1]) : 0;
    const std::string& flag = words[i++];
    (flag == "--cases"  ? s.cases
     : flag == "--from" ? s.from
     : flag == "--jobs" ? s.jobs
                        : s.seed) = n;
  }
  if (plain.size() < 2 || s.jobs == 0) return fmt::print(stderr, "{}", usage), 2;
  s.program = fs::absolute(plain[0]), s.sources = fs::absolute(plain[1]);
  std::size_t faults = 0;
  for (const Named& kind : all_kinds)
    if (plain.size() == 2 || std::find(plain.begin() + 2, plain.end(), kind.name) != plain.end())
      faults += campaign(s, kind);
  fmt::print("{}\n", counted(faults, "fault"));
  return faults == 0 ? 0 : 1;
}

}  // namespace
}  // namespace pesuite::testing

int main(int argc, char** argv) {
  try {
    return pesuite::testing::campaigns({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 2;
  }
}
