#include "model/observation.h"

namespace pesuite {

namespace {

Json number(double x) {
  return std::isfinite(x) ? Json(x) : Json(nullptr);
}
double number_at(const Json& j, const char* key) {
  const auto it = j.find(key);
  return it == j.end() || it->is_null() ? Observation::none : it->get<double>();
}

}  // namespace

Json to_json(const Observation& o) {
  Json j = {{"metric", o.metric},
            {"unit", o.unit},
            {"direction", o.direction},
            {"split", o.split},
            {"value", number(o.value)}};
  // optional fields appear only where they say something
  const auto put = [&](const char* key, double x) {
    if (std::isfinite(x)) j[key] = x;
  };
  put("stderr", o.standard_error);
  put("low", o.low);
  put("high", o.high);
  put("chance", o.chance);
  if (o.n > 0) j["n"] = o.n;
  put("sum", o.sum);
  if (o.count > 0) j["count"] = o.count;
  if (!o.right.empty()) j["right"] = o.right;
  j["coords"] = o.coords;
  j["step"] = o.step;
  j["tokens"] = o.tokens;
  j["flops"] = o.flops;
  j["wall_s"] = o.seconds;
  j["status"] = o.status;
  return j;
}

Observation observation_from_json(const Json& j) {
  Observation o;
  o.metric = j.at("metric");
  o.unit = j.at("unit");
  o.direction = j.at("direction");
  o.split = j.at("split");
  o.value = number_at(j, "value");
  o.status = j.at("status");
  if (o.status == "inf") o.value = std::numeric_limits<double>::infinity();
  o.standard_error = number_at(j, "stderr");
  o.low = number_at(j, "low");
  o.high = number_at(j, "high");
  o.chance = number_at(j, "chance");
  o.n = j.value("n", std::int64_t{0});
  o.sum = number_at(j, "sum");
  o.count = j.value("count", std::int64_t{0});
  o.right = j.value("right", std::string());
  o.coords = j.at("coords");
  o.step = j.at("step");
  o.tokens = j.at("tokens");
  o.flops = j.at("flops");
  o.seconds = j.at("wall_s");
  return o;
}

}  // namespace pesuite
