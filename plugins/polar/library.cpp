// Encodings that keep what a feature says (its magnitude) apart from where it stands (its phase).
#include <pesuite/pesuite.hpp>

extern const pes_encoding pope;

static constexpr const pes_encoding* encodings[] = {&pope, nullptr};

PES_LIBRARY("polar", "1.0.0", "MIT", encodings, nullptr);
