// Encodings that turn pairs of features of q and k by angles proportional to the position.
#include <pesuite/pesuite.hpp>

extern const pes_encoding rope;

static constexpr const pes_encoding* encodings[] = {&rope, nullptr};

PES_LIBRARY("rotary", "1.0.0", "MIT", encodings, nullptr);
