// Trainings in the event format of MLPerf: lines ":::MLLOG {...}".
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/file.h"
#include "base/seal.h"
#include "base/text.h"
#include "exports/exports.h"

namespace pesuite {

namespace {

// A training and what was evaluated of it.
struct Course {
  const Json* first = nullptr;  // a record of it, for what all of them say
  std::vector<const Json*> training, results;
  double end = 0, wall = 0;  // of the training: seconds since 1970, seconds that it took
  bool failed = false;
};

std::map<std::string, Course> courses_of(const ExportedRun& run) {
  std::map<std::string, Course> out;
  for (const Json& r : run.records) {
    Course& c = out[r.value("cell", "")];
    if (c.first == nullptr) c.first = &r;
    const std::string part = r.value("part", ""), status = r.value("status", "ok");
    if (part == "failure" || status == "diverged") c.failed = true;
    if (part != "train") {
      if (part != "failure") c.results.push_back(&r);
      if (c.training.empty()) c.end = std::max(c.end, seconds_of_utc(r.value("ts", "")));
      continue;
    }
    if (c.training.empty()) c.end = 0;
    c.training.push_back(&r);
    c.end = std::max(c.end, seconds_of_utc(r.value("ts", "")));
    c.wall = std::max(c.wall, r.value("wall_s", 0.0));
  }
  for (auto& [id, c] : out)
    std::stable_sort(c.training.begin(), c.training.end(), [](const Json* a, const Json* b) {
      return a->value("step", std::int64_t{0}) < b->value("step", std::int64_t{0});
    });
  return out;
}

class Log {
 public:
  void at(double seconds) { ms_ = static_cast<std::int64_t>(seconds * 1000); }
  void point(const std::string& key, Json value, Json more = Json::object()) {
    line("POINT_IN_TIME", key, std::move(value), std::move(more));
  }
  void start(const std::string& what, Json more = Json::object()) {
    line("INTERVAL_START", what + "_start", nullptr, std::move(more));
  }
  void stop(const std::string& what, Json more = Json::object()) {
    line("INTERVAL_END", what + "_stop", nullptr, std::move(more));
  }
  const std::string& text() const { return text_; }

 private:
  void line(const char* type, const std::string& key, Json value, Json more) {
    const Json event = {{"namespace", ""},           {"time_ms", ms_},
                        {"event_type", type},        {"key", key},
                        {"value", std::move(value)}, {"metadata", std::move(more)}};
    text_ += ":::MLLOG " + event.dump() + "\n";
  }
  std::int64_t ms_ = 0;
  std::string text_;
};

void write_submission(Log& log, const Json& r) {
  log.point("submission_benchmark", r.value("task", ""));
  log.point("submission_org", "pesuite");
  log.point("submission_division", "open");
  log.point("submission_status", "research");
  log.point("submission_platform", r.value("backend", "") + " " + r.value("precision", "fp32"));
  log.point("submission_entry", r.at("encoding").value("expr", ""));
  log.point("cache_clear", false);
  log.start("init");
  log.point("seed", r.value("seed", std::uint64_t{0}));
}

// Of a cell's settings; 0 where it is not there or no whole number.
std::int64_t whole(const Json& config, const char* pointer) {
  const Json::json_pointer at(pointer);
  return config.contains(at) && config.at(at).is_number_integer()
             ? config.at(at).get<std::int64_t>()
             : 0;
}

void write_settings(Log& log, const Json& config) {
  const auto point = [&](const char* key, const char* pointer) {
    if (const Json::json_pointer at(pointer); config.contains(at)) log.point(key, config.at(at));
  };
  const std::int64_t batch = whole(config, "/train/batch"),
                     micro = whole(config, "/train/micro_batch");
  point("global_batch_size", "/train/batch");
  if (micro > 0) log.point("gradient_accumulation_steps", (batch + micro - 1) / micro);
  point("max_sequence_length", "/train/train_len");
  point("max_steps", "/train/steps");
  if (batch > 0) log.point("train_samples", batch * whole(config, "/train/steps"));
  point("eval_samples", "/train/validation_examples");
  point("opt_name", "/train/optimizer/name");
  point("opt_base_learning_rate", "/train/optimizer/lr");
  point("opt_adamw_beta_1", "/train/optimizer/betas/0");
  point("opt_adamw_beta_2", "/train/optimizer/betas/1");
  point("opt_adamw_epsilon", "/train/optimizer/eps");
  point("opt_adamw_weight_decay", "/train/optimizer/weight_decay");
  point("opt_gradient_clip_norm", "/train/optimizer/clip");
  point("opt_learning_rate_decay_schedule", "/train/schedule/kind");
  point("opt_learning_rate_warmup_steps", "/train/schedule/warmup");
}

// A block is what is trained between two validations. Their loss is the eval_accuracy, as in
// MLPerf's own language models; shares and losses of training are points of their own.
class Blocks {
 public:
  Blocks(Log& log, double begin) : log_(log), since_(begin) {}
  // Something was seen at that time, behind so many examples.
  void go_on(double time, std::int64_t samples) {
    if (!open_ && samples > samples_) {
      log_.at(since_);
      log_.start("block", {{"samples_count", samples_}});
      open_ = true;
    }
    log_.at(since_ = std::max(since_, time));
    samples_ = std::max(samples_, samples);
  }
  void close() {
    if (open_) log_.stop("block", {{"samples_count", samples_}});
    open_ = false;
  }

