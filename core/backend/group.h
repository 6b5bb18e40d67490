// Processes that work on one cell together (data parallel): each takes examples of its own, and
// what they find is added up. This class itself is the group of one process that works alone.
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

  // The same for what stands in a backend's memory, while it computes: begin_sum() takes what it
  // was asked to compute until then, and finish_sums() makes what it is asked for afterwards wait
  // for all sums. Between them nobody touches the values. advance(), called now and then in
  // between, lets sums go on that need the processor.
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

// The group that this process was started in, for cells that compute on `backend`; alone where
// there is none. On the CPU it is joined over MPI. On devices sums go over NCCL, and processes find
// each other over MPI, or by the variables that torchrun sets: then each cell's group has an
// ordinal of its own, less than 256 away from that of no other at the same time. The libraries are
// opened only where there are several processes, and MPI starts here: before threads, and before
// CUDA. Error (device) with a sentence where it cannot be joined. Whoever gives up with an
// exception leaves without a word to the others; the launcher then ends them.
std::unique_ptr<Group> join_group(std::string_view backend, int ordinal = 0);

}  // namespace pesuite
