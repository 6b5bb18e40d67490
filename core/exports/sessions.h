// Cells of runs as trackers see them: a session each, with its settings, curves by step and by
// tokens, and results by length.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "exports/exports.h"

namespace pesuite {

struct SessionPoint {
  std::string name;  // "train/nll", "val/acc", or of results "length/nll/sliding"
  std::int64_t step = 0, tokens = 0;
  int length = 0;  // of an evaluation; 0: of training
  double value = 0;
};
struct Session {
  std::string run, cell;     // name of the run's folder, id of the cell
  std::string name, series;  // "rope·toylag·micro·s1"; the name without its seed
  std::string encoding, task, model, status;
  std::uint64_t seed = 0;
  double begin = 0, end = 0;  // seconds since 1970
  bool at_work = false;       // its points are of a cell that is not finished
  std::map<std::string, Json> settings;
  std::vector<SessionPoint> points;  // as they were recorded; of a branch those of its trunk first
};
// In the order of the records. Numbers that are not finite are left out.
std::vector<Session> sessions_of(const std::vector<ExportedRun>&);

// TensorBoard's event files: OUT/RUN/CELL/steps and OUT/RUN/CELL/tokens, whose axes are those, and
// results by length in both; settings for its hparams plugin.
void write_tensorboard(const std::vector<Session>&, const fs::path& out);

// The report of a run, for people who look at its numbers in a tracker.
struct RunFiles {
  std::string run;                                      // name of its folder
  std::vector<std::pair<std::string, fs::path>> files;  // "figures/answer.png" and where that is
};
// Its pictures in PNG as images of OUT/RUN/figures; how many there are.
std::size_t write_tensorboard_images(const RunFiles&, const fs::path& out);

// A folder with sessions.jsonl and wandb_sync.py, which sends them where wandb is installed.
void write_wandb(const std::vector<Session>&, const fs::path& out);

}  // namespace pesuite
