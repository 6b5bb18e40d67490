#include "check/checks.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace pesuite::checks {

Note::Note() {
  void* p = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) fail(Exit::internal, "cannot map a page: {}", std::strerror(errno));
  memory_ = static_cast<char*>(p);
}
Note::~Note() {
  ::munmap(memory_, size);
}
void Note::say(const std::string& what) {
  const std::size_t n = std::min(what.size(), size - 1);
  std::memcpy(memory_, what.data(), n);
  memory_[n] = 0;
}
std::string Note::text() const {
  return {memory_, ::strnlen(memory_, size)};
}

std::span<const ModelShape> model_shapes() {
  // layers, heads, kv_heads, head_dim, width, train_length, max_length
  static constexpr ModelShape shapes[] = {{2, 4, 2, 8, 32, 16, 64},
                                          {2, 4, 2, 16, 64, 16, 64},
                                          {2, 2, 2, 64, 128, 32, 128},
                                          {2, 4, 4, 128, 512, 64, 256}};
  return shapes;
}

ModelShape accepted_shape(const pes_encoding& e, const std::vector<std::string>& values) {
  std::string reason;
  for (const ModelShape& m : model_shapes()) try {
      const Instance instance(e, values, m);
      return m;
    } catch (const Refused& refusal) {
      if (reason.empty()) reason = refusal.what();
    }
  throw Refused(reason);
}

namespace {

constexpr EncodingCheck every_encoding_check[] = {
    {"creates", 1,
     "is created with its defaults, twice, and destroyed; start values are finite and follow "
     "from the seed",
     check_creates, true},
    {"options", 1,
     "defaults are within bounds, bounds are taken or refused in a sentence, texts of any kind "
     "too",
     check_options, false, true},
    {"steps", 1, "one forward pass at the training length gives finite numbers", check_steps, true},
    {"acts", 1, "embeddings or scores differ from those without an encoding", check_acts, true},
    {"deterministic", 2, "the same seed gives the same bits, in another instance too",
     check_deterministic, true},
    {"pure", 2,
     "hooks keep no state: the same step gives the same bits whatever ran in between, and in an "
     "instance that has run no other",
     check_pure, true},
    {"sizes", 2,
     "reads and writes no field that the host did not say it has: structs of an older and of a "
     "newer host, with guard pages behind them, give the same bits",
     check_sizes},
    {"threads", 3, "two instances in two threads give the bits of one", check_threads},
    {"causal", 1,
     "through a whole model, a later token changes no earlier output, and no gradient reaches it",
     check_causal, true},
    {"batch", 1, "one sequence of a batch changes nothing of another", check_batch},
    {"gradients", 1,
     "gradients of embedding, x, q, k, v and every parameter agree with central differences in "
     "double; every parameter acts and is trained",
     check_gradients},
    {"lengths", 1,
     "lengths 1, training and 4 x training give finite numbers; untrained() tells of tables that "
     "training reaches in part",
     check_lengths},
    {"offset", 1, "token n at offset 0 is token 0 at offset n, in embedding, q and k",
     check_offset},
    {"cached", 1,
     "tokens read behind a cache, also beside sequences of another length, give the logits of one "
     "pass over all of them, within the training length and past it",
     check_cached},
    {"shapes", 2, "odd sizes, one head, one group of keys, one layer", check_shapes},
    {"rows", 2, "rewritten scores do not depend on the block of rows or on the keys shown",
     check_rows},
    {"attention", 2, "the fused and the composed path agree", check_attention},
    {"backends", 2, "fp32 agrees with double", check_backends},
    {"relative", 1, "claim: scores depend on positions through i - j only", check_relative, false,
     true},
    {"parameter_free", 1, "claim: learns nothing", check_parameter_free, false, true},
    {"norm_preserving", 1, "claim: q and k keep their norms", check_norm_preserving, false, true},
    {"monotone_decay", 1, "claim: the bias never grows with distance", check_monotone_decay, false,
     true},
    {"unbounded", 1, "claim: defined at any length; tried at 64 x training", check_unbounded, false,
     true},
    {"phases", 1,
     "at position 2^20 fp32 agrees with double, and what depends on distance at small positions "
     "does so there",
     check_phases},
    {"memory", 3, "1,000 steps and 1,000 instances leave no memory behind", check_memory},
    {"fuzz", 3, "random options, sizes and steps: taken or refused in a sentence, never a crash",
     check_fuzz, false, true},
};

}  // namespace

std::span<const EncodingCheck> encoding_checks() {
  return every_encoding_check;
}

}  // namespace pesuite::checks
