#include "run/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/signals.h"
#include "base/text.h"
#include "run/sandbox.h"

namespace pesuite {

Json to_json(const WorkerOrder& o) {
  Json evals = Json::array();
  for (const CellEval& e : o.work.evals) evals.push_back(to_json(e));
  return {{"cell", to_json(o.work.cell)},
          {"evals", evals},
          {"branches", o.work.branches},
          {"until", o.work.until},
          {"reach", o.work.reach},
          {"longest", o.work.longest},
          {"threads", o.work.threads},
          {"recompute", o.work.recompute},
          {"store", o.store.string()},
          {"plugin_path", o.plugin_path},
          {"divergence_fails", o.divergence_fails},
          {"ordinal", o.ordinal},
          {"nonce", o.nonce},
          {"sandbox", o.sandbox},
          {"patience", o.patience}};
}

WorkerOrder order_from_json(const Json& j) {
  WorkerOrder o;
  o.work.cell = cell_from_json(j.at("cell"));
  for (const Json& e : j.at("evals")) o.work.evals.push_back(eval_from_json(e));
  o.work.branches = j.at("branches").get<std::vector<std::int64_t>>();
  o.work.until = j.at("until"), o.work.reach = j.at("reach");
  o.work.longest = j.at("longest"), o.work.threads = j.at("threads");
  o.work.recompute = j.at("recompute");
  o.store = j.at("store").get<std::string>();
  o.plugin_path = j.at("plugin_path").get<std::vector<std::string>>();
  o.divergence_fails = j.at("divergence_fails");
  o.ordinal = j.at("ordinal"), o.nonce = j.at("nonce");
  o.sandbox = j.at("sandbox"), o.patience = j.at("patience");
  return o;
}

namespace {

std::atomic<bool> stop_asked{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

volatile sig_atomic_t patience = 0;
void on_request(int) {
  stop_asked = true;
  ::alarm(static_cast<unsigned>(patience));
}
// A plugin that hangs hears no request, and nobody else may be left to end it.
void on_end_of_patience(int) {
  if (::getpgrp() == ::getpid()) ::kill(0, SIGKILL);
  ::_exit(static_cast<int>(Exit::preempted));
}

// Where the runner listens: what was stdout when the worker started. What plugins print goes to the
// log, so that they do not speak for the worker.
int runner_listens = -1;
std::string nonce;
struct stat listener;  // which file that is
void take_stdout_from_plugins() {
  runner_listens = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
  ::fstat(STDOUT_FILENO, &listener);
  if (runner_listens < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    fail(Exit::internal, "cannot set its output apart: {}", std::strerror(errno));
}

// Whether it is still that file. Who closes the descriptors of others closes files of the store
// too, and what is opened next gets their numbers.
bool is_heard() {
  struct stat now;
  return ::fstat(runner_listens, &now) == 0 && now.st_ino == listener.st_ino &&
         now.st_dev == listener.st_dev;
}

void send(Json j) {
  if (!is_heard()) return;
  j["nonce"] = nonce;
  const std::string line = j.dump() + "\n";
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t n = ::write(runner_listens, line.data() + at, line.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // nobody listens any more
    at += static_cast<std::size_t>(n);
  }
}

int failed(const char* kind, const std::string& said, Exit code) {
  const std::string reason = printable(said);  // by a plugin, perhaps
  send({{"event", "failed"}, {"kind", kind}, {"reason", reason}});
  spdlog::error("{}: {}", kind, reason);
  return static_cast<int>(code);
}

// Ends a cell whose library tried what it may not.
void end_cell(const std::string& why) {
  ::_exit(failed("error", why, Exit::plugin));
}

void watch_writes(const WorkerOrder& order) {
  const Store store(order.store);
  std::vector<fs::path> own;
  for (const CellConfig& c : {order.work.cell, training_of(order.work.cell)}) {
    fs::create_directories(store.cell(cell_id(c)));
    own.push_back(fs::canonical(store.cell(cell_id(c))));
  }
  watch_sandbox(own, end_cell);
}

using Locks = std::vector<std::unique_ptr<FileLock>>;

// Another suite may have the same cell: afterwards there is nothing left to do.
Locks lock_cells(const Store& store, const CellConfig& cell) {
  const std::string id = cell_id(cell), training = cell_id(training_of(cell));
  Locks locks;
  for (const std::string& node : std::set<std::string>{id, training}) {
    if (node != id && store.trained(node)) continue;  // it is only read
    locks.push_back(std::make_unique<FileLock>(store.cell(node) / ".lock"));
    if (!locks.back()->try_take()) {
      spdlog::info("waiting for another process that runs cell {}", node);
      locks.back()->take();
    }
    if (stop_asked) break;
    store.adopt(node);
    for (const fs::path& folder : {store.cell(node), store.checkpoints(node)})
      sweep_temporaries(folder);
  }
  return locks;
}

int work(const fs::path& file) {
  const WorkerOrder order = order_from_json(Json::parse(read_file(file)));
  nonce = order.nonce;
  patience = order.patience;
  if (order.sandbox) watch_writes(order);
  const std::unique_ptr<Group> group = join_group(order.work.cell.backend, order.ordinal);
  CellWatch watch;
  watch.stop = &stop_asked;
  if (group->leads()) watch.log = [](const std::string& line) { spdlog::info("{}", line); };
  watch.opened = [&](const CellPlace& p) {
    if (!group->leads()) return;
    send({{"event", "opened"},
          {"device", p.device},
          {"group", p.group},
          {"processes", p.processes},
          {"determinism", p.determinism}});
  };
  auto last = std::chrono::steady_clock::time_point();
  watch.progress = [&](const CellProgress& p) {
    if (!is_heard())
      fail(Exit::plugin,
           "a plugin has closed descriptors that are not its own; the cell ends here");
    const auto now = std::chrono::steady_clock::now();
    if (!group->leads() || now - last < std::chrono::milliseconds(200)) return;
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
  const std::string id = cell_id(order.work.cell);
  const Locks locks = group->leads() ? lock_cells(store, order.work.cell) : Locks();
  double stopped = stop_asked ? 1 : 0;
  group->sum(std::span(&stopped, 1));  // also waits for who takes the locks
  const CellOutcome outcome = stopped > 0
                                  ? CellOutcome::stopped
                                  : run_cell(order.work, store, order.plugin_path, watch, *group);
  // the launcher takes what one of them returns for the whole
  if (!group->leads()) return 0;
  if (outcome == CellOutcome::stopped) return static_cast<int>(Exit::preempted);
  store.write_status(id, {{"state", outcome == CellOutcome::diverged ? "diverged" : "done"}});
  if (outcome == CellOutcome::diverged && order.divergence_fails)
    return failed("diverged", divergence_failed, Exit::cells_failed);
  return 0;
}

}  // namespace

int run_worker(const fs::path& file) {
  for (const int s : {SIGTERM, SIGUSR1}) hear(s, on_request);
  ::signal(SIGINT, SIG_IGN);
  hear(SIGALRM, on_end_of_patience);
  auto logger = spdlog::stderr_logger_st("cell");
  logger->set_pattern("%Y-%m-%d %H:%M:%S | %v");
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(logger);
  try {
    take_stdout_from_plugins();
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
