// The tasks of Deletang et al. 2022 by the level of the Chomsky hierarchy that they need.
#include <pesuite/pesuite.hpp>

extern const pes_task parity, even_pairs, cycle_nav, mod_arith_simple;
extern const pes_task stack, mod_arith, solve_equation;
extern const pes_task missing_duplicate, odds_first, binary_addition, binary_multiplication,
    sqrt_task;

static constexpr const pes_task* list[] = {&parity,
                                           &even_pairs,
                                           &cycle_nav,
                                           &mod_arith_simple,
                                           &stack,
                                           &mod_arith,
                                           &solve_equation,
                                           &missing_duplicate,
                                           &odds_first,
                                           &binary_addition,
                                           &binary_multiplication,
                                           &sqrt_task,
                                           nullptr};

PES_LIBRARY("chomsky_tasks", "1.0.0", "MIT", nullptr, list);
