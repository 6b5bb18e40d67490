#include "backend/group.h"

#include <cstdlib>
#include <exception>

#include "backend/mpi/entry.h"
#include "backend/part.h"
#include "base/error.h"

namespace pesuite {

std::vector<double> Group::gather(double own) {
  std::vector<double> all(static_cast<std::size_t>(size()));
  all[static_cast<std::size_t>(rank())] = own;
  sum(all);
  return all;
}

namespace {

// What a launcher sets in each process that it starts.
struct Launcher {
  const char *name, *variable;
  bool mpi;  // it is one that MPI knows
};
constexpr Launcher launchers[] = {{"mpirun", "OMPI_COMM_WORLD_SIZE", true},
                                  {"mpirun", "PMI_SIZE", true},
                                  {"srun", "SLURM_STEP_NUM_TASKS", true},
                                  {"torchrun", "WORLD_SIZE", false}};

int processes(const Launcher& l) {
  const char* text = std::getenv(l.variable);
  return text == nullptr ? 0 : std::atoi(text);
}

const Launcher* launched_by() {
  for (const Launcher& l : launchers)
    if (processes(l) > 1) return &l;
  return nullptr;
}

const pesuite_mpi& open_mpi_library() {
  return open_part<pesuite_mpi>(
      {.file = "pesuite_mpi.so",
       .symbol = PESUITE_MPI_SYMBOL,
       .abi = PESUITE_MPI_ABI,
       .global = true,
       .missing = "this build has no part for several processes; install MPI (on Debian: "
                  "openmpi-bin and libopenmpi-dev), and configure and build again"});
}

class MpiGroup : public Group {
 public:
  explicit MpiGroup(const Launcher& launcher) : mpi_(open_mpi_library()) {
    if (const int error = mpi_.join(&rank_, &size_))
      fail(Exit::device, "MPI does not start: error {}", error);
    if (size_ != processes(launcher))
      fail(Exit::device,
           "{} says that it started {} processes ({}), and MPI knows of {}; start them with the "
           "mpirun of the MPI that this build has, or with 'srun --mpi=pmix'",
           launcher.name, processes(launcher), launcher.variable, size_);
  }
  ~MpiGroup() override {
    // Who leaves because of an error would wait here for the others, who wait for it elsewhere.
    if (std::uncaught_exceptions() == 0) mpi_.leave();
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string description() const override {
    char version[64];
    mpi_.version(version, sizeof version);
    return fmt::format("{} processes over {}", size_, version);
  }
  void sum(std::span<double> values) override {
    mpi_.sum_double(values.data(), static_cast<std::int64_t>(values.size()));
  }
  void sum(std::span<float> values) override {
    mpi_.sum_float(values.data(), static_cast<std::int64_t>(values.size()));
  }
  // The CPU has computed what it was asked for when it returns.
  void begin_sum(Backend&, std::span<double> values) override {
    begun_.push_back(mpi_.begin_double(values.data(), static_cast<std::int64_t>(values.size())));
  }
  void begin_sum(Backend&, std::span<float> values) override {
    begun_.push_back(mpi_.begin_float(values.data(), static_cast<std::int64_t>(values.size())));
  }
  void advance() override { mpi_.advance(begun_.data(), begun_.size()); }
  void finish_sums(Backend&) override {
    mpi_.finish(begun_.data(), begun_.size());
    begun_.clear();
  }
  void wait() override { mpi_.wait(); }

 private:
  const pesuite_mpi& mpi_;
  std::int32_t rank_ = 0, size_ = 1;
  std::vector<std::int64_t> begun_;
};

}  // namespace

int launched_processes() {
  const Launcher* launcher = launched_by();
  return launcher == nullptr ? 1 : processes(*launcher);
}

std::unique_ptr<Group> join_group() {
  const Launcher* launcher = launched_by();
  if (launcher == nullptr) return std::make_unique<Group>();
  if (!launcher->mpi)
    fail(Exit::device,
         "{} says that {} processes were started together ({}); on the CPU they find each other "
         "over MPI: start them with mpirun or srun",
         launcher->name, processes(*launcher), launcher->variable);
  return std::make_unique<MpiGroup>(*launcher);
}

}  // namespace pesuite
