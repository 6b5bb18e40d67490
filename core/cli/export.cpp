// export: records and verdicts in formats of other programs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cell/planned.h"
#include "cell/record.h"
#include "cli/arguments.h"
#include "cli/find_run.h"
#include "exports/curves.h"
#include "exports/exports.h"
#include "exports/follow.h"
#include "suite/suite.h"

namespace pesuite::cli {

namespace {

const std::vector<std::string> formats = {"csv",         "sqlite",  "junit",  "bmf",
                                          "gab",         "comment", "curves", "mlperf",
                                          "tensorboard", "wandb",   "mlflow"};

std::vector<ExportedRun> read_runs(const Arguments& a) {
  std::vector<ExportedRun> out;
  for (const std::string& name : a.texts("run")) {
    const fs::path run = find_run(name, a.text("out"));
    Records r = read_records(run / "records.jsonl");
    for (const std::string& n : r.notes) fmt::print(stderr, "note: {}\n", n);
    if (r.all.empty()) fail(Exit::data, "{} has no records", run.string());
    out.push_back({fs::weakly_canonical(run).filename().string(), std::move(r.all)});
    if (a.text("to") != "mlperf" || !fs::exists(run / plan_file)) continue;
    for (const Json& cell : read_plan(run).value("cells", Json::array()))
      out.back().configs[cell.value("cell", "")] = cell.value("config", Json::object());
  }
  return out;
}

void write(const Arguments& a, const std::string& text) {
  if (a.has("output"))
    write_file_atomic(a.text("output"), text);
  else
    fmt::print("{}", text);
}

// Curves against those of a file; the exit code.
int compare_with(const fs::path& file, const std::vector<Curve>& now, double margin) {
  constexpr const char* names[] = {"identical",    "equivalent", "slower", "faster",
                                   "inconclusive", "missing",    "other"};
  bool slower = false, undecided = false;
  std::vector<std::vector<std::string>> rows = {{"verdict", "curve", ""}};
  for (const CurveVerdict& v : compare_curves(read_curves(file), now, margin)) {
    rows.push_back({names[static_cast<int>(v.kind)], v.name, v.sentence});
    slower =
        slower || v.kind == CurveVerdict::Kind::slower || v.kind == CurveVerdict::Kind::missing;
    undecided = undecided || v.kind == CurveVerdict::Kind::inconclusive ||
                v.kind == CurveVerdict::Kind::other;
  }
  fmt::print("{}", plain_table(rows));
  if (slower) return static_cast<int>(Exit::regression);
  return static_cast<int>(undecided ? Exit::inconclusive : Exit::done);
}

int export_curves(const Arguments& a, const std::vector<ExportedRun>& runs) {
  std::vector<Curve> all;
  for (const ExportedRun& r : runs)
    for (Curve& c : curves_of(r.records)) all.push_back(std::move(c));
  if (all.empty()) fail(Exit::data, "no training of these runs has recorded a loss");
  if (a.has("against")) return compare_with(a.text("against"), all, a.get<double>("margin"));
  write(a, to_json(all).dump(1) + "\n");
  return 0;
}

void export_mlperf(const Arguments& a, const std::vector<ExportedRun>& runs) {
  a.require("output", "the folder: --output FOLDER");
  const std::size_t logs = write_mlperf(runs, a.text("output"));
  fmt::print(stderr, "wrote {} to {}\n", counted(logs, "training"), a.text("output"));
}

// Reports and figures of the runs.
std::vector<RunFiles> files_of(const Arguments& a) {
  std::vector<RunFiles> out;
  for (const std::string& name : a.texts("run")) {
    const fs::path run = find_run(name, a.text("out"));
    out.push_back({fs::weakly_canonical(run).filename().string(), {}});
    for (const char* file : {"report.html", "report.md", "details.md"})
      if (fs::exists(run / file)) out.back().files.emplace_back(file, run / file);
    std::set<fs::path> figures;
    std::error_code error;
    for (const auto& item : fs::directory_iterator(run / "figures", error))
      if (item.path().extension() == ".svg" || item.path().extension() == ".png")
        figures.insert(item.path());
    for (const fs::path& f : figures)
      out.back().files.emplace_back("figures/" + f.filename().string(), f);
  }
  return out;
}

void write_images(const Arguments& a) {
  for (const RunFiles& r : files_of(a))
    if (const std::size_t images = write_tensorboard_images(r, a.text("output")); images > 0)
      fmt::print(stderr, "wrote {} of {}\n", counted(images, "figure"), r.run);
    else
      fmt::print(stderr,
                 "note: no figures of {}; 'pesuite report {} --figures svg,png' draws them\n",
                 r.run, r.run);
}

// Of tensorboard, wandb and mlflow. The exit code: 5 where something was not sent.
int send_sessions(const Arguments& a, const std::string& to) {
  if (to == "mlflow" && a.has("from") && !a.texts("run").empty())
    fail(Exit::usage, "--from: a file that was written --offline has its runs; name none");
  const std::vector<Session> sessions =
      to == "mlflow" && a.has("from") ? read_spool(a.text("from")) : sessions_of(read_runs(a));
  if (to != "mlflow" || a.flag("offline"))
    a.require("output", to == "mlflow" ? "the file: --output FILE" : "the folder: --output FOLDER");
  if (to == "tensorboard") write_tensorboard(sessions, a.text("output")), write_images(a);
  if (to == "wandb") write_wandb(sessions, a.text("output"));
  if (to == "mlflow" && a.flag("offline")) write_file_atomic(a.text("output"), spool_of(sessions));
  if (to != "mlflow" || a.flag("offline")) {
    fmt::print(stderr, "wrote {} to {}\n", counted(sessions.size(), "session"), a.text("output"));
    return 0;
  }
  a.require("url", "the server: --url http://HOST:5000");
  MlflowOptions o;
  o.url = a.text("url"), o.collection = a.text("experiment");
  const Http http = curl_http(a.get<double>("timeout"));
  MlflowSent sent = send_to_mlflow(sessions, o, http);
  if (sent.failures.empty() && !a.has("from")) {
    const MlflowSent files = send_files_to_mlflow(files_of(a), o, http);
    sent.files = files.files, sent.requests += files.requests, sent.failures = files.failures;
  }
  fmt::print(stderr, "sent {} with {}, and {} of reports, in {}; {} there before\n",
             counted(sent.sessions, "session"), counted(sent.metrics, "metric"),
             counted(sent.files, "file"), counted(sent.requests, "request"), sent.before);
  for (const std::string& f : sent.failures) fmt::print(stderr, "not sent: {}\n", printable(f));
  if (!sent.failures.empty())
    fmt::print(stderr, "the same command sends what is missing; --offline writes it into a file\n");
  return sent.failures.empty() ? 0 : static_cast<int>(Exit::data);
}

// What stands in a run's folder now, whole lines alone.
ExportedRun look_at(const fs::path& run) {
  ExportedRun out{fs::weakly_canonical(run).filename().string(), {}, {}};
  if (fs::exists(run / "records.jsonl")) out.records = read_records(run / "records.jsonl").all;
  if (!fs::exists(run / live_file)) return out;
  for (const std::string& line : split(read_file(run / live_file), '\n'))
    if (Json j = Json::parse(line, nullptr, false); j.is_object()) out.live.push_back(std::move(j));
  return out;
}

std::unique_ptr<Follower> follower_of(const Arguments& a, const std::string& to) {
  if (to != "mlflow") a.require("output", "the folder: --output FOLDER");
  if (to == "tensorboard") return follow_tensorboard(a.text("output"));
  if (to == "wandb") return follow_wandb(a.text("output"));
  a.require("url", "the server: --url http://HOST:5000");
  MlflowOptions o;
  o.url = a.text("url"), o.collection = a.text("experiment"), o.tries = 1;
  return follow_mlflow(o, curl_http(a.get<double>("timeout")));
}

// Until nobody is at the run any more. The exit code: 5 where something was not sent.
int follow_run(const Arguments& a, const std::string& to) {
  if (a.flag("offline") || a.has("from") || a.texts("run").size() != 1)
    fail(Exit::usage, "--follow: one run, not with --offline or --from");
  const fs::path named = a.texts("run")[0];
  const fs::path run = fs::is_directory(named) ? named : find_run(named.string(), a.text("out"));
  const std::unique_ptr<Follower> follower = follower_of(a, to);
  const FileLock runners(run / ".runners");
  FileLock only_one(run / fmt::format(".track-{}", to));
  const auto pause = std::chrono::duration<double>(std::max(0.1, a.get<double>("every")));
  std::vector<std::string> failures;
  std::uintmax_t seen = 0;
  for (bool over = false, first = true; !over; first = false) {
    if (!first) std::this_thread::sleep_for(pause);
    over = runners.is_free();
    if (!only_one.try_take()) continue;  // a process beside this one tells the tracker
    std::error_code error;
    std::uintmax_t size = 1;
    for (const char* name : {"records.jsonl", live_file})
      if (fs::exists(run / name, error)) size += fs::file_size(run / name, error);
    if (size == seen && !over && failures.empty()) continue;
    seen = size;
    failures = follower->send(sessions_of({look_at(run)}), over);
    for (const std::string& f : failures) fmt::print(stderr, "not sent: {}\n", printable(f));
  }
  return failures.empty() ? 0 : static_cast<int>(Exit::data);
}

std::string direction_of(const Arguments& a) {
  const std::string d = a.text("direction");
  if (d != "lower" && d != "higher")
    fail(Exit::usage, "--direction is '{}'; known are lower and higher", d);
  return d;
}

void add_flags_of_export(Arguments& a) {
  a.flags()("to", po::value<std::string>(), join(formats, ", ").c_str())(
      "output,o", po::value<std::string>(),
      "file to write (default: stdout); of mlperf, tensorboard and wandb a folder")(
      "url", po::value<std::string>(), "mlflow: the server, e.g. http://localhost:5000")(
      "experiment", po::value<std::string>()->default_value("pesuite"), "mlflow: its name")(
      "timeout", real_value(30), "mlflow: seconds of a request")(
      "offline", po::bool_switch(), "mlflow: into --output, for --from")(
      "from", po::value<std::string>(), "mlflow: sends what was written --offline")(
      "follow", po::bool_switch(),
      "tensorboard, wandb, mlflow: hand on what comes until the run is over; the suite's [track] "
      "starts this")("every", real_value(5), "with --follow: seconds between looks")(
      "out", po::value<std::string>()->default_value("results"), "folder of the results")(
      "verdicts", po::value<std::string>(),
      "junit, comment: JSON that 'pesuite compare --json' or a gate wrote")(
      "direction", po::value<std::string>()->default_value("lower"),
      "gab: results of which lower or higher values are better, as its file has one direction")(
      "against", po::value<std::string>(),
      "curves: compare with this file instead; exit code 1 where a curve is slower or missing, 7 "
      "where one is not decided")("margin", real_value(0.01), "curves: nats that do not matter");
  a.choices("to", formats);
  a.choices("direction", {"lower", "higher"});
  a.positional("run", -1);
}

}  // namespace

int export_verb(const std::vector<std::string>& words) {
  Arguments a("export RUN... [flags]",
              "Writes records of runs for other programs: csv and sqlite (every field), junit "
              "(cells and verdicts), bmf (Bencher\nmetric format), gab (github-action-benchmark), "
              "comment (Markdown of verdicts for a pull request), curves (losses by\nstep, to "
              "which a later run can be held), mlperf (events in MLPerf's format), tensorboard "
              "(event files), wandb (a script\nthat sends them), mlflow (to a server).");
  add_flags_of_export(a);
  if (!a.parse(words)) return 0;
  a.require("to", "the format: " + join(formats, ", "));
  const std::string to = a.text("to");
  if (std::find(formats.begin(), formats.end(), to) == formats.end())
    fail(Exit::usage, "--to: there is no format '{}'{}; known are {}", to,
         did_you_mean(to, formats), join(formats, ", "));
  std::optional<Verdicts> verdicts;
  if (a.has("verdicts")) verdicts = read_verdicts(a.text("verdicts"));
  if (to == "comment") {
    if (!verdicts) a.require("verdicts", "the verdicts: --verdicts FILE");
    write(a, comment_markdown(*verdicts));
    return 0;
  }
  if ((!verdicts || to != "junit") && !a.has("from")) a.require("run", "a run");
  const bool is_tracker = std::find(trackers.begin(), trackers.end(), to) != trackers.end();
  if (a.flag("follow")) {
    if (!is_tracker) fail(Exit::usage, "--follow: to {} alone", join(trackers, ", "));
    return follow_run(a, to);
  }
  if (is_tracker) return send_sessions(a, to);
  if (to == "sqlite") a.require("output", "the file of the database: --output FILE");
  const std::vector<ExportedRun> runs = read_runs(a);
  if (to == "curves") return export_curves(a, runs);
  if (to == "sqlite") records_sqlite(runs, a.text("output"));
  if (to == "mlperf") export_mlperf(a, runs);
  if (to == "csv") write(a, records_csv(runs));
  if (to == "junit") write(a, junit_xml(runs, verdicts ? &*verdicts : nullptr));
  if (to == "bmf") write(a, bencher_json(runs));
  if (to == "gab") write(a, action_benchmark_json(runs, direction_of(a)));
  return 0;
}

}  // namespace pesuite::cli
