// Tables of a report as LaTeX with booktabs, one table environment each.
#pragma once

#include <string>
#include <vector>

#include "report/document.h"

namespace pesuite {

std::string latex(const Text&);
// `label` names them in the text: tab:LABEL, then tab:LABEL-2, ...
std::string latex(const std::vector<Table>&, const std::string& label);

}  // namespace pesuite
