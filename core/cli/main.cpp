// pesuite: parse, load, plan, run, report.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/verbs.h"
#include "run/environment.h"
#include "run/progress.h"
#include "run/waiting.h"
#include "run/worker.h"

namespace pesuite {
namespace {

int version_verb(const std::vector<std::string>& words) {
  cli::Arguments a("version [--abi]", "Prints version, commit, compiler and kind of build.");
  a.flags()("abi", cli::po::bool_switch(), "version of the plugin interface instead");
  if (!a.parse(words)) return 0;
  if (a.flag("abi"))
    fmt::print("{}.{}\n", PES_ABI_MAJOR, PES_ABI_MINOR);
  else
    fmt::print("{}\n", build_summary());
  return 0;
}

int test_verb(const std::vector<std::string>& words) {
  cli::Arguments a("test",
                   "Tests the installation: promises of its libraries, reference vectors, a small "
                   "run. Needs the package pesuite-tests.");
  if (!a.parse(words)) return 0;
  const fs::path script = program_folder() / PESUITE_TESTS_DIR / "run";
  if (fs::exists(script))
    ::execl(script.c_str(), "run", fs::canonical("/proc/self/exe").c_str(), nullptr);
  fail(Exit::usage,
       "tests run from a build tree: './pesuite test' at the root of the repository, or 'ctest' in "
       "the build folder; or of an installation, with the package pesuite-tests");
}

constexpr cli::Verb verbs[] = {
    {"run", "train and evaluate a suite, write records, tables and figures", cli::run_verb},
    {"slurm", "batch scripts that run a suite under Slurm", cli::slurm_verb},
    {"status", "what a run is doing just now, on all its machines", cli::status_verb},
    {"plan", "show what a suite will run, what it costs and what is done", cli::plan_verb},
    {"validate", "check a suite's file and say everything that is wrong with it",
     cli::validate_verb},
    {"config", "show every value of a suite and where it comes from", cli::config_verb},
    {"report", "tables and figures of a run, from its records alone", cli::report_verb},
    {"compare", "two runs or baselines, series by series, with verdicts", cli::compare_verb},
    {"baseline", "save, list, show, accept or export what runs are held against",
     cli::baseline_verb},
    {"regress", "did numbers get worse than a baseline's?", cli::regress_verb},
    {"reproduce", "compute a run again and compare every number", cli::reproduce_verb},
    {"data", "text and tokens: import, tokenize, inspect, verify, tokenizers", cli::data_verb},
    {"model", "checkpoints of Hugging Face's layout, in and out", cli::model_verb},
    {"merge", "results of several machines made one", cli::merge_verb},
    {"gc", "remove what of the store no run needs", cli::gc_verb},
    {"bundle", "pack a run into one file with digests", cli::bundle_verb},
    {"import", "unpack what bundle packed, or take in results of other programs", cli::import_verb},
    {"export", "records and verdicts for other programs: csv, sqlite, junit and more",
     cli::export_verb},
    {"history", "results over commits: changes, plots, a site", cli::history_verb},
    {"bisect", "find the commit that made something worse", cli::bisect_verb},
    {"train", "train one model with the flags of the source studies", cli::train_verb},
    {"eval", "evaluate a checkpoint over lengths", cli::eval_verb},
    {"app", "a page to choose, run, watch and compare experiments", cli::app_verb},
    {"sample", "go on from a text with a checkpoint", cli::sample_verb},
    {"search", "search for an encoding's numbers on a trained model", cli::search_verb},
    {"list", "list encodings, tasks, models, data, suites, backends, runs, baselines",
     cli::list_verb},
    {"info", "the card of one of them: options, defaults, claims, source", cli::info_verb},
    {"task", "check a task: oracle, shortcuts, chance, determinism", cli::task_verb},
    {"guide", "which encoding to use, taxonomy, extension, pitfalls, trends", cli::guide_verb},
    {"plugin", "tools for plugins: encodings against golden vectors", cli::plugin_verb},
    {"bench", "time training, evaluation, attention and encodings on this machine",
     cli::bench_verb},
    {"calibrate", "error rates of the verdicts, by simulation", cli::calibrate_verb},
    {"doctor", "what of this machine helps or hinders runs", cli::doctor_verb},
    {"docs", "bring the documentation up to date with the libraries", cli::docs_verb},
    {"version", "version and build; --abi: of the plugin interface", version_verb},
    {"test", "run the tests of an installation", test_verb},
};

constexpr cli::Verbs all_verbs = {
    "pesuite", "VERB",
    "pesuite trains small language models with different positional encodings on the same data,\n"
    "evaluates them over length, and writes records, figures and tables.",
    "To start: pesuite run suites/length_generalization.toml", verbs};

// Records, plans and orders are JSON, which holds nothing else.
void check_encoding(std::string_view what, const std::string& text) {
  if (!is_utf8(text))
    fail(Exit::usage, "{} '{}' is no UTF-8; rename what it names, or give another", what,
         printable(text));
}

int dispatch(std::vector<std::string> words) {
  for (const std::string& word : words) check_encoding("the argument", word);
  if (words.size() > 1 && words[0] == "help")
    words = {words[1], "--help"};
  else if (!words.empty() && words[0] == "help")
    words = {"--help"};
  else if (!words.empty() && words[0] == "--version")
    words = {"version"};
  if (words.size() == 2 && words[0] == "worker") return run_worker(words[1]);  // started by run
  return cli::call(all_verbs, words);
}

// Threads that --threads asks for; 0: the number is not said.
int threads_of(std::span<char* const> words) {
  double threads = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word.starts_with("--threads=")) parse_count(word.substr(10), threads);
    if (word == "--threads" && i + 1 < words.size()) parse_count(words[i + 1], threads);
  }
  return static_cast<int>(std::clamp(threads, 0.0, 1e6));
}

