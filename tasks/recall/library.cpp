// What was seen is asked for by what stood beside it, before it, or at a distance from it.
#include <pesuite/pesuite.hpp>

extern const pes_task mqar, induction, selective_copy, indirect_index;

static constexpr const pes_task* list[] = {&mqar, &induction, &selective_copy, &indirect_index,
                                           nullptr};

PES_LIBRARY("recall_tasks", "1.0.0", "MIT", nullptr, list);
