#include "run/run.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <random>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/seal.h"
#include "base/signals.h"
#include "base/text.h"
#include "cell/determinism.h"
#include "cell/record.h"
#include "plan/trainings.h"
#include "run/cell_log.h"
#include "run/cell_process.h"
#include "run/context.h"
#include "run/environment.h"
#include "run/process.h"
#include "run/run_records.h"
#include "run/shared_run.h"
#include "run/tracking.h"
#include "run/worker.h"

namespace pesuite {

namespace {

// The last signal that asked the run to stop, and how many did.
volatile sig_atomic_t asked_by = 0, asked_times = 0;
void on_signal(int signal) {
  asked_by = signal;
  asked_times = asked_times + 1;
}

std::string random_text() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

class Runner {
 public:
  Runner(const Suite& suite, const Plan& plan, const RunOptions& options)
      : suite_(suite),
        plan_(plan),
        options_(options),
        store_(options.out / "store"),
        folder_(run_folder(suite, options.out)),
        shared_(folder_, store_),
        cells_(plan.cells),
        tracking_(suite, folder_),
        jobs_(jobs_of(options, suite.threads, plan)) {}

  RunResult run() {
    cells_.insert(cells_.end(), plan_.trunks.begin(), plan_.trunks.end());
    result_.folder = folder_;
    if (launched())
      if (const std::string why = why_not_determined(
              suite_.determinism, {plan_.cells[0].config.backend, suite_.threads, 2});
          !why.empty())
        fail(Exit::usage, "'defaults.determinism' is '{}', but {}", suite_.determinism, why);
    std::vector<std::string> notes = plan_.notes;
    notes.insert(notes.end(), plan_.problems.begin(), plan_.problems.end());
    std::optional<SharedRun::Alone> alone(std::in_place, shared_);
    // what stands there is somebody's who is at work
    const bool joins = shared_.has_others() && fs::exists(folder_ / "plan.json");
    const std::vector<std::string> damaged =
        joins ? std::vector<std::string>() : tidy_run(folder_, notes);
    joined_ = shared_.has_others();
    RunRecords records(suite_, store_, folder_, notes);
    alone.reset();  // a look at all cells takes a while
    choose(records);
    alone.emplace(shared_);
    if (!damaged.empty()) repair(damaged, records);
    if (!joins) {
      forget_old_failures(records);
      sweep_finished_cells(cells_, store_);
    }
    double work = 0;
    for (const std::size_t i : queue_) work += cells_[i].seconds;
    Progress progress(options_.progress, wanted_count(),
                      wanted_count() - queue_.size() - result_.failed, work);
    for (const std::string& n : notes) progress.say("note: " + n);
    if (!joins) records.copy(cells_);  // what earlier runs left
    // a new suite may be made of cells that others have trained
    const bool writes = !joins && (!queue_.empty() || records.changed() || !damaged.empty() ||
                                   !fs::exists(folder_ / "plan.json"));
    if (writes)
      write_run_context(suite_, plan_of_all(suite_, plan_, options_, store_), folder_, store_);
    alone.reset();
    if (writes || !queue_.empty()) note_environment();
    if (!queue_.empty()) {
      asked_by = 0;
      asked_times = 0;
      const SignalGuard guard(on_signal, {SIGINT, SIGTERM, SIGUSR1});
      if (!launched()) adopt_strays();
      tracking_.begin();
      loop(records, progress);
    }
    result_.left = queue_.size();
    leave(records);
    result_.untold = tracking_.end();
    for (const std::string& n : result_.untold) progress.say("note: " + n);
    return result_;
  }

 private:
  void leave(RunRecords& records) {
    const SharedRun::Alone leaving(shared_);
    result_.last = shared_.leave();
    if (result_.last && joined_) {  // some may have been killed before they wrote it down
      refresh_all(cells_, store_);
      records.copy(cells_);
    }
    result_.recorded = records.changed();
    if (result_.last) seal_run(folder_);
  }

  std::set<std::string> planned_ids() const {
    std::set<std::string> ids;
    for (const PlannedCell& c : plan_of_all(suite_, plan_, options_, store_).cells)
      ids.insert(c.id);
    return ids;
  }

  void repair(const std::vector<std::string>& damaged, RunRecords& records) const {
    for (const std::string& name : damaged) {
      std::error_code ignored;
      if (name == "env.json" || name == "tuning.json") fs::remove(folder_ / name, ignored);
    }
    records.repair(planned_ids(), cells_);
  }

