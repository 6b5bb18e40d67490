// Processes that work on one cell together (data parallel): each takes its own examples, and their
// results are added up. This class itself is the group of one process that works alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pesuite {

class Backend;

class Group {
 public:
  Group() = default;
  virtual ~Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  virtual int rank() const { return 0; }  // 0 .. size() - 1
  virtual int size() const { return 1; }
  // Writes files and speaks for all.
  bool leads() const { return rank() == 0; }
  virtual std::string description() const { return "1 process"; }
  // Number of the device that this process computes on, where its backend has several.
  virtual int device() const { return 0; }
  // Lets `before` live as long as this group: it may have started the processes.
  void keep(std::unique_ptr<Group> before) { before_ = std::move(before); }

  // What follows is called by all of them in the same order.
  // Adds up over all processes, in place and to the same bits in each of them.
  virtual void sum(std::span<double>) {}
  virtual void sum(std::span<float>) {}
  virtual void wait() {}  // until all are here

  // The same in a backend's memory, while it computes: begin_sum() sums after the work queued so
  // far, finish_sums() makes later work wait for all sums. Between the two the values must not be
  // touched. Call advance() now and then in between: some sums need the processor to go on.
  virtual void begin_sum(Backend&, std::span<double>) {}
  virtual void begin_sum(Backend&, std::span<float>) {}
  virtual void advance() {}
  virtual void finish_sums(Backend&) {}

  // The value of each process, by rank.
  std::vector<double> gather(double own);

 private:
  std::unique_ptr<Group> before_;
};

// How many processes a launcher (mpirun, srun, torchrun) says in the environment that it started.
int launched_processes();

// "", or why processes cannot share a cell here. Opens the library of MPI: not for a process that
// goes on.
std::string why_no_mpi();

// The group that this process was started in, for cells on `backend`; a group of one where there is
// none. CPUs join over MPI. Devices sum over NCCL and meet over MPI, or by torchrun's variables:
// then each cell's group has an ordinal, and those of groups at one time must differ modulo 256.
// Libraries are opened only for several processes. MPI starts here: before threads and CUDA.
// Error (device) with a sentence where it cannot be joined. A process that gives up with an
// exception does not tell the others; the launcher then ends them.
std::unique_ptr<Group> join_group(std::string_view backend, int ordinal = 0);

}  // namespace pesuite
