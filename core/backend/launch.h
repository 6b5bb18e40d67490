// Which launcher started this process, and what it says about the others.
#pragma once

#include <functional>
#include <string>

namespace pesuite {

struct Launch {
  // Over MPI, which knows the rest, or by the variables that torchrun sets.
  enum class Way { alone, mpi, environment } way = Way::alone;
  std::string launcher, variable;  // who says how many there are, and where
  int processes = 1;
  // Of `environment`:
  int rank = 0;
};

// Where the processes of a launch meet, and which device this one uses.
struct Meeting {
  int local_rank = 0, local_size = 1;  // among the processes of this machine
  std::string place;                   // ADDRESS:PORT, where rank 0 listens
};

// A variable's value, or null.
using Variables = std::function<const char*(const char*)>;
const char* own_variable(const char* name);

// RANK and WORLD_SIZE come first, then the marks of launchers that MPI knows. Error (device) where
// the first two do not fit together.
Launch read_launch(const Variables& = own_variable);
// `ordinal` gives each meeting its own port, since one that was just closed may not be free. Never
// MASTER_PORT itself, where torchrun listens. Error (device).
Meeting read_meeting(int ordinal, const Variables& = own_variable);

// Error (device) where `found` devices, which `sentence` names, are too few for process
// `local_rank` of `local_size`.
void check_share(int local_rank, int local_size, int found, const std::string& sentence);

}  // namespace pesuite
