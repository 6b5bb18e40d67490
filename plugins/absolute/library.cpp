// Encodings that are added to the token embeddings.
#include <pesuite/pesuite.hpp>

extern const pes_encoding learned, sinusoidal;

static constexpr const pes_encoding* encodings[] = {&learned, &sinusoidal, nullptr};

PES_LIBRARY("absolute", "1.0.0", "MIT", encodings, nullptr);
