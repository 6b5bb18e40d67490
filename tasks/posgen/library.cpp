// Sequences that a rule generates.
#include <pesuite/pesuite.hpp>

extern const pes_task posgen;

static constexpr const pes_task* list[] = {&posgen, nullptr};

PES_LIBRARY("posgen_tasks", "1.0.0", "MIT", nullptr, list);
