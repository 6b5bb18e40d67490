// Small algorithms whose problems grow: trained on small ones, asked for large ones.
#include <pesuite/pesuite.hpp>

extern const pes_task copy_task, reverse_task, sort_task, bucket_sort, no_carry_addition;

static constexpr const pes_task* list[] = {&copy_task,   &reverse_task,      &sort_task,
                                           &bucket_sort, &no_carry_addition, nullptr};

PES_LIBRARY("algorithmic_tasks", "1.0.0", "MIT", nullptr, list);
