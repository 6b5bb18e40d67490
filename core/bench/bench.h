// What `pesuite bench` measures: training, evaluation, attention and encodings on this machine.
#pragma once

#include <string>
#include <vector>

#include "backend/backend.h"
#include "bench/timing.h"
#include "plugin/library.h"

namespace pesuite::bench {

struct Settings {
  std::string config = "B";            // A, B, C, or a preset; B(width=512)
  std::vector<std::string> encodings;  // expressions
  std::vector<int> lengths;            // of evaluations, attention and overhead
  std::vector<std::string> slots;      // of attention
  std::string backend = "cpu";
  int threads = 1;
  Precision precision = Precision::fp32;
  Plan plan;
};

// How much longer a pass takes than without an encoding, as a share of that: the median over
// windows, and its 95 % interval.
struct Slowdown {
  std::string encoding;
  int length = 0;
  double median = 0, low = 0, high = 0;
};

struct Result {
  std::vector<Timing> timings;
  std::vector<Slowdown> slowdowns;  // of overhead
  double peak = 0;                  // FLOP/s of a large product, timed in turn with the rest
  double memory = 0;                // bytes of the process at most, before that product
  std::string table;                // for people
};

// Training steps: forward, backward, AdamW; as [batch, length] of the config.
Result bench_train(const Catalog&, const Settings&);
// Forward passes over as many tokens as a training pass, or one longer sequence, at each length.
Result bench_eval(const Catalog&, const Settings&);
// A prompt of each length, with the logits of its last token, and 128 tokens written behind an
// empty cache, one text and eight side by side; the speed at which memory is read, in turn with
// them.
Result bench_generate(const Catalog&, const Settings&);
// One attention, 8 heads of 64, at each length: forward, and forward with backward. Slots: none,
// rotary, distance, bias, rewrite.
Result bench_attention(const Settings&);
std::vector<std::string> attention_slots();
// Of a forward pass over one sequence: milliseconds in the encoding's hooks and in attention, and
// the whole pass against that of encoding `none`.
Result bench_overhead(const Catalog&, const Settings&);
// Time by kernel of a training step, and what is spent outside of kernels. Beside it what each has
// to do at least, and the time of that on a device.
Result bench_profile(const Catalog&, const Settings&);
// The least time of a training step on a device of that name, kernel by kernel, by what each has to
// do and the published rates of the device. Computes nothing.
Result bench_model(const Catalog&, const Settings&, const std::string& device);

}  // namespace pesuite::bench
