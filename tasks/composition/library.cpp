// Rules that are few, and problems that apply them more often than training showed.
#include <pesuite/pesuite.hpp>

extern const pes_task lego, kinship, scan, pcfg;

static constexpr const pes_task* list[] = {&lego, &kinship, &scan, &pcfg, nullptr};

PES_LIBRARY("composition_tasks", "1.0.0", "MIT", nullptr, list);
