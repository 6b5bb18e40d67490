#include "suite/worker.h"

#include <signal.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdio>
#include <new>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace pesuite {

Json to_json(const WorkerOrder& o) {
  Json evals = Json::array();
  for (const CellEval& e : o.evals) evals.push_back(to_json(e));
  return {{"cell", to_json(o.cell)},   {"evals", evals},
          {"store", o.store.string()}, {"plugin_path", o.plugin_path},
          {"threads", o.threads},      {"divergence_fails", o.divergence_fails}};
}

WorkerOrder order_from_json(const Json& j) {
  WorkerOrder o;
  o.cell = cell_from_json(j.at("cell"));
  for (const Json& e : j.at("evals")) o.evals.push_back(eval_from_json(e));
  o.store = j.at("store").get<std::string>();
  o.plugin_path = j.at("plugin_path").get<std::vector<std::string>>();
  o.threads = j.at("threads");
  o.divergence_fails = j.at("divergence_fails");
  return o;
}

namespace {

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

void send(const Json& j) {
  std::fputs((j.dump() + "\n").c_str(), stdout);
  std::fflush(stdout);
}

int failed(const char* kind, const std::string& reason, Exit code) {
  send({{"event", "failed"}, {"kind", kind}, {"reason", reason}});
  spdlog::error("{}: {}", kind, reason);
  return static_cast<int>(code);
}

int work(const fs::path& file) {
  const WorkerOrder order = order_from_json(Json::parse(read_file(file)));
  CellWatch watch;
  watch.stop = &stop;
  watch.log = [](const std::string& line) { spdlog::info("{}", line); };
  auto last = std::chrono::steady_clock::time_point();
  watch.progress = [&](const CellProgress& p) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last < std::chrono::milliseconds(200)) return;
    last = now;
    send({{"event", "progress"},
          {"phase", p.phase},
          {"step", p.step},
          {"steps", p.steps},
          {"loss", std::isfinite(p.loss) ? p.loss : 0.0},
          {"tokens_per_s", p.tokens_per_second},
          {"share", p.share}});
  };
  const Store store(order.store);
  FileLock lock(store.cell(cell_id(order.cell)) / ".lock");
  if (!lock.try_take()) {  // another suite has the same cell: afterwards there is nothing left to
                           // do
    spdlog::info("waiting for another process that runs this cell");
    lock.take();
    if (stop) return static_cast<int>(Exit::preempted);
  }
  const CellOutcome outcome =
      run_cell(order.cell, order.evals, store, order.plugin_path, order.threads, watch);
  if (outcome == CellOutcome::stopped) return static_cast<int>(Exit::preempted);
  write_file_atomic(store.status(cell_id(order.cell)),
                    Json{{"state", outcome == CellOutcome::diverged ? "diverged" : "done"},
                         {"ts", utc_timestamp()}}
                            .dump(1) +
                        "\n");
  if (outcome == CellOutcome::diverged && order.divergence_fails)
    return failed("diverged", divergence_failed, Exit::cells_failed);
  return 0;
}

}  // namespace

int run_worker(const fs::path& file) {
  struct sigaction a {};
  a.sa_handler = [](int) { stop = true; };
  for (const int s : {SIGTERM, SIGUSR1}) ::sigaction(s, &a, nullptr);
  ::signal(SIGINT, SIG_IGN);
  auto logger = spdlog::stderr_logger_st("cell");
  logger->set_pattern("%Y-%m-%d %H:%M:%S | %v");
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(logger);
  try {
    return work(file);
  } catch (const std::bad_alloc&) {
    return failed("oom", "out of memory", Exit::cells_failed);
  } catch (const Error& e) {
    const bool memory = std::string_view(e.what()).ends_with("out of memory");  // said by a plugin
    return failed(memory ? "oom" : "error", e.what(), e.code());
  } catch (const std::exception& e) {
    return failed("crash", fmt::format("internal error: {}", e.what()), Exit::internal);
  }
}

}  // namespace pesuite
