// Encodings whose scores depend on what the tokens say.
#include <pesuite/pesuite.hpp>

extern const pes_encoding cope, dape, path_attention;

static constexpr const pes_encoding* encodings[] = {&cope, &dape, &path_attention, nullptr};

PES_LIBRARY("content", "1.0.0", "MIT", encodings, nullptr);
