// Short forms of tables for reports of many tasks or encodings, whose long forms are evidence.
#pragma once

#include <functional>
#include <string>

#include "analysis/run_data.h"
#include "report/document.h"

namespace pesuite {

// A row a task: who learned it, and the best and the worst at both ends. `section` names the one
// of the document that has all about it.
Table brief_tasks(const RunData&, const std::function<std::string(const TaskData&)>& section);
// Tasks against encodings: the change at the longest length with its verdict.
Table brief_answer(const RunData&);
Table brief_cost(const RunData&);  // a row an encoding

}  // namespace pesuite
