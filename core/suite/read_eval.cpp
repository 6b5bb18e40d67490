// How trained models are tested: [[eval]].
#include <algorithm>
#include <cmath>

#include "suite/read.h"

namespace pesuite {

namespace {

std::vector<int> read_numbers_from_0(Reader& r, const char* key) {
  std::vector<int> out;
  for (const double x : r.numbers(key, {})) {
    if (x < 0 || x != std::floor(x) || x > 1 << 20)
      r.problem(key, "must be whole numbers from 0 on");
    else
      out.push_back(static_cast<int>(x));
  }
  return out;
}

void check_lengths(Reader& r, const char* key, const std::vector<std::string>& lengths) {
  if (lengths.empty()) r.problem(key, "is empty; write at least one length, such as \"1x\"");
  for (const std::string& l : lengths)  // multiples are seen when the training length is known
    if (!is_lengths(l))
      r.problem(key, fmt::format("holds '{}'; write whole tokens (256, at most {}), a multiple of "
                                 "the training length (\"4x\") or a range (\"1..20\", \"8..4x:8\")",
                                 l, longest_length));
}

void read_probes(Reader& r, EvalSettings& e) {
  ProbeConfig p;
  if (!r.has("probes")) r.defaults_are("");  // they are settings of probes
  p.bands = static_cast<int>(r.integer("bands", p.bands, 1, 1 << 20));
  p.example = static_cast<int>(r.integer("example", p.example, 0, 1 << 24));
  p.layers = read_numbers_from_0(r, "layers"), p.heads = read_numbers_from_0(r, "heads");
  if (r.has("kept")) p.kept = read_numbers_from_0(r, "kept");
  if (p.kept.empty()) r.problem("kept", "is empty; write at least one number of tokens, such as 0");
  e.offsets = r.texts("offsets", {"1x"});
  check_lengths(r, "offsets", e.offsets);
  for (const std::string& name : r.texts("probes", {})) {
    try {
      p.kind = parse_probe(name);
      e.probes.push_back(p);
    } catch (const Error& error) {
      r.problem("probes", fmt::format("holds '{}': {}", name, error.what()));
    }
  }
  if (!r.has("probes"))
    for (const char* key : {"bands", "example", "kept", "layers", "heads", "offsets"})
      if (r.has(key)) r.problem(key, "is a setting of 'probes', which this entry does not have");
}

}  // namespace

void read_eval(Reader& r, EvalSettings& e) {
  e.task = r.text("task", "*");
  for (const char* key : {"task", "lengths", "axes", "probes", "offsets"})
    e.where[key] = r.where(key);
  e.lengths = r.texts("lengths", {"1x", "2x", "4x", "8x"});
  for (const std::string& p : r.texts("protocol", {"non_overlapping"})) {
    try {
      e.protocols.push_back(parse_protocol(p));
    } catch (const Error& error) {
      r.problem("protocol", fmt::format("is '{}': {}", p, error.what()));
    }
  }
  e.examples = static_cast<int>(r.integer("examples", e.examples, 1, 1 << 24));
  r.table("axes", [&](Reader& a) {
    for (const auto& [name, values] : a.json().items()) {
      e.axes[name] = a.texts(name, {});
      if (e.axes[name].empty()) a.problem(name, "holds no value to evaluate at");
    }
  });
  check_lengths(r, "lengths", e.lengths);
  read_probes(r, e);
}

}  // namespace pesuite
