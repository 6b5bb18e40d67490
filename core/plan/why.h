// Why a cell runs, or need not: what the store holds of it, and which training there is most like
// its own.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace pesuite {

// Trainings that have a checkpoint: their ids, and what their numbers follow from.
using KeptTrainings = std::vector<std::pair<std::string, Json>>;
KeptTrainings kept_trainings(const Store&);

struct LikeTraining {
  std::string id;
  std::vector<std::string> differences;  // "train.steps: 3000 there, 4000 here"
};
// The one that differs in the fewest settings, of equal ones one with the same seed. Nothing where
// all differ in more than `most`, or the cell trains nothing.
std::optional<LikeTraining> most_like(const PlannedCell&, const KeptTrainings&,
                                      std::size_t most = 12);

// The cells and trunks that `name` means: the beginning of an id, names as reports write them
// (ENCODING·TASK·MODEL·sSEED, also with / and in part), or a filter ("task=lags & seed=47").
// Error (usage) where it means none.
std::vector<const PlannedCell*> cells_named(const Plan&, const std::string& name);

// Of each cell its state, what it trains and evaluates still and, where it trains anew, the
// training that is most like it: a paragraph, or an object with `cell`, `training`, `label`,
// `state`, `why`, `to_evaluate` and `most_like`.
std::string why_text(const std::vector<const PlannedCell*>&, const Plan&, const Store&);
Json why_json(const std::vector<const PlannedCell*>&, const Plan&, const Store&);

}  // namespace pesuite
