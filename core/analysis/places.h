// Which numbers of a task answer which question: the places at which a corpus or a problem was
// evaluated, and what is known there.
#pragma once

#include <string>
#include <vector>

#include "analysis/run_data.h"

namespace pesuite {

// One setting of a problem, or a part of its positions.
struct SettingPart {
  const Setting* setting;
  std::string bucket;  // "", "seen", "unseen"
  std::string name;    // "128 (2x), unseen positions"
};
std::vector<SettingPart> setting_parts(const TaskData&);
Place problem_place(const std::string& metric, const SettingPart&);
Place accuracy_place(const SettingPart&);
// "accuracy", "exact match"; of a run "accuracy or exact match" where its problems have both.
std::string score_name(const TaskData&);
std::string score_names(const RunData&);
// That of the task's score. Exact match knows no parts of the positions.
Place score_place(const TaskData&, const SettingPart&);
// A share with its 95 % interval; all NaN where nothing was recorded.
Number share_at(const CellData&, const Place&);
// Chance level as the task states it; NaN where it does not.
double chance_of(const TaskData&, const Place&);
// What scores and comparisons take for it: of whole examples 0 where none is stated.
double chance_to_beat(const TaskData&, const Place&);
// Whether the intervals of all, of some or of no seeds hold the chance level of a share.
enum class AtChance { no, some, all };
AtChance at_chance(const TaskData&, std::size_t encoding, const Place&);
// Place of all scored tokens at a length.
Place whole(const std::string& metric, const std::string& protocol, int length);
// Lengths at which a corpus was evaluated under a protocol.
std::vector<int> lengths_of(const TaskData&, const std::string& protocol);

}  // namespace pesuite
