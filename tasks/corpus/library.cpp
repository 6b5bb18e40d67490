// Language: synthetic ones with a known optimum, and the user's own text.
#include <pesuite/pesuite.hpp>

extern const pes_task ledger_task, text_task, tokens_task, toylag_task, brackets_task, facts_task;

static constexpr const pes_task* list[] = {&ledger_task,   &text_task,  &tokens_task, &toylag_task,
                                           &brackets_task, &facts_task, nullptr};

PES_LIBRARY("corpus_tasks", "1.0.0", "MIT", nullptr, list);
