// Small problems that isolate one demand on a positional encoding each.
#include <pesuite/pesuite.hpp>

extern const pes_task modsum_cls, prefix_modsum, kback_copy, kback_match, shift_pattern, first_last,
    pair_match;

static constexpr const pes_task* list[] = {&modsum_cls,  &prefix_modsum, &kback_copy,
                                           &kback_match, &shift_pattern, &first_last,
                                           &pair_match,  nullptr};

PES_LIBRARY("sandbox_tasks", "1.0.0", "MIT", nullptr, list);