// The OpenMP library reads how long to spin when it is loaded, so the program starts itself again
// with that said, where nobody else has said it.
void wait_as_the_machine_allows(int argc, char** argv) {
  if (argc < 2 || std::getenv("OMP_WAIT_POLICY") != nullptr ||
      std::getenv("GOMP_SPINCOUNT") != nullptr)
    return;
  constexpr std::string_view computing[] = {"train", "eval", "bench", "sample", "search"};
  if (std::find(std::begin(computing), std::end(computing), argv[1]) == std::end(computing)) return;
  const int threads = threads_of({argv, static_cast<std::size_t>(argc)});
  if (threads == 1) return;
  ::setenv("GOMP_SPINCOUNT", std::to_string(spins_while_waiting(threads)).c_str(), 1);
  ::execv("/proc/self/exe", argv);  // comes back where that cannot be: then they spin
}

int complain(std::string_view message, Exit code) {
  const bool color = use_color(stderr);
  const std::string head = color ? "\x1b[1;31merror:\x1b[0m " : "error: ";
  for (const std::string& line : split(message, '\n'))
    fmt::print(stderr, "{}{}\n", head, printable(line));
  return static_cast<int>(code);
}

int run_program(int argc, char** argv) {
  wait_as_the_machine_allows(argc, argv);
  // Until somebody listens himself there is nothing to save: who is asked to stop has stopped.
  ::signal(SIGUSR1, [](int) { ::_exit(static_cast<int>(Exit::preempted)); });
  ::signal(SIGXFSZ, SIG_IGN);  // a file that grew too large is then an error with a name
  try {
    return dispatch(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const Error& e) {
    return complain(e.what(), e.code());
  } catch (const Bug& e) {
    return complain(
        fmt::format(
            "{}\nthis is a bug of pesuite; please report it with the command that led to it",
            e.what())
            .c_str(),
        Exit::internal);
  } catch (const std::filesystem::filesystem_error& e) {
    return complain(fmt::format("cannot use {}: {}", e.path1().string(), e.code().message()),
                    Exit::data);
  } catch (const std::bad_alloc&) {
    return complain("out of memory", Exit::internal);
  } catch (const std::exception& e) {
    return complain(fmt::format("{}\nthis should have been a clearer message; please report it "
                                "with the command that led to it",
                                e.what()),
                    Exit::internal);
  }
}

// Without what libraries do at the end: one that is damaged, or whose threads still run, crashes
// there. Leak checkers look at the end.
[[noreturn]] void leave(int code) {
  std::fflush(nullptr);
#if defined(__SANITIZE_ADDRESS__)
  std::exit(code);
#else
  ::_exit(code);
#endif
}

}  // namespace
}  // namespace pesuite

int main(int argc, char** argv) {
  pesuite::leave(pesuite::run_program(argc, argv));
}
