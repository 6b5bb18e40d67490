#include "cli/arguments.h"
namespace pesuite::cli { int task_verb(const std::vector<std::string>&) { return 2; } }
