// Which encoding to use: answered from cards, taxonomy, claims and cost class, for any library, and
// from what was measured.
#pragma once

#include <string>
#include <vector>

#include "plugin/measured.h"

namespace pesuite {

struct Question {
  int train_length = 0, length = 0;  // 0: not said
  bool longer = false;               // deployment is longer than training, by how much is not said
  std::string pretrained;  // the encoding a model was trained with; "": train from the start
  bool tuning = true;      // a pretrained model may be trained further
  bool parameter_free = false, content = false;
  std::string cost;                   // the highest cost class; "": any
  std::vector<std::string> taxonomy;  // words that must all apply

  // length / train_length; 1 when nothing is said, 2 where only `longer` is.
  double stretch() const;
};

struct Advice {
  const pes_encoding* encoding = nullptr;
  const Library* library = nullptr;
  std::vector<std::string> obstacles;  // why it does not fit
  std::vector<std::string> reasons;    // what of the question it answers
  // What speaks of the length that is asked for, where one beyond training is; the best comes
  // first.
  enum class Ground {
    measured,      // shown here to hold there, on no fewer of the tasks that tell encodings apart
                   // than it is shown to fail on
    claimed,       // by a paper, and not shown to fail here
    contradicted,  // claimed, and shown here to fail before, mostly
    unrated        // nobody says how it does there
  };
  Ground ground = Ground::claimed;
  std::vector<LengthMeasured> measured;  // what bears on the question
  double score = 0;                      // the higher the better, on one ground

  bool fits() const { return obstacles.empty() && ground <= Ground::claimed; }
};

// "none", "minimal", "low", "moderate", "high": 0 .. 4; -1 for anything else.
int cost_rank(std::string_view cost);
// Of a card's rating: poor 0 .. excellent 3, -1 where nothing is claimed.
int rating_rank(std::string_view rating);
// The claimed reach on a card, in training lengths: 1 none, 2 limited, 4 moderate, 8 "2-8x",
// infinity for "unlimited"; NaN where nothing is claimed.
double extension_reach(std::string_view extension);

// Every encoding of the catalog: those that fit, best first; those that measurements contradict;
// those that nobody rated; the others.
// Error (usage) for a pretrained encoding or a taxonomy word that nobody has.
std::vector<Advice> advise(const Catalog&, const Question&, const Measured& = {});

}  // namespace pesuite
