// Models: [model.NAME].
#include "suite/read.h"

namespace pesuite {

void read_model(Reader& r, SuiteModel& m) {
  m.weights = r.text("weights", "");
  if (!m.weights.empty()) {  // the folder says all the rest
    m.where = r.where("weights");
    return;
  }
  m.preset = r.text("preset", m.id);
  try {
    const Preset& p = preset(m.preset);
    m.config = p.config;
    m.train_length = p.train_length;
  } catch (const Error& e) {
    r.problem("preset", fmt::format("is '{}': {}", m.preset, e.what()));
    return;
  }
  ModelConfig& c = m.config;
  r.defaults_are("preset " + m.preset);
  walk_model(c, SettingReader{r});
  try {
    ModelConfig alone = c;
    alone.classes = 0;  // the task decides how many there are
    check(alone);
  } catch (const Error& e) {
    r.problem("width", fmt::format("and what goes with it do not fit: {}", e.what()));
  }
}

}  // namespace pesuite
