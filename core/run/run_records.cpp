#include "run/run_records.h"

#include "base/file.h"
#include "base/seal.h"
#include "model/safetensors.h"

namespace pesuite {

RunRecords::RunRecords(const Suite& suite, const Store& store, fs::path folder,
                       std::vector<std::string>& notes)
    : suite_(suite),
      store_(store),
      folder_(std::move(folder)),
      file_(folder_ / "records.jsonl", notes) {}

void RunRecords::copy(const std::vector<PlannedCell>& cells) {
  std::vector<RecordFile::Part> parts;
  for (const PlannedCell& c : cells) {
    if (c.state == PlannedCell::State::done) forget_failure(c.id);  // it came through
    collect(c, parts);
  }
  file_.add(parts);
}

void RunRecords::add_failure(const PlannedCell& c, const std::string& kind,
                             const std::string& reason) {
  file_.add(c.id, "failure", {failure_record(context_of(suite_, c), kind, reason)});
}

void RunRecords::repair(const std::set<std::string>& planned,
                        const std::vector<PlannedCell>& cells) {
  file_.keep_results_of(planned);
  for (const PlannedCell& c : cells) {
    if (c.is_trunk || c.state != PlannedCell::State::failed) continue;
    const Json status = store_.read_status(c.id);
    add_failure(c, status["kind"], status["reason"]);
  }
}

void RunRecords::collect(const PlannedCell& c, std::vector<RecordFile::Part>& parts) const {
  if (c.is_trunk) return;
  const auto add = [&](const std::string& part, const fs::path& file) {
    if (!is_kept(file)) return;
    parts.push_back({c.id, part, {}});
    for (const Json& line : read_observations(file))
      parts.back().records.push_back(make_record(context_of(suite_, c), part, line));
  };
  add("train", store_.training(c.training));
  for (const CellEval& e : c.evals) {
    const std::string part = part_id(e);
    add("eval-" + part, store_.evaluation(c.id, part));
    if (e.probe && e.probe->kind == ProbeKind::maps) copy_maps(c, e, part);
  }
}

void RunRecords::copy_maps(const PlannedCell& c, const CellEval& e, const std::string& part) const {
  const fs::path from = store_.maps(c.id, part);
  const fs::path to =
      folder_ / "attention" / maps_name(c.encoding, c.task, c.model, c.seed, e.length, part);
  if (!is_sound_safetensors(from)) return;
  const std::string maps = read_file(from);
  if (!fs::exists(to) || read_file(to) != maps) write_file_atomic(to, maps);
}

}  // namespace pesuite