  // Failures of what is no longer planned, since a library is another, or loads again.
  void forget_old_failures(RunRecords& records) const {
    std::set<std::string> planned;
    for (const PlannedCell& c : cells_) planned.insert(c.id);
    const std::vector<std::string> failed = records.failed_cells();
    if (std::includes(planned.begin(), planned.end(), failed.begin(), failed.end())) return;
    planned.merge(planned_ids());
    for (const std::string& cell : failed)
      if (!planned.contains(cell)) records.forget_failure(cell);
  }

  std::size_t wanted_count() const {
    return static_cast<std::size_t>(std::count(wanted_.begin(), wanted_.end(), true));
  }

  // What is to run, first what most has to wait for.
  void choose(RunRecords& records) {
    wanted_ = chosen(cells_, options_.shard, options_.stage);
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      PlannedCell& c = cells_[i];
      if (!wanted_[i] || shared_.is_elsewhere(c)) continue;
      const bool again = wants_again(c);
      if (!again && (options_.resume || c.state != PlannedCell::State::begun)) continue;
      start_over(c, store_);
      c.seconds = c.flops() / plan_.rate;
      if (!again) continue;
      const SharedRun::Alone alone(shared_);
      records.forget(c);
    }
    refresh_all(cells_, store_);
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const PlannedCell& c = cells_[i];
      if (!wanted_[i]) continue;
      switch (c.state) {
        case PlannedCell::State::done:
          store_.keep_status(c.id, "done");
          result_.skipped += c.is_trunk ? 0 : 1;
          break;
        case PlannedCell::State::diverged:
          store_.keep_status(c.id, "diverged");
          if (c.is_trunk) break;
          ++(suite_.divergence_fails ? result_.failed : result_.skipped);
          if (suite_.divergence_fails)
            result_.failures.push_back(fmt::format("{}: {}", c.label(), divergence_failed));
          break;
        case PlannedCell::State::failed:
          ++result_.failed;
          result_.failures.push_back(fmt::format("{} failed before ({})", c.label(), c.reason));
          break;
        case PlannedCell::State::begun:
        case PlannedCell::State::planned: queue_.push_back(i); break;
      }
    }
    const std::vector<double> urgency = urgencies(cells_);
    std::stable_sort(queue_.begin(), queue_.end(),
                     [&](std::size_t a, std::size_t b) { return urgency[a] > urgency[b]; });
  }
  bool wants_again(const PlannedCell& c) const {
    if (options_.rerun.empty()) return false;
    if (options_.rerun == "failed") return c.state == PlannedCell::State::failed;
    return options_.rerun == "all" ||
           (!c.is_trunk && Filter(options_.rerun).matches(c.coordinates()));
  }
  // An entry in env.json; before the first cell, since it takes a while.
  void note_environment() {
    Json start = environment(open_catalog(plugin_search_path(options_.plugin_path)));
    start["command"] = options_.command;
    start["jobs"] = jobs_;
    if (launched()) start["launch"] = join(options_.launch, " ");
    const SharedRun::Alone alone(shared_);
    environment_.emplace(folder_ / "env.json", std::move(start));
  }

  void loop(RunRecords& records, Progress& progress) {
    bool stopping = false;
    while (!running_.empty() || (!stopping && !queue_.empty())) {
      if (!stopping) start_what_is_ready(records, progress);
      wait_for_news(progress);
      for (const CellProcess& p : running_) renew(p);
      if (asked_times > 0 && !stopping) {
        stopping = true;
        result_.stopped_by = asked_by;
        progress.say("stopping: each cell writes a checkpoint; ask again to kill them");
        for (const CellProcess& p : running_) ask_to_stop(p);
      }
      if (asked_times > 1)
        for (CellProcess& p : running_) kill(p);
      enforce_time_limits();
      reap(records, progress, stopping);
    }
  }

