#include "model/train.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "model/gradient_sum.h"
#include "model/health.h"
#include "pesuite/random.hpp"

namespace pesuite {

int TrainConfig::pass_size(int processes) const {
  const int share = (batch + processes - 1) / processes;
  if (micro_batch > 0) return std::min(micro_batch, share);
  return std::clamp(pass_tokens / length, 1, share);
}

double TrainConfig::tokens_read(std::int64_t first, std::int64_t last) const {
  // from `over` on no step differs from another
  const std::int64_t even =
      std::clamp(lengths.kind == LengthKind::growing ? lengths.over : 0, first, last);
  double tokens = static_cast<double>(last - even) * lengths.mean(length, even);
  for (std::int64_t step = first; step < even; ++step) tokens += lengths.mean(length, step);
  return batch * tokens;
}

namespace {

std::int64_t scored_targets(const Batch& b) {
  return std::count_if(b.targets.begin(), b.targets.end(), [](int t) { return t >= 0; });
}

std::int64_t correct_answers(const Batch& b, const Scores& s) {
  std::int64_t correct = 0;
  for (std::size_t i = 0; i < s.best.size(); ++i)
    correct += s.best[i] == b.targets[static_cast<std::size_t>(s.place[i])] ? 1 : 0;
  return correct;
}

double sum(const std::vector<double>& v) {
  double s = 0;
  for (const double x : v) s += x;
  return s;
}

// One training run: what train() keeps at hand.
class Trainer {
 public:
  Trainer(Model& model, const Mixture& data, const TrainConfig& config, std::uint64_t seed,
          const std::string& identity, const TrainPaths& paths, const TrainWatch& watch,
          TrainState& state, Group& group)
      : model_(model),
        data_(data),
        task_(data.main()),
        config_(config),
        seed_(seed),
        identity_(identity),
        paths_(paths),
        watch_(watch),
        state_(state),
        group_(group),
        gradients_(model, group),
        optimizer_(model.backend(), config.optimizer) {
    if (config.health) parts_.emplace(model);
    if (model.backend().rounds_to_fp16() && state.step == 0)
      state.loss_scale.factor = LossScale::first;
  }

  TrainOutcome train() {
    check_equal_start();
    const TrainOutcome outcome = go_on();
    group_.wait();  // until the files are written
    return outcome;
  }

 private:
  TrainOutcome go_on() {
    save_branch();
    while (state_.step < config_.steps && !state_.diverged && !state_.stopped_early) {
      if (state_.step >= watch_.until) {
        save(paths_.last);
        return TrainOutcome::paused;
      }
      step();
      if (state_.diverged) break;
      const bool last = state_.step == config_.steps;
      if (last || due(config_.log_every)) log_training();
      if (last || due(config_.eval_every)) validate();
      if (state_.stopped_early) break;
      save_branch();
      if (stop_asked() && !last) {
        save(paths_.last);
        return TrainOutcome::stopped;
      }
      if (last || due(config_.checkpoint_every)) save_periodic();
    }
    if (state_.diverged || state_.stopped_early) save(paths_.last);
    return state_.diverged ? TrainOutcome::diverged : TrainOutcome::finished;
  }

  bool stop_asked() const {
    return group_.size() > 1 ? stop_agreed_ : watch_.stop != nullptr && watch_.stop->load();
  }

  // All have read what they go on from before one of them writes.
  void check_equal_start() {
    for (const double step : group_.gather(static_cast<double>(state_.step)))
      if (step != static_cast<double>(state_.step))
        fail(Exit::data,
             "the processes go on from different steps ({} and {}): do all of them see the same "
             "files?",
             state_.step, step);
  }
  bool due(std::int64_t every) const { return every > 0 && state_.step % every == 0; }

  StepInfo step_info(bool training, const Batch& b) const {
    StepInfo s;
    s.training = training;
    s.step = state_.step;
    s.steps = config_.steps;
    s.seed = pes::mix64(seed_, pes::hash64("step")) + static_cast<std::uint64_t>(state_.step);
    s.batch = b.size;
    s.length = b.length;
    return s;
  }

