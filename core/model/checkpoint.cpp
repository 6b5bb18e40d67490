// What a training leaves behind and goes on from: parameters, moments and its state, in a file.
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/json.h"
#include "base/json_error.h"
#include "model/safetensors.h"
#include "model/train.h"

namespace pesuite {

namespace {

// The first one, of before there were checksums, may lack them.
constexpr const char *schema = "pesuite.checkpoint/2", *first_schema = "pesuite.checkpoint/1";

Json to_json(const TrainState& s) {
  Json observations = Json::array();
  for (const Observation& o : s.observations) observations.push_back(to_json(o));
  const auto finite = [](double x) { return std::isfinite(x) ? x : 0; };  // JSON has no other
  Json j = {{"step", s.step},
            {"tokens", s.tokens},
            {"cursor", s.cursor},
            {"flops", s.flops},
            {"seconds", s.seconds},
            {"best_step", s.best_step},
            {"nats", finite(s.nats)},
            {"correct", s.correct},
            {"norm", finite(s.norm)},
            {"scored", s.scored},
            {"clipped", s.clipped},
            {"logged_steps", s.logged_steps},
            {"logged_tokens", s.logged_tokens},
            {"diverged", s.diverged},
            {"reason", s.reason},
            {"observations", std::move(observations)}};
  if (s.loss_scale.factor != 1 || s.loss_scale.left_out > 0)
    j["loss_scale"] = {{"factor", s.loss_scale.factor},
                       {"in_row", s.loss_scale.in_row},
                       {"left_out", s.loss_scale.left_out},
                       {"left_out_logged", s.left_out}};
  if (s.best_step >= 0) j["best"] = s.best;
  if (std::isfinite(s.to_beat)) j["to_beat"] = s.to_beat, j["stale"] = s.stale;
  if (s.stopped_early) j["stopped_early"] = true;
  if (!s.recent.empty()) j["recent"] = s.recent, j["spike"] = finite(s.spike);
  j["making"] = s.making, j["waiting"] = s.waiting, j["logged_seconds"] = s.logged_seconds;
  return j;
}

TrainState state_from_json(const Json& j) {
  TrainState s;
  s.step = j.at("step"), s.tokens = j.at("tokens"), s.cursor = j.at("cursor");
  s.flops = j.value("flops", 0.0);
  s.seconds = j.at("seconds"), s.best_step = j.at("best_step");
  if (j.contains("best")) s.best = j.at("best");
  s.nats = j.at("nats"), s.correct = j.at("correct"), s.norm = j.at("norm");
  s.scored = j.at("scored"), s.clipped = j.at("clipped"), s.logged_steps = j.at("logged_steps");
  s.logged_tokens = j.at("logged_tokens");
  s.diverged = j.at("diverged"), s.reason = j.at("reason");
  if (j.contains("to_beat")) s.to_beat = j.at("to_beat"), s.stale = j.at("stale");
  s.stopped_early = j.value("stopped_early", false);
  if (j.contains("loss_scale")) {
    const Json& scale = j.at("loss_scale");
    s.loss_scale.factor = scale.at("factor"), s.loss_scale.in_row = scale.at("in_row");
    s.loss_scale.left_out = scale.at("left_out"), s.left_out = scale.at("left_out_logged");
  }
  if (j.contains("recent"))
    s.recent = j.at("recent").get<std::vector<double>>(), s.spike = j.at("spike");
  s.making = j.value("making", 0.0), s.waiting = j.value("waiting", 0.0);
  s.logged_seconds = j.value("logged_seconds", 0.0);
  for (const Json& o : j.at("observations")) s.observations.push_back(observation_from_json(o));
  return s;
}

std::vector<double> download(Backend& backend, void* data, const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(shape.count()));
  backend.download(values.data(), View{data, shape});
  return values;
}

}  // namespace

