// How long the threads of OpenMP's library spin while they wait for each other, before they sleep.
//
// To wake a thread takes 20 to 50 us, longer than many an op: a spin shorter than the wait makes
// steps of small ops up to twice as long. But where other processes want the cores, who spins takes
// them from the very thread that it waits for.
#pragma once

#include <string_view>

namespace pesuite {

// GOMP_SPINCOUNT of a process with so many threads (0: one a core): turns of the library's loop, of
// some 13 ns. Looks for 2 ms at how many threads of other processes run.
int spins_while_waiting(int threads);

struct Cores {
  int all = 0;
  int wanted = 0;  // threads of all processes that run or could
};
// The same for a process that is one of those `wanted`.
int spins_while_waiting(int threads, Cores);
// Of the text of /proc/stat; what it does not say is 0.
Cores cores_of(std::string_view stat);

}  // namespace pesuite
