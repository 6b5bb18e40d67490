// Two encodings that take the host's structs for longer than the host says: 'sizes' must catch
// both.
#include <pesuite/pesuite.hpp>

namespace {

struct NewerModel {  // as a later header might have it
  pes_model known;
  std::int64_t experts;
};

// Reads a field of a newer host without asking whether it is there.
struct ReadsBeyond : pes::Encoding {
  static constexpr pes_card card =
      pes::card<ReadsBeyond>({.name = "reads_beyond",
                              .summary = "reads a field that the host does not have",
                              .taxonomy = "none"});
  volatile std::int64_t experts;
  ReadsBeyond(const pes_model& m, const pes::Values&)
      : experts(reinterpret_cast<const volatile NewerModel*>(&m)->experts) {}
};

struct NewerAttention {
  pes_attention known;
  std::int64_t window;
};

// Writes one, through the C interface: the C++ classes hide the struct.
constexpr pes_card make_card() {
  pes_card c{};
  c.size = sizeof(pes_card);
  c.name = "writes_beyond";
  c.summary = "writes a field that the host does not have";
  c.version = "1";
  c.taxonomy = "none";
  return c;
}
constexpr pes_card writes_beyond_card = make_card();
bool create(const pes_model*, const char* const*, pes_created*, char*) {
  return true;
}
void destroy(void*) {}
void attend(const void*, const pes_step*, pes_attention* a) {
  const auto* newer = reinterpret_cast<volatile NewerAttention*>(a);
  const std::int64_t kept = newer->window;
  reinterpret_cast<volatile NewerAttention*>(a)->window = kept;
}
constexpr pes_encoding writes_beyond = {.size = sizeof(pes_encoding),
                                        .card = &writes_beyond_card,
                                        .create = create,
                                        .destroy = destroy,
                                        .init = nullptr,
                                        .begin = nullptr,
                                        .embed = nullptr,
                                        .attend = attend,
                                        .rewrite = nullptr,
                                        .untrained = nullptr,
                                        .stale = nullptr};

constexpr const pes_encoding* encodings[] = {&pes::encoding<ReadsBeyond>, &writes_beyond, nullptr};

}  // namespace

PES_LIBRARY("wrong_size", "1.0.0", "MIT", encodings, nullptr);
