#include "backend/launch.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace pesuite {

namespace {

struct Mark {
  const char *launcher, *variable;
};
constexpr Mark marks[] = {
    {"mpirun", "OMPI_COMM_WORLD_SIZE"}, {"mpirun", "PMI_SIZE"}, {"srun", "SLURM_STEP_NUM_TASKS"}};

constexpr int last_port = 65535, ports = 256;

int number(const Variables& of, const char* name, int low, int high) {
  const char* text = of(name);
  if (text == nullptr)
    fail(Exit::device,
         "{} is not set; processes that find each other by RANK and WORLD_SIZE need RANK, "
         "WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, as torchrun sets them",
         name);
  int value = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end || value < low || value > high)
    fail(Exit::device, "{} is '{}'; it has to be a whole number from {} to {}", name, text, low,
         high);
  return value;
}

}  // namespace

const char* own_variable(const char* name) {
  return std::getenv(name);
}

Launch read_launch(const Variables& of) {
  Launch l;
  const bool rank = of("RANK") != nullptr, size = of("WORLD_SIZE") != nullptr;
  if (rank != size)
    fail(Exit::device,
         "{} is set and {} is not; a process that torchrun starts has both, any other has neither",
         rank ? "RANK" : "WORLD_SIZE", rank ? "WORLD_SIZE" : "RANK");
  if (rank) {
    constexpr int most = 1 << 20;
    l.launcher = "torchrun", l.variable = "WORLD_SIZE";
    l.processes = number(of, "WORLD_SIZE", 1, most);
    l.rank = number(of, "RANK", 0, l.processes - 1);
    if (l.processes > 1) l.way = Launch::Way::environment;
    return l;
  }
  for (const Mark& m : marks) {
    const char* text = of(m.variable);
    const int n = text == nullptr ? 0 : std::atoi(text);
    if (n > 1) return {Launch::Way::mpi, m.launcher, m.variable, n, 0};
  }
  return l;
}

Meeting read_meeting(int ordinal, const Variables& of) {
  Meeting m;
  m.local_rank = number(of, "LOCAL_RANK", 0, number(of, "WORLD_SIZE", 1, 1 << 20) - 1);
  m.local_size = of("LOCAL_WORLD_SIZE") != nullptr
                     ? number(of, "LOCAL_WORLD_SIZE", m.local_rank + 1, 1 << 20)
                     : m.local_rank + 1;  // at least
  const char* const address = of("MASTER_ADDR");
  if (address == nullptr || *address == 0)
    fail(Exit::device,
         "MASTER_ADDR is not set; it has to name the machine of rank 0, as torchrun sets it");
  const int own = of("PESUITE_PORT") != nullptr ? number(of, "PESUITE_PORT", 1, last_port)
                                                : number(of, "MASTER_PORT", 1, last_port - 1) + 1;
  const int port = own + ordinal % ports;
  if (port > last_port)
    fail(Exit::device,
         "port {} and the {} after it are for meetings of processes, and ports end at {}; set "
         "PESUITE_PORT to a lower one",
         own, ports - 1, last_port);
  const bool numbers_and_colons = std::strchr(address, ':') != nullptr && address[0] != '[';
  m.place = fmt::format(fmt::runtime(numbers_and_colons ? "[{}]:{}" : "{}:{}"), address, port);
  return m;
}

void check_share(int local_rank, int local_size, int found, const std::string& sentence) {
  if (found == 0) fail(Exit::device, "{}; use --device cpu", sentence);
  if (local_size > found || local_rank >= found)
    fail(Exit::device,
         "{} processes were started on this machine, and each needs a device of its own; this one "
         "sees {}: {}. Start as many as there are devices, and let each see all of them",
         local_size, found, sentence);
}

}  // namespace pesuite
