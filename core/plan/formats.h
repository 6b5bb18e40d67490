// A plan as what other engines run: lists of commands, rules, batch scripts. All of them start the
// program itself with a part of the suite; leases deal the cells, whatever order they start in.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan/selection.h"

namespace pesuite {

struct PlanCommand {
  std::vector<std::string> run;     // "pesuite", "run", suite and flags, without a part
  // The same in a container, where the program is in the path and --out, which stands last, is
  // relative.
  std::vector<std::string> portable;
  std::vector<std::string> report;  // what writes the report when all parts are over
  std::string suite;                // its name
  int threads = 1;                  // of a cell
};

// Words as a shell reads them.
std::string shell_line(const std::vector<std::string>& words);

// How many parts there can be: trainings of the plan, at most `most`.
int parts_of(const Plan&, int most);

// "commands", "make", "snakemake" or "kubernetes"; one part each of `parts`.
std::vector<std::string> plan_formats();
std::string plan_as(const std::string& format, const PlanCommand&, int parts);

struct SlurmOptions {
  std::string partition, gres, time, account;  // "": Slurm's own, and of time the plan's estimate
  std::string memory;                          // the same; "auto": the plan's estimate
  int cells_per_task = 1;
  int largest_array = 1000;        // Slurm's MaxArraySize less one
  std::vector<std::string> extra;  // further words of sbatch
  std::string folder;              // absolute, where scripts and logs go
  std::string working_directory;   // of the tasks
};
// Files of `folder` and what they hold: a script for each stage, one for the report, and submit.sh,
// which hands them to Slurm one behind the other.
std::vector<std::pair<std::string, std::string>> slurm_scripts(const Plan&, const PlanCommand&,
                                                               const SlurmOptions&);

}  // namespace pesuite
