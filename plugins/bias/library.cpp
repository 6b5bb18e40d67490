// Encodings that add a bias to the scores.
#include <pesuite/pesuite.hpp>

extern const pes_encoding alibi, fire, t5;

static constexpr const pes_encoding* encodings[] = {&alibi, &fire, &t5, nullptr};

PES_LIBRARY("bias", "1.0.0", "MIT", encodings, nullptr);
