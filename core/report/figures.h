// Kinds of figures. Each stands in a file of its own, report/figures/NAME.cpp, which defines
//
//   std::vector<FigureKind> NAME_figures();
//
// The build collects them: a new file is a new kind, and nothing else names it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/across.h"
#include "analysis/judge.h"
#include "analysis/run_data.h"
#include "report/figure.h"

namespace pesuite {

struct FigureContext {
  const RunData& run;
  const Across& across;
  const TaskData* task = nullptr;               // where a section is about one
  std::string protocol = {};                    // where a section is about one
  const std::vector<Judged>* claims = nullptr;  // where a section is about them
};

// The section of a report in which a kind stands, and what it is about.
enum class FigureSection {
  answer,      // the run
  claims,      // the run
  task,        // a task; the first of all is what a reader sees
  protocol,    // a task under one protocol of corpora
  length,      // a task: what changes over length
  recall,      // a task: what must be recalled
  probes,      // a task
  learning,    // a task
  over_tasks,  // the run
  ranks,       // the run
  tuning,      // the run
  cost         // the run
};

struct FigureKind {
  FigureSection section;
  int place;  // in its section, the lowest first
  std::function<std::vector<Figure>(const FigureContext&)> make;  // none where it says nothing
};

const std::vector<FigureKind>& figure_kinds();
// All figures of a section.
std::vector<Figure> figures_of(FigureSection, const FigureContext&);

}  // namespace pesuite
