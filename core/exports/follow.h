// Trackers that hear of a run while it goes on: sessions as they are now, again and again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exports/mlflow.h"
#include "exports/sessions.h"

namespace pesuite {

class Follower {
 public:
  virtual ~Follower() = default;
  // Hands on what is new; nothing comes after what is `over`. A sentence for what could not be
  // handed on, which is tried again the next time.
  virtual std::vector<std::string> send(const std::vector<Session>&, bool over) = 0;
};

// Files that grow, as write_tensorboard() writes them at once.
std::unique_ptr<Follower> follow_tensorboard(const fs::path& out);
// The folder of write_wandb(), written anew each time: its script may be started at any time.
std::unique_ptr<Follower> follow_wandb(const fs::path& out);
// Runs that grow. Sessions that the server has finished are left as they are.
std::unique_ptr<Follower> follow_mlflow(const MlflowOptions&, const Http&);

}  // namespace pesuite
