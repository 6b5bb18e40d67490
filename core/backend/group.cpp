#include "backend/group.h"

#include <cstdlib>
#include <exception>
#include <functional>

#include "backend/factory.h"
#include "backend/launch.h"
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
  explicit MpiGroup(const Launch& launch) : mpi_(open_mpi_library()) {
    if (const int error = mpi_.join(&rank_, &size_))
      fail(Exit::device, "MPI does not start: error {}", error);
    if (size_ != launch.processes)
      fail(Exit::device,
           "{} says that it started {} processes ({}), and MPI knows of {}; start them with the "
           "mpirun of the MPI that this build has, with 'srun --mpi=pmix', or, on devices, with "
           "RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT in the environment of each",
           launch.launcher, launch.processes, launch.variable, size_);
    mpi_.local(&local_rank_, &local_size_);
    overlaps_ = overlaps();
  }
  ~MpiGroup() override {
    // A process that leaves by an error would wait here for others that wait for it elsewhere.
    if (std::uncaught_exceptions() == 0) mpi_.leave();
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string description() const override {
    char version[64];
    mpi_.version(version, sizeof version);
    return fmt::format("{} processes over {}{}", size_, version,
                       overlaps_ ? ", adding up during the backward pass" : "");
  }
  void sum(std::span<double> values) override {
    mpi_.sum_double(values.data(), static_cast<std::int64_t>(values.size()));
  }
  void sum(std::span<float> values) override {
    mpi_.sum_float(values.data(), static_cast<std::int64_t>(values.size()));
  }
  // The CPU has computed what it was asked for when it returns.
  void begin_sum(Backend&, std::span<double> values) override { begin(values, mpi_.begin_double); }
  void begin_sum(Backend&, std::span<float> values) override { begin(values, mpi_.begin_float); }
  void advance() override { mpi_.advance(begun_.data(), begun_.size()); }
  void finish_sums(Backend&) override {
    for (const auto& sum_now : later_) sum_now();
    later_.clear();
    mpi_.finish(begun_.data(), begun_.size());
    begun_.clear();
  }
  void wait() override { mpi_.wait(); }
  void share(DeviceGroupId& id) const {
    mpi_.share(id.data(), static_cast<std::int32_t>(id.size()));
  }
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }

 private:
  // Within one machine a message is work of the processes themselves, and takes longer in parts
  // beside other work than at once.
  bool overlaps() const {
    const char* const wanted = own_variable("PESUITE_MPI_OVERLAP");
    return wanted != nullptr ? std::string_view(wanted) == "1" : local_size_ < size_;
  }
  template <class T>
  void begin(std::span<T> values, std::int64_t (*begin_now)(T*, std::int64_t)) {
    if (overlaps_)
      begun_.push_back(begin_now(values.data(), static_cast<std::int64_t>(values.size())));
    else
      later_.push_back([this, values] { sum(values); });
  }

  const pesuite_mpi& mpi_;
  std::int32_t rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
  bool overlaps_ = false;
  std::vector<std::int64_t> begun_;
  std::vector<std::function<void()>> later_;
};

// The id is made in the process of rank 0 that then joins with it: NCCL listens there.
std::unique_ptr<Group> on_devices(std::unique_ptr<MpiGroup> mpi) {
  DeviceGroup g;
  g.rank = mpi->rank(), g.size = mpi->size(), g.device = mpi->local_rank();
  const auto [found, sentence] = count_devices();
  check_share(g.device, mpi->local_size(), found, sentence);
  if (mpi->leads()) g.id = make_device_group_id();
  mpi->share(g.id);
  std::unique_ptr<Group> group = make_device_group(g);
  group->keep(std::move(mpi));
  return group;
}

// With NCCL_COMM_ID in the environment every process makes the same id by itself.
std::unique_ptr<Group> on_devices(const Launch& launch, int ordinal) {
  const Meeting meeting = read_meeting(ordinal);
  const auto [found, sentence] = count_devices();
  check_share(meeting.local_rank, meeting.local_size, found, sentence);
  ::setenv("NCCL_COMM_ID", meeting.place.c_str(), 1);
  return make_device_group(
      {make_device_group_id(), launch.rank, launch.processes, meeting.local_rank});
}

}  // namespace

std::string why_no_mpi() try {
  open_mpi_library();
  return "";
} catch (const Error& e) {
  return e.what();
}

int launched_processes() {
  return read_launch().processes;
}

std::unique_ptr<Group> join_group(std::string_view backend, int ordinal) {
  const Launch launch = read_launch();
  switch (launch.way) {
    case Launch::Way::alone: break;
    case Launch::Way::mpi: {
      auto mpi = std::make_unique<MpiGroup>(launch);
      if (backend != "cuda") return mpi;
      return on_devices(std::move(mpi));
    }
    case Launch::Way::environment:
      if (backend == "cuda") return on_devices(launch, ordinal);
      fail(Exit::device,
           "{} says that {} processes were started together ({}); on the CPU they find each other "
           "over MPI: start them with mpirun or srun",
           launch.launcher, launch.processes, launch.variable);
  }
  return std::make_unique<Group>();
}

}  // namespace pesuite
