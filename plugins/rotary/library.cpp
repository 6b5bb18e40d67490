// Encodings that turn pairs of features of q and k by angles proportional to the position.
#include <pesuite/pesuite.hpp>

extern const pes_encoding rope, abf, p_rope, linear, ntk, yarn, llama3, longrope, resonance,
    multiscale_rope, xpos, randomized, clex, self_extend, rerope, fope, grape_m, repo,
    selective_rope, pose, dual_chunk, lm_infinite, streaming_llm;

static constexpr const pes_encoding* encodings[] = {
    &rope,       &abf,         &p_rope,        &linear,         &ntk,
    &yarn,       &llama3,      &longrope,      &resonance,      &multiscale_rope,
    &xpos,       &randomized,  &clex,          &self_extend,    &rerope,
    &fope,       &grape_m,     &repo,          &selective_rope, &pose,
    &dual_chunk, &lm_infinite, &streaming_llm, nullptr};

PES_LIBRARY("rotary", "1.5.0", "MIT", encodings, nullptr);