  void start_what_is_ready(RunRecords& records, Progress& progress) {
    bool others = false;  // are at something of ours
    for (auto at = queue_.begin();
         at != queue_.end() && running_.size() < static_cast<std::size_t>(jobs_);) {
      PlannedCell& c = cells_[*at];
      if (!is_ready(c, cells_, store_)) {
        others = others || is_awaited_elsewhere(c);
        ++at;
      } else if (!fits(c, progress)) {
        ++at;
      } else if (!shared_.claim(c)) {
        others = joined_ = true;
        ++at;
      } else {
        if (!take_over(c, records, progress)) start(*at, progress);
        at = queue_.erase(at);
      }
    }
    if (!running_.empty() || others) return;
    // nobody is left who could train what these wait for
    for (const std::size_t i : std::exchange(queue_, {})) {
      const PlannedCell& c = cells_[i];
      PlannedCell& before = cells_[static_cast<std::size_t>(c.after)];
      refresh(before, store_);
      if (is_ready(c, cells_, store_)) {  // another process has ended it since we looked
        queue_.push_back(i);
        continue;
      }
      CellProcess p;
      p.kind = "error";
      p.reason = fmt::format("needs the training of {}, which {}", before.label(),
                             before.state == PlannedCell::State::done
                                 ? "is gone; '--rerun all' trains it again"
                             : options_.stage >= 0 ? "is not there; an earlier stage trains it"
                                                   : "failed");
      fail_cell(c, p, records, progress);
      progress.say(fmt::format("{}: {}", c.label(), p.reason));
    }
  }
  // Whether it has room in memory beside those that run. Alone each may try; and who says how many
  // at a time has the last word.
  bool fits(const PlannedCell& c, Progress& progress) {
    if (options_.jobs > 0 || launched() || c.config.backend == "cuda") return true;
    double taken = 0;
    for (const CellProcess& p : running_) taken += cells_[p.cell].memory;
    if (taken + c.memory <= memory_) return true;
    const bool told = std::exchange(told_of_memory_, true);
    const std::string takes = fmt::format("{} takes about {}", c.label(), format_bytes(c.memory));
    if (running_.empty()) {
      progress.say(
          fmt::format("note: {}, and there are {} of memory; smaller passes "
                      "('micro_batch') or 'recompute' take less",
                      takes, format_bytes(machine_memory())));
      return true;
    }
    if (!told)
      progress.say(
          fmt::format("note: fewer cells at a time than {}: {}, those that run {}, and "
                      "of {} of memory they may have {}; '--jobs {}' runs as many all "
                      "the same",
                      jobs_, takes, format_bytes(taken), format_bytes(machine_memory()),
                      format_bytes(memory_), jobs_));
    return false;
  }
  bool is_awaited_elsewhere(const PlannedCell& c) {
    for (std::ptrdiff_t i = c.after; i >= 0; i = cells_[static_cast<std::size_t>(i)].after)
      if (shared_.is_elsewhere(cells_[static_cast<std::size_t>(i)])) return true;
    return false;
  }

  // Whether another process has ended the cell since it was chosen.
  bool take_over(PlannedCell& c, RunRecords& records, Progress& progress) {
    refresh(c, store_);
    const bool diverged = c.state == PlannedCell::State::diverged;
    const bool failed = (c.state == PlannedCell::State::failed && options_.rerun.empty()) ||
                        (diverged && suite_.divergence_fails);
    if (c.state != PlannedCell::State::done && !diverged && !failed) return false;
    shared_.release(c);
    progress.started(c.id, c.label(), c.seconds);
    if (failed) {
      const std::string why = diverged ? divergence_failed : c.reason;
      ++result_.failed;
      result_.failures.push_back(fmt::format("{}: {}", c.label(), why));
      progress.finished(c.id, "failed", why + "; in another process");
      return true;
    }
    if (!c.is_trunk) {
      ++(diverged ? result_.diverged : result_.done);
      ++result_.elsewhere;
    }
    const SharedRun::Alone alone(shared_);
    records.copy({c});  // who computed it may have been killed before it did
    log_cell(folder_, c.id, c.state);
    progress.finished(c.id, std::string(state_name(c.state)), "by another process");
    return true;
  }

  void start(std::size_t index, Progress& progress) {
    result_.ran = true;
    const PlannedCell& c = cells_[index];
    const fs::path file = store_.cell(c.id) / "work.json";
    const WorkerOrder order = order_for(c);
    write_file_atomic(file, to_json(order).dump(1) + "\n");
    // also when the file is replaced meanwhile; a launcher needs a name that other machines know
    const std::string self = "/proc/self/exe";
    WorkerCommand command;
    command.words = options_.launch;
    command.words.insert(
        command.words.end(),
        {launched() ? fs::read_symlink(self).string() : "pesuite", "worker", file.string()});
    command.program = launched() ? command.words[0] : self;
    command.log = store_.log(c.id);
    const CellLimits limits = limits_of(suite_, c, plan_.rate);
    command.memory_limit = limits.bytes, command.threads = suite_.threads;
    command.fixed_instructions = suite_.determinism == "strict";
    CellProcess p;
    p.device = free_device();
    const GivenDevice given(options_.devices, p.device);
    const WorkerProcess worker = start_worker(command);
    p.cell = index;
    p.start = std::chrono::steady_clock::now();
    p.pid = worker.pid, p.output = worker.output;
    p.nonce = order.nonce, p.time_limit = limits.seconds;
    progress.started(c.id, c.label(), c.seconds);
    running_.push_back(std::move(p));
  }

