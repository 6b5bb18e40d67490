// Small machines whose state must be followed.
#include <pesuite/pesuite.hpp>

extern const pes_task flipflop, majority;

static constexpr const pes_task* list[] = {&flipflop, &majority, nullptr};

PES_LIBRARY("state_tasks", "1.0.0", "MIT", nullptr, list);
