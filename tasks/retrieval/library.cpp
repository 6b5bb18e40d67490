// Something is said once in a long text and asked for at its end: at which lengths and depths is
// it found?
#include <pesuite/pesuite.hpp>

extern const pes_task passkey, niah, variable_tracking, common_words, copy_distance, babilong,
    text_passkey, text_needle;

static constexpr const pes_task* list[] = {&passkey,      &niah,          &variable_tracking,
                                           &common_words, &copy_distance, &babilong,
                                           &text_passkey, &text_needle,   nullptr};

PES_LIBRARY("retrieval_tasks", "1.0.0", "MIT", nullptr, list);
