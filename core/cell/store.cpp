#include "base/error.h"
#include "base/file.h"
#include "base/seal.h"
#include "base/text.h"
#include "cell/cell.h"
#include "model/safetensors.h"

namespace pesuite {

namespace {

// Only cells from before there were checksums have it.
constexpr const char* old_status = "status.json";
bool lies_in_old_cell(const fs::path& file) {
  std::error_code error;
  return fs::exists(file.parent_path() / old_status, error);
}

bool is_json_lines(const std::string& text) {
  for (const std::string& line : split(text, '\n'))
    if (!line.empty() && !Json::parse(line, nullptr, false).is_object()) return false;
  return text.ends_with('\n');
}

// What of an old cell is read without a checksum, which it cannot have lost: none is like a seal.
std::string read_unsealed(const fs::path& file) {
  std::string text = read_file(file);
  if (text.starts_with("{\"xxh3\"") || (file.extension() == ".jsonl" && !is_json_lines(text)))
    fail(Exit::data, "{} is damaged", file.string());
  return text;
}

// Those of an old cell have no checksums; others that have none have lost them.
bool are_sound_maps(const fs::path& file) {
  return is_sound_safetensors(file) &&
         (lies_in_old_cell(file) || SafetensorsReader(file).has_checksums());
}

}  // namespace

std::string read_kept(const fs::path& file) {
  try {
    return read_sealed(file);
  } catch (const Error&) {
    if (!lies_in_old_cell(file)) throw;
    return read_unsealed(file);
  }
}
bool is_kept(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return false;
  try {
    read_kept(file);
    return true;
  } catch (const Unopened&) {
    throw;
  } catch (const Error&) {
    return false;
  }
}

bool Store::is_old(const std::string& id) const {
  return lies_in_old_cell(status(id));
}

void Store::adopt(const std::string& id) const {
  if (!is_old(id)) return;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(cell(id), error)) {
    const std::string ending = item.path().extension().string();
    if ((ending == ".jsonl" || ending == ".txt") && item.path() != log(id) && is_kept(item.path()))
      write_sealed(item.path(), read_kept(item.path()));
  }
  if (const Json old = read_status(id); !old.is_null()) write_sealed(status(id), old.dump() + "\n");
  fs::remove(cell(id) / old_status);  // last: until then it is done again
}

bool Store::has_training(const std::string& id) const {
  return is_kept(training(id));
}

bool Store::has_evaluation(const std::string& id, const CellEval& e, bool diverged) const {
  const std::string part = part_id(e);
  const bool maps_too = e.probe && e.probe->kind == ProbeKind::maps && !diverged;
  return is_kept(evaluation(id, part)) && (!maps_too || are_sound_maps(maps(id, part)));
}

bool Store::has_branch(const std::string& id, std::int64_t step) const {
  return is_sound_safetensors(branch(id, step));
}

bool Store::trained(const std::string& id) const {
  return has_training(id) && is_sound_safetensors(checkpoint(id));
}

Json Store::read_status(const std::string& id) const {
  try {
    const fs::path file = this->status(id), old = cell(id) / old_status;
    Json status = Json::parse(is_old(id) && !is_sealed(file) ? read_file(old) : read_sealed(file));
    for (const char* key : {"state", "kind", "reason"}) status[key] = status.value(key, "");
    return status;
  } catch (const Unopened&) {
    throw;
  } catch (const Error&) {  // unreadable: as if it had never run
  } catch (const Json::exception&) {
  }
  return nullptr;
}

void Store::write_status(const std::string& id, Json status) const {
  status["ts"] = utc_timestamp();
  write_sealed(this->status(id), status.dump() + "\n");
}

void Store::keep_status(const std::string& id, const std::string& state) const {
  if (read_status(id).is_null()) write_status(id, {{"state", state}});
}

std::vector<Json> read_observations(const fs::path& file) {
  std::vector<Json> out;
  for (const std::string& line : split(read_kept(file), '\n'))
    if (!line.empty()) out.push_back(Json::parse(line));
  return out;
}

}  // namespace pesuite