  void step() {
    const auto start = std::chrono::steady_clock::now();
    std::int64_t scored = 0, tokens = 0;
    const std::vector<Batch> passes = make_passes(scored, tokens);
    state_.making += seconds_since(start);
    if (scored == 0)
      fail(Exit::data, "task '{}' scores no target in examples {} .. {}", task_.text(),
           state_.cursor, state_.cursor + config_.batch - 1);
    double nats = 0, correct = 0;
    GradientsDone send;  // sums over processes go on while the last pass of each does
    if (group_.size() > 1) send = [&](ParameterRange range) { gradients_.send(range); };
    for (std::size_t i = rank(); i < passes.size(); i += processes()) {
      StepInfo s = step_info(true, passes[i]);
      s.seed = pes::mix64(s.seed, i);
      s.drops = config_.dropout_steps < 0 || state_.step < config_.dropout_steps;
      const bool last = i + processes() >= passes.size();
      const double weight = state_.loss_scale.factor / static_cast<double>(scored);
      const Scores scores = model_.learn(passes[i], s, weight, last ? send : GradientsDone());
      nats += sum(scores.nats);
      correct += static_cast<double>(correct_answers(passes[i], scores));
    }
    if (rank() >= passes.size() && send)
      for (const ParameterRange range : model_.gradient_order()) send(range);
    if (group_.size() > 1) sum_over_processes(nats, correct);
    const double norm = update();
    const double loss = nats / static_cast<double>(scored);
    const bool left_out = std::isfinite(loss) && state_.loss_scale.leave_out(std::isfinite(norm));
    if (parts_) watch_for_spikes(loss);
    ++state_.step;
    state_.cursor += config_.batch;
    state_.tokens += tokens;
    state_.logged_tokens += tokens;
    for (const Batch& b : passes)
      state_.flops += 3 * forward_flops(model_.config(), b.length) * b.size * b.length;
    state_.nats += nats;
    state_.correct += correct;
    state_.scored += scored;
    state_.left_out += left_out ? 1 : 0;
    state_.norm += left_out ? 0 : norm;
    state_.clipped +=
        !left_out && config_.optimizer.clip > 0 && norm > config_.optimizer.clip ? 1 : 0;
    ++state_.logged_steps;
    state_.seconds += seconds_since(start), state_.logged_seconds += seconds_since(start);
    if (!std::isfinite(loss) || (!std::isfinite(norm) && !left_out)) {
      state_.diverged = true;
      state_.reason = fmt::format("step {}: loss {}, gradient norm {}", state_.step, loss, norm);
      observe("nll", unit(), "lower", "train", Observation::none).status = "diverged";
      log(fmt::format("diverged at {}", state_.reason));
    }
    if (watch_.progress) watch_.progress(state_, loss);
  }

  // All passes of the step; of other processes their sizes alone. The loss is a mean over the
  // `scored` targets of all.
  std::vector<Batch> make_passes(std::int64_t& scored, std::int64_t& tokens) const {
    const auto make = [&](std::size_t first, std::size_t stride) {
      scored = tokens = 0;
      std::vector<Batch> out =
          data_.step(config_.lengths, config_.length, state_.step, seed_,
                     static_cast<std::uint64_t>(state_.cursor), config_.batch,
                     std::int64_t{config_.pass_size(group_.size())} * config_.length, tokens,
                     {static_cast<int>(model_.backend().length_step()), first, stride});
      for (const Batch& b : out) scored += scored_targets(b);
      return out;
    };
    if (processes() == 1) return make(0, 1);
    std::vector<Batch> own;
    double found = -1;
    try {
      own = make(rank(), processes());
      found = static_cast<double>(scored);
    } catch (const Error&) {  // all say so below
    }
    const std::vector<double> by_process = group_.gather(found);
    if (*std::min_element(by_process.begin(), by_process.end()) < 0) return make(0, 1);
    scored = static_cast<std::int64_t>(std::accumulate(by_process.begin(), by_process.end(), 0.0));
    return own;
  }

  double update() {
    const std::int64_t every = config_.log_every, next = state_.step + 1;
    const bool seen = parts_ && every > 0 && (next % every == 0 || next == config_.steps);
    if (seen) parts_->before_update(state_.loss_scale.factor);
    const double norm =
        optimizer_.update(model_.parameters(), rate_factor(state_.step),
                          state_.step - config_.optimizer_start - state_.loss_scale.left_out,
                          state_.loss_scale.factor);
    if (seen) looked_at_ = parts_->after_update();
    return norm;
  }

  static double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  void watch_for_spikes(double loss) {
    state_.spike = std::max(state_.spike, spike_score(state_.recent, loss));
    state_.recent.push_back(loss);
    if (state_.recent.size() > spike_window) state_.recent.erase(state_.recent.begin());
  }

  std::size_t rank() const { return static_cast<std::size_t>(group_.rank()); }
  std::size_t processes() const { return static_cast<std::size_t>(group_.size()); }

  // What each process found on its passes, gradients too, becomes what all found.
  void sum_over_processes(double& nats, double& correct) {
    const bool stop = watch_.stop != nullptr && watch_.stop->load();
    double found[] = {nats, correct, stop ? 1.0 : 0.0};
    const auto before = std::chrono::steady_clock::now();
    gradients_.finish(found);
    state_.waiting += seconds_since(before);
    nats = found[0], correct = found[1], stop_agreed_ = found[2] > 0;
  }