  // The one with the fewest cells; -1: they are not dealt out.
  int free_device() const {
    std::vector<int> cells(options_.devices.size(), 0);
    for (const CellProcess& p : running_)
      if (p.device >= 0) ++cells[static_cast<std::size_t>(p.device)];
    return cells.empty()
               ? -1
               : static_cast<int>(std::min_element(cells.begin(), cells.end()) - cells.begin());
  }

  WorkerOrder order_for(const PlannedCell& c) {
    WorkerOrder order;
    order.work.cell = c.config;
    order.work.evals = c.evals;
    order.work.branches = c.branches;
    if (c.is_trunk) order.work.until = *std::max_element(c.branches.begin(), c.branches.end());
    order.work.reach = c.reach;
    order.work.longest = c.longest;
    order.work.threads = suite_.threads, order.work.recompute = suite_.recompute;
    order.store = fs::absolute(store_.root());
    order.plugin_path = options_.plugin_path;
    order.divergence_fails = suite_.divergence_fails;
    order.ordinal = started_++;
    order.nonce = random_text();
    order.sandbox = options_.sandbox;
    const double limit = limits_of(suite_, c, plan_.rate).seconds;
    if (limit > 0 && limit < order.patience) order.patience = static_cast<int>(std::ceil(limit));
    return order;
  }

  void wait_for_news(Progress& progress) {
    std::vector<pollfd> fds;
    for (const CellProcess& p : running_) fds.push_back({p.output, POLLIN, 0});
    ::poll(fds.data(), fds.size(), 100);  // interrupted by signals, which is as good as news
    for (std::size_t i = 0; i < running_.size() && i < fds.size(); ++i)
      if (fds[i].revents != 0) read_events(running_[i], progress);
    progress.tick();
  }

  void note_place(const PlannedCell& c, const Json& opened) {
    Json by = {{"backend", c.config.backend},
               {"device", opened.value("device", "")},
               {"precision", precision_name(c.config.precision)},
               {"threads", suite_.threads},
               {"processes", opened.value("processes", 1)},
               {"determinism", opened.value("determinism", "")}};
    if (const std::string group = opened.value("group", ""); !group.empty()) by["group"] = group;
    const SharedRun::Alone alone(shared_);
    environment_->add_cell(c.id, by);
  }

  // False when nothing was there to read.
  bool read_events(CellProcess& p, Progress& progress) {
    return read_messages(p, [&](const Json& j) {
      const PlannedCell& c = cells_[p.cell];
      if (j.at("event") == "opened") return note_place(c, j);
      progress.update(c.id, p.at);
      tracking_.heard(c, p.at);
    });
  }

  void renew(const CellProcess& p) {
    Holder h;
    h.phase = p.at.phase, h.step = p.at.step, h.steps = p.at.steps, h.share = p.at.share;
    const double share = p.at.share;
    h.seconds_left = share > 0 ? p.spent() * (1 - share) / share : cells_[p.cell].seconds;
    shared_.renew(cells_[p.cell], h);
  }

  // mpirun and srun pass SIGUSR1 on; SIGTERM they answer themselves and leave no time.
  void ask_to_stop(const CellProcess& p) const { ::kill(p.pid, launched() ? SIGUSR1 : SIGTERM); }
  bool launched() const { return !options_.launch.empty(); }
  void kill(CellProcess& p) { p.killed = true, end_group(p.pid); }

  void enforce_time_limits() {
    for (CellProcess& p : running_) {
      if (p.time_limit <= 0) continue;
      const double spent = p.spent();
      if (spent > p.time_limit && !p.timed_out) {
        p.timed_out = true;
        ask_to_stop(p);  // time for a checkpoint
      }
      constexpr double grace = 10;
      if (spent > p.time_limit + std::min(grace, p.time_limit)) end_group(p.pid);
    }
  }

