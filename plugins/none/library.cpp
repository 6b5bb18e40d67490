// Encodings that say nothing of where tokens stand.
#include <pesuite/pesuite.hpp>

extern const pes_encoding none, ssmax;

static constexpr const pes_encoding* encodings[] = {&none, &ssmax, nullptr};

PES_LIBRARY("none", "1.1.0", "MIT", encodings, nullptr);