  Observation& observe(const char* metric, const char* unit, const char* direction,
                       const char* split, double value) {
    Observation o;
    o.metric = metric, o.unit = unit, o.direction = direction, o.split = split, o.value = value;
    o.coords["train_len"] = config_.first_length();
    o.step = state_.step;
    o.tokens = state_.tokens;
    o.flops = state_.flops;
    o.seconds = state_.seconds;
    o.settle();
    state_.observations.push_back(std::move(o));
    return state_.observations.back();
  }
  const char* unit(std::size_t part = 0) const {
    return data_.task(part).is_corpus() ? "nats/token" : "nats/target";
  }
  double rate_factor(std::int64_t step) const {
    return schedule_factor(config_.schedule, step - config_.schedule_start,
                           config_.steps - config_.schedule_start);
  }
  void log(const std::string& line) const {
    if (watch_.log) watch_.log(line);
  }

  void log_training() {
    // each process updates weights of its own, which stay equal where all compute alike
    for (const double norm : group_.gather(state_.norm))
      if (norm != state_.norm)
        fail(Exit::determinism,
             "at step {} the processes have different gradients; start all of them on machines of "
             "one kind with the same number of threads",
             state_.step);
    const double loss = state_.nats / static_cast<double>(state_.scored);
    const auto steps = static_cast<double>(state_.logged_steps);
    const double updates = steps - static_cast<double>(state_.left_out);
    const double lr = config_.optimizer.lr * rate_factor(state_.step - 1);
    Observation& o = observe("nll", unit(), "lower", "train", loss);
    o.sum = state_.nats;
    o.count = state_.scored;
    observe("acc", "share", "higher", "train", state_.correct / static_cast<double>(state_.scored));
    const double norm =
        updates > 0 ? state_.norm / updates : std::numeric_limits<double>::infinity();
    if (updates > 0) {
      observe("grad_norm", "norm", "none", "train", norm);
      observe("clipped", "share", "none", "train", static_cast<double>(state_.clipped) / updates);
    }
    observe("lr", "rate", "none", "train", lr);
    if (config_.lengths.varies())
      observe("length", "tokens", "none", "train",
              static_cast<double>(state_.logged_tokens) / (steps * config_.batch));
    observe("step_ms", "ms", "lower", "train", 1e3 * state_.logged_seconds / steps);
    observe("data_ms", "ms", "lower", "train", 1e3 * state_.making / steps);
    if (group_.size() > 1) observe("wait_ms", "ms", "lower", "train", 1e3 * state_.waiting / steps);
    if (parts_) log_health();
    log(fmt::format(
        "step {} | train loss {:.4f} | lr {:.3g} | grad norm {:.3g} | clipped {}/{} | {} "
        "tokens/s{}",
        state_.step, loss, lr, norm, state_.clipped, updates,
        format_count(static_cast<double>(state_.tokens) / state_.seconds), log_scale()));
    state_.nats = state_.correct = state_.norm = 0;
    state_.making = state_.waiting = state_.logged_seconds = state_.spike = 0;
    state_.scored = state_.clipped = state_.logged_steps = state_.logged_tokens = 0;
    state_.left_out = 0;
  }
  // " | loss scale 65536" and what is observed of it, where it is scaled.
  std::string log_scale() {
    if (!model_.backend().rounds_to_fp16()) return "";
    observe("loss_scale", "factor", "none", "train", state_.loss_scale.factor);
    observe("left_out", "updates", "lower", "train", static_cast<double>(state_.left_out));
    return fmt::format(
        " | loss scale {}{}", state_.loss_scale.factor,
        state_.left_out > 0
            ? fmt::format(", {} left out",
                          counted(static_cast<std::size_t>(state_.left_out), "update"))
            : "");
  }

  // Of the last step, by part of the model; of the loss since the last line.
  void log_health() {
    for (const PartsWatch::Part& part : looked_at_) {
      observe("part_grad_norm", "norm", "none", "train", part.gradient).coords["part"] = part.name;
      observe("update_ratio", "ratio", "none", "train", part.update).coords["part"] = part.name;
    }
    observe("loss_spike", "deviations", "lower", "train", state_.spike);
    if (state_.spike > 6)
      log(fmt::format("step {} | the loss rose {:.1f} robust deviations above those before it",
                      state_.step, state_.spike));
  }

  // Of what the model answers on the first validation examples.
  void observe_entropy() {
    const Batch b = data_.batch(0, PES_SPLIT_VALIDATION, seed_, 0, 1, config_.length);
    Inspection look;
    double entropy = 0;
    look.logits = [&](const std::vector<double>& logits) {
      entropy = entropy_of(logits, static_cast<std::size_t>(model_.config().outputs()));
    };
    model_.score(b, step_info(false, b), look);
    observe("entropy", "nats", "none", "val", entropy);
  }

