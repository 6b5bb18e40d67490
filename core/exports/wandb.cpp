#include "base/file.h"
#include "exports/follow.h"

namespace pesuite {

namespace {

constexpr const char* script = R"(#!/usr/bin/env python3
"""Sends sessions.jsonl to Weights & Biases, a run each; needs `pip install wandb` and `wandb login`.

    wandb_sync.py [--project NAME] [--entity NAME] [--offline]

A run has the id of its cell, so that sending again goes on with the same runs. Curves have the tokens as their axis,
results the length they were measured at; seeds of one series are one group.
"""
import argparse
import json
import pathlib

import wandb

arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
arguments.add_argument("--project", default="pesuite")
arguments.add_argument("--entity")
arguments.add_argument("--offline", action="store_true", help="write W&B's files here; `wandb sync` sends them later")
arguments = arguments.parse_args()

for line in pathlib.Path(__file__).with_name("sessions.jsonl").read_text().splitlines():
    session = json.loads(line)
    run = wandb.init(project=arguments.project, entity=arguments.entity, id=session["cell"], resume="allow",
                     name=session["name"], group=session["series"], job_type=session["run"],
                     config=session["settings"], mode="offline" if arguments.offline else "online")
    run.define_metric("tokens")
    run.define_metric("step")
    run.define_metric("eval_len")
    run.define_metric("*", step_metric="tokens")
    run.define_metric("length/*", step_metric="eval_len")
    for row in session["history"]:
        run.log(row)
    run.summary.update(session["summary"])
    run.finish(exit_code=0 if session["status"] in ("ok", "diverged") else 1)
)";

// Points of one step, or of one length, are a row.
Json history_of(const Session& s) {
  std::map<std::int64_t, Json> by_step, by_length;
  for (const SessionPoint& p : s.points) {
    Json& row = p.length > 0 ? by_length[p.length] : by_step[p.step];
    row[p.name] = p.value;
    if (p.length > 0)
      row["eval_len"] = p.length;
    else
      row["step"] = p.step, row["tokens"] = p.tokens;
  }
  Json rows = Json::array();
  for (auto* part : {&by_step, &by_length})
    for (auto& [at, row] : *part) rows.push_back(std::move(row));
  return rows;
}
// The last value of each curve, and each result with its length.
Json summary_of(const Session& s) {
  Json out = {{"status", s.status}};
  for (const SessionPoint& p : s.points)
    out[p.length > 0 ? fmt::format("{}/{}", p.name, p.length) : p.name] = p.value;
  return out;
}

class WandbFollower : public Follower {
 public:
  explicit WandbFollower(fs::path out) : out_(std::move(out)) {}
  std::vector<std::string> send(const std::vector<Session>& sessions, bool) override {
    write_wandb(sessions, out_);
    return {};
  }

 private:
  const fs::path out_;
};

}  // namespace

std::unique_ptr<Follower> follow_wandb(const fs::path& out) {
  return std::make_unique<WandbFollower>(out);
}

void write_wandb(const std::vector<Session>& sessions, const fs::path& out) {
  std::string lines;
  for (const Session& s : sessions)
    lines += Json{{"run", s.run},
                  {"cell", s.cell},
                  {"name", s.name},
                  {"series", s.series},
                  {"status", s.status},
                  {"settings", s.settings},
                  {"history", history_of(s)},
                  {"summary", summary_of(s)}}
                 .dump() +
             "\n";
  write_file_atomic(out / "sessions.jsonl", lines);
  write_file_atomic(out / "wandb_sync.py", script);
}

}  // namespace pesuite