void save_checkpoint(const fs::path& path, Model& model, const TrainState& state,
                     const std::string& identity,
                     const std::map<std::string, std::string>& fields) {
  std::vector<TensorToWrite> tensors;
  std::vector<void*> data;
  for (const Parameter& p : model.parameters()) {
    tensors.push_back({p.name, p.shape});
    data.push_back(p.value);
  }
  for (const Parameter& p : model.parameters()) {
    tensors.push_back({"optimizer.m." + p.name, p.shape});
    data.push_back(p.m);
    tensors.push_back({"optimizer.v." + p.name, p.shape});
    data.push_back(p.v);
  }
  std::map<std::string, std::string> metadata = {
      {"schema", schema}, {"run", identity}, {"state", to_json(state).dump()}};
  metadata.insert(fields.begin(), fields.end());
  write_safetensors(
      path, tensors, metadata, model.backend().element_size() == sizeof(double),
      [&](std::size_t i) { return download(model.backend(), data[i], tensors[i].shape); });
}

namespace {

const std::string& metadata(const SafetensorsReader& file, const fs::path& path, const char* key) {
  const auto it = file.metadata().find(key);
  if (it == file.metadata().end())
    fail(Exit::data, "{} is no checkpoint of pesuite: it has no '{}'", path.string(), key);
  return it->second;
}

SafetensorsReader open_checkpoint(const fs::path& path) {
  SafetensorsReader file(path);
  const std::string& found = metadata(file, path, "schema");
  if (found != schema && found != first_schema)
    fail(Exit::data, "{} is a checkpoint of another version ({}, wanted {})", path.string(), found,
         schema);
  if (found == schema && !file.has_checksums())
    fail(Exit::data, "{} is damaged: its checksums are gone", path.string());
  return file;
}

}  // namespace

std::string checkpoint_identity(const fs::path& path) {
  return metadata(open_checkpoint(path), path, "run");
}

static TrainState read_state(const SafetensorsReader& file, const fs::path& path) {
  try {
    return state_from_json(Json::parse(metadata(file, path, "state")));
  } catch (const nlohmann::json::exception& e) {
    fail(Exit::data, "{} holds a damaged state: {}", path.string(), json_error(e));
  }
}

TrainState checkpoint_state(const fs::path& path) {
  return read_state(open_checkpoint(path), path);
}
std::string checkpoint_field(const fs::path& path, const char* name) {
  const SafetensorsReader file = open_checkpoint(path);
  const auto it = file.metadata().find(name);
  if (it == file.metadata().end())
    fail(Exit::data, "{} has no field '{}': it is no ready_for_decay_BUDGET of --wsd-stage full",
         path.string(), name);
  return it->second;
}

std::int64_t load_weights(const fs::path& path, Model& model) {
  const SafetensorsReader file = open_checkpoint(path);
  for (const Parameter& p : model.parameters())
    model.backend().upload(p.out(), file.read(p.name, p.shape).data());
  return read_state(file, path).step;
}

static TrainState open_state(const SafetensorsReader& file, const fs::path& path,
                             const std::string& identity) {
  if (metadata(file, path, "run") != identity)
    fail(Exit::data, "{} belongs to another run: its configuration or its seed differs",
         path.string());
  return read_state(file, path);
}

void load_checkpoint(const fs::path& path, Model& model, TrainState& state,
                     const std::string& identity) {
  const SafetensorsReader file = open_checkpoint(path);
  state = open_state(file, path, identity);
  for (Parameter& p : model.parameters()) {
    model.backend().upload({p.value, p.shape}, file.read(p.name, p.shape).data());
    model.backend().upload({p.m, p.shape}, file.read("optimizer.m." + p.name, p.shape).data());
    model.backend().upload({p.v, p.shape}, file.read("optimizer.v." + p.name, p.shape).data());
  }
}

void branch_checkpoint(const fs::path& path, Model& model, TrainState& state,
                       const std::string& identity, bool reset) {
  const SafetensorsReader file = open_checkpoint(path);
  state = open_state(file, path, identity);
  for (Parameter& p : model.parameters()) {
    const auto found = file.tensors().find(p.name);
    if (found == file.tensors().end() || found->second.shape != p.shape.extents()) continue;
    const auto pass = [&](void* to, const std::string& name) {
      model.backend().upload({to, p.shape}, file.read(name, p.shape).data());
    };
    pass(p.value, p.name);
    if (reset) continue;
    pass(p.m, "optimizer.m." + p.name);
    pass(p.v, "optimizer.v." + p.name);
  }
  if (reset) state.loss_scale.left_out = 0;  // the updates are counted anew
  // the lowest loss so far was another encoding's
  state.best = std::numeric_limits<double>::infinity();
  state.best_step = -1;
}

}  // namespace pesuite
