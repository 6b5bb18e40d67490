#include "base/error.h"
#include "base/file.h"
#include "base/seal.h"
#include "base/text.h"
#include "cell/cell.h"
#include "model/safetensors.h"

namespace pesuite {

bool Store::has_training(const std::string& id) const {
  return is_sealed(training(id));
}

bool Store::has_evaluation(const std::string& id, const CellEval& e, bool diverged) const {
  const std::string part = part_id(e);
  const bool maps_too = e.probe && e.probe->kind == ProbeKind::maps && !diverged;
  return is_sealed(evaluation(id, part)) && (!maps_too || is_sound_safetensors(maps(id, part)));
}

bool Store::has_branch(const std::string& id, std::int64_t step) const {
  return is_sound_safetensors(branch(id, step));
}

bool Store::trained(const std::string& id) const {
  return has_training(id) && is_sound_safetensors(checkpoint(id));
}

Json Store::read_status(const std::string& id) const {
  try {
    Json status = Json::parse(read_sealed(this->status(id)));
    for (const char* key : {"state", "kind", "reason"}) status[key] = status.value(key, "");
    return status;
  } catch (const Error&) {  // unreadable: as if it had never run
  } catch (const Json::exception&) {
  }
  return nullptr;
}

void Store::write_status(const std::string& id, Json status) const {
  status["ts"] = utc_timestamp();
  write_sealed(this->status(id), status.dump() + "\n");
}

std::vector<Json> read_observations(const fs::path& file) {
  std::vector<Json> out;
  for (const std::string& line : split(read_sealed(file), '\n'))
    if (!line.empty()) out.push_back(Json::parse(line));
  return out;
}

}  // namespace pesuite