 private:
  Log& log_;
  double since_;
  std::int64_t samples_ = 0;
  bool open_ = false;
};

void write_training(Log& log, const Course& c, std::int64_t batch) {
  const double begin = c.end - c.wall;
  log.at(begin);
  log.start("run");
  Blocks blocks(log, begin);
  std::int64_t samples = 0;
  for (const Json* r : c.training) {
    if (!r->at("value").is_number()) continue;
    const std::string split = r->value("split", ""), metric = r->value("metric", "");
    const auto step = r->value("step", std::int64_t{0});
    samples = step * batch;
    const Json at = {{"samples_count", samples}, {"step_num", step}};
    blocks.go_on(begin + r->value("wall_s", 0.0), samples);
    if (split == "train") {
      log.point(metric == "nll" ? "train_loss" : "train_" + metric, r->at("value"), at);
    } else if (metric == "nll") {
      blocks.close();
      log.start("eval", at);
      log.point("eval_accuracy", r->at("value"), at);
      log.stop("eval", at);
    } else {
      log.point("eval_" + metric, r->at("value"), at);
    }
  }
  log.at(c.end);
  blocks.close();
  log.stop("run", {{"status", c.failed ? "aborted" : "success"}, {"samples_count", samples}});
}

std::string log_of(const Course& c, const Json& config) {
  Log log;
  log.at(c.end - c.wall);
  write_submission(log, *c.first);
  write_settings(log, config);
  log.stop("init");
  write_training(log, c, whole(config, "/train/batch"));
  for (const Json* r : c.results) {
    if (!r->at("value").is_number()) continue;
    Json at = r->at("coords");
    at["metric"] = r->value("metric", ""), at["unit"] = r->value("unit", "");
    log.at(std::max(c.end, seconds_of_utc(r->value("ts", ""))));
    log.point("eval_length", r->at("value"), at);
  }
  return log.text();
}

}  // namespace

std::size_t write_mlperf(const std::vector<ExportedRun>& runs, const fs::path& out) {
  std::size_t written = 0;
  for (const ExportedRun& run : runs) {
    std::map<std::string, std::map<std::uint64_t, std::string>> logs;  // by series and seed
    for (const auto& [cell, c] : courses_of(run)) {
      const auto config = run.configs.find(cell);
      const std::string series =
          fmt::format("{}_{}_{}", c.first->at("encoding").value("id", ""),
                      c.first->value("task", ""), c.first->value("model", ""));
      logs[series][c.first->value("seed", std::uint64_t{0})] =
          log_of(c, config == run.configs.end() ? Json::object() : config->second);
    }
    std::set<std::string> taken;
    for (const auto& [series, of_seeds] : logs) {
      std::string folder = file_name_of(series);
      if (!taken.insert(folder).second) taken.insert(folder += "-" + checksum(series));
      std::size_t n = 0;
      for (const auto& [seed, text] : of_seeds)
        write_file_atomic(out / file_name_of(run.name) / folder / fmt::format("result_{}.txt", n++),
                          text);
      written += n;
    }
  }
  return written;
}

}  // namespace pesuite