  // True where training ends here: with the weights that had the lowest validation loss.
  bool is_stale(double loss) {
    if (config_.early_stop.patience == 0) return false;
    if (loss < state_.to_beat - config_.early_stop.min_delta || !std::isfinite(state_.to_beat)) {
      state_.to_beat = loss, state_.stale = 0;
      return false;
    }
    return ++state_.stale >= config_.early_stop.patience && state_.step < config_.steps;
  }
  void stop_early() {
    group_.wait();  // until the best is written
    if (!paths_.best.empty() && fs::exists(paths_.best)) load_weights(paths_.best, model_);
    state_.stopped_early = true;
    observe("stopped_early", "step", "none", "val", static_cast<double>(state_.step));
    log(
        fmt::format("step {} | stopped early: {} validations without a fall; weights are those of "
                    "step {}",
                    state_.step, state_.stale, state_.best_step));
  }

  void validate() {
    for (std::size_t part = 1; part < data_.parts(); ++part) validate(part);
    validate(0);
  }
  void validate(std::size_t part) {
    double found[3] = {};
    auto& [nats, scored, correct] = found;
    const int pass = config_.pass_size();
    for (int done = group_.rank() * pass; done < config_.validation_examples;
         done += group_.size() * pass) {
      const int size = std::min(pass, config_.validation_examples - done);
      const Batch b = data_.batch(part, PES_SPLIT_VALIDATION, seed_,
                                  static_cast<std::uint64_t>(done), size, config_.length);
      const Scores scores = model_.score(b, step_info(false, b));
      nats += sum(scores.nats);
      scored += static_cast<double>(scores.nats.size());
      correct += static_cast<double>(correct_answers(b, scores));
    }
    group_.sum(found);
    if (scored == 0) return;
    const double loss = nats / scored;
    const double accuracy = correct / scored;
    const auto observe_part = [&](const char* metric, const char* unit, const char* direction,
                                  double value) -> Observation& {
      Observation& o = observe(metric, unit, direction, "val", value);
      o.n = config_.validation_examples;
      if (part > 0) o.coords["mix"] = data_.task(part).text();
      return o;
    };
    Observation& o = observe_part("nll", unit(part), "lower", loss);
    o.sum = nats;
    o.count = static_cast<std::int64_t>(scored);
    observe_part("acc", "share", "higher", accuracy);
    log(fmt::format("step {} | val loss {:.4f} | ppl {:.4g} | acc {:.4f}{}", state_.step, loss,
                    std::exp(loss), accuracy, part > 0 ? " | " + data_.task(part).text() : ""));
    if (part == 0 && loss < state_.best) {
      state_.best = loss;
      state_.best_step = state_.step;
      if (config_.keep_best) save(paths_.best);
    }
    if (part == 0 && parts_) observe_entropy();
    if (part == 0 && is_stale(loss)) stop_early();
  }

  void save(const fs::path& path, const std::map<std::string, std::string>& fields = {}) {
    if (path.empty() || !group_.leads()) return;
    save_checkpoint(path, model_, state_, identity_, fields);
    log(fmt::format("step {} | wrote {}", state_.step, path.filename().string()));
  }
  void save_branch() {
    const auto at = paths_.branches.find(state_.step);
    if (at == paths_.branches.end() || fs::exists(at->second.file)) return;
    std::map<std::string, std::string> fields;
    if (at->second.target_budget > 0)
      fields = {{"target_budget", std::to_string(at->second.target_budget)},
                {"branch_tokens", std::to_string(state_.tokens)}};
    save(at->second.file, fields);
  }
  void save_periodic() {
    save(paths_.last);
    if (config_.keep_periodic == 0 || !paths_.periodic || config_.checkpoint_every == 0) return;
    save(paths_.periodic(state_.step));
    const std::int64_t oldest = state_.step - config_.keep_periodic * config_.checkpoint_every;
    std::error_code ignored;
    if (oldest > 0 && group_.leads()) fs::remove(paths_.periodic(oldest), ignored);
  }

  Model& model_;
  const Mixture& data_;
  const Task& task_;
  const TrainConfig& config_;
  std::uint64_t seed_;
  const std::string& identity_;
  const TrainPaths& paths_;
  const TrainWatch& watch_;
  TrainState& state_;
  Group& group_;
  GradientSum gradients_;
  Optimizer optimizer_;
  std::optional<PartsWatch> parts_;  // where health is observed
  std::vector<PartsWatch::Part> looked_at_;
  bool stop_agreed_ = false;  // one of several processes was asked to stop
};

}  // namespace

TrainOutcome train(Model& model, const Mixture& data, const TrainConfig& config, std::uint64_t seed,
                   const std::string& identity, const TrainPaths& paths, const TrainWatch& watch,
                   TrainState& state, Group& group) {
  return Trainer(model, data, config, seed, identity, paths, watch, state, group).train();
}

}  // namespace pesuite
