// Encodings that are added to the token embeddings.
#include <pesuite/pesuite.hpp>

extern const pes_encoding binary, binary_norm, decimal, decimal_norm, integer, learned, sinonly,
    sinusoidal;

static constexpr const pes_encoding* encodings[] = {&binary,       &binary_norm, &decimal,
                                                    &decimal_norm, &integer,     &learned,
                                                    &sinonly,      &sinusoidal,  nullptr};

PES_LIBRARY("absolute", "1.1.0", "MIT", encodings, nullptr);