  void reap(RunRecords& records, Progress& progress, bool& stopping) {
    for (std::size_t i = 0; i < running_.size();) {
      siginfo_t end{};
      const pid_t pid = running_[i].pid;
      if (::waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOHANG | WNOWAIT) != 0 ||
          end.si_pid != pid) {
        ++i;
        continue;
      }
      end_group(pid);  // while its number is still its own
      int status = 0;
      ::waitpid(pid, &status, 0);
      if (!launched()) end_strays_but(pids());
      CellProcess p = std::move(running_[i]);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      while (read_events(p, progress)) {
      }  // what is left in the pipe
      ::close(p.output);
      settle(p, status, records, progress, stopping);
    }
  }

  std::set<pid_t> pids() const {
    std::set<pid_t> out = tracking_.processes();
    for (const CellProcess& p : running_) out.insert(p.pid);
    return out;
  }

  // As has_ended(), and whether its results are there.
  bool ended(CellProcess& p, int status, bool stopping) {
    PlannedCell& c = cells_[p.cell];
    const Ending how{.status = status,
                     .stopping = stopping,
                     .sandbox = options_.sandbox,
                     .preemptions = preempted_[c.id],
                     .log = store_.log(c.id),
                     .launch = options_.launch};
    if (!has_ended(p, how)) return false;
    if (!p.kind.empty()) return true;
    refresh(c, store_);  // done is what the store has, whatever the process says
    if (c.state != PlannedCell::State::done && c.state != PlannedCell::State::diverged) {
      p.kind = "crash";
      p.reason = fmt::format("ended with exit code 0{} and left no results; its log is {}",
                             p.where(), store_.log(c.id).string());
    }
    return true;
  }

  // Writes down how a cell ended.
  void settle(CellProcess& p, int status, RunRecords& records, Progress& progress, bool& stopping) {
    PlannedCell& c = cells_[p.cell];
    if (!ended(p, status, stopping)) {
      shared_.release(c);
      progress.finished(c.id, "stopped", "");
      queue_.push_back(p.cell);
      return;
    }
    settle_ended(p, records, progress, stopping);
    shared_.release(c);
  }
  void settle_ended(CellProcess& p, RunRecords& records, Progress& progress, bool& stopping) {
    PlannedCell& c = cells_[p.cell];
    const SharedRun::Alone alone(shared_);
    if (p.kind.empty()) {
      if (!c.is_trunk)
        c.state == PlannedCell::State::diverged ? ++result_.diverged : ++result_.done;
      records.copy({c});
      log_cell(folder_, c.id, c.state);
      progress.finished(c.id, c.state == PlannedCell::State::diverged ? "diverged" : "done",
                        c.state == PlannedCell::State::diverged ? "kept as a result" : "");
      return;
    }
    const bool transient = p.kind == "oom" || p.kind == "timeout" || p.kind == "crash";
    if (transient && attempts_[c.id]++ < options_.retries) {
      progress.finished(c.id, "stopped", fmt::format("{}; trying again", p.reason));
      queue_.push_back(p.cell);
      return;
    }
    records.copy({c});  // what it left is a result nevertheless
    if (p.kind != "diverged")
      store_.write_status(c.id, {{"state", "failed"}, {"kind", p.kind}, {"reason", p.reason}});
    fail_cell(c, p, records, progress);
    if (options_.fail_fast && !stopping) {
      stopping = true;
      progress.say("--fail-fast: stopping the other cells, which write a checkpoint");
      for (const CellProcess& other : running_) ask_to_stop(other);
    }
  }

  void fail_cell(const PlannedCell& c, const CellProcess& p, RunRecords& records,
                 Progress& progress) {
    const SharedRun::Alone alone(shared_);
    // a trunk is no cell of the suite: those that wait for it say what failed
    if (!c.is_trunk) records.add_failure(c, p.kind, p.reason);
    log_cell(folder_, c.id, PlannedCell::State::failed, fmt::format("{}: {}", p.kind, p.reason));
    ++result_.failed;
    result_.failures.push_back(fmt::format("{}: {}: {}", c.label(), p.kind, p.reason));
    progress.finished(c.id, p.kind, p.reason);
  }

  const Suite& suite_;
  const Plan& plan_;
  const RunOptions& options_;
  Store store_;
  fs::path folder_;
  SharedRun shared_;
  std::vector<PlannedCell> cells_;  // and behind them the trunks
  Tracking tracking_;
  std::vector<bool> wanted_;  // of them, here
  bool joined_ = false;       // others were at the run when it began, or have come since
  int jobs_;
  double memory_ = 0.9 * machine_memory();  // bytes, for all cells that run
  bool told_of_memory_ = false;
  std::deque<std::size_t> queue_;
  std::vector<CellProcess> running_;
  int started_ = 0;  // workers so far
  std::optional<EnvironmentFile> environment_;
  std::map<std::string, int> attempts_, preempted_;
  RunResult result_;
};

}  // namespace

RunResult run_suite(const Suite& suite, const Plan& plan, const RunOptions& options) {
  return Runner(suite, plan, options).run();
}

}  // namespace pesuite
