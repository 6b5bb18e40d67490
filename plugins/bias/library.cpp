// Encodings that add a bias to the scores.
#include <pesuite/pesuite.hpp>

extern const pes_encoding alibi, dynamic_bias, fire, fox, grape_a, grape_ap, hard_alibi, kerple,
    sandwich, t5, transformer_xl;

static constexpr const pes_encoding* encodings[] = {
    &alibi,      &dynamic_bias, &fire,     &fox, &grape_a,        &grape_ap,
    &hard_alibi, &kerple,       &sandwich, &t5,  &transformer_xl, nullptr};

PES_LIBRARY("bias", "1.4.0", "MIT", encodings, nullptr);
