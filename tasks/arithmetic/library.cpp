// Digits and counters.
#include <pesuite/pesuite.hpp>

extern const pes_task addition_task, subtraction_task, counting_task, polynomial, summation;

static constexpr const pes_task* list[] = {&addition_task, &subtraction_task, &counting_task,
                                           &polynomial,    &summation,        nullptr};

PES_LIBRARY("arithmetic_tasks", "1.0.0", "MIT", nullptr, list);
