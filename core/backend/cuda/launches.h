// What a queue is given to start: kernels, calls of libraries, and small uploads.
//
// A small step is bound by the program that starts its kernels, 2 to 15 microseconds each, as long
// as they run. So launches wait in a list, and a list that came before is a CUDA graph, which one
// call starts. Nobody declares what repeats: the program runs as ever, and each list is compared
// with that of its graph. Where a kernel's argument or an upload differs, as the learning rate and
// the tokens do from step to step, the graph is given the new one; where anything else does, it is
// another list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

struct CUstream_st;

namespace pesuite::cuda {

struct Launch {
  enum class What : std::uint8_t { kernel, call, upload };
  What what = What::kernel;
  const void* function = nullptr;  // that runs; of an upload, where it goes
  std::int64_t blocks = 0;         // of a kernel, with what each of them has
  std::int32_t threads = 0, shared = 0;
  std::size_t bytes = 0;  // of its argument: what a function reads, or an upload brings
  bool operator==(const Launch&) const = default;
};

class LaunchList {
 public:
  void add(const Launch&, const void* argument);
  void clear() { entries_.clear(), bytes_.clear(); }
  std::size_t size() const { return entries_.size(); }
  const Launch& launch(std::size_t i) const { return entries_[i].launch; }
  const void* argument(std::size_t i) const { return bytes_.data() + entries_[i].at; }
  bool equal_argument(std::size_t i, const LaunchList&) const;
  // Into that of launch i, which is as large.
  void replace_argument(std::size_t i, const void* argument) {
    std::memcpy(bytes_.data() + entries_[i].at, argument, launch(i).bytes);
  }

 private:
  struct Entry {
    Launch launch;
    std::size_t at;  // of its argument in bytes_, a multiple of 16
  };
  std::vector<Entry> entries_;
  std::vector<std::byte> bytes_;
};

// A list that is started as one.
class LaunchGraph {
 public:
  virtual ~LaunchGraph() = default;
  // Of launch i, a kernel or an upload; for the runs that follow.
  virtual void change(std::size_t i, const Launch&, const void* argument) = 0;
  virtual void run() = 0;
};

// Who starts them: a device, or the host in tests.
class Starter {
 public:
  virtual ~Starter() = default;
  virtual void start(const Launch&, const void* argument) = 0;
  // Of a list that was started before. Null where it cannot be one.
  virtual std::unique_ptr<LaunchGraph> graph(const LaunchList&) = 0;
};

class Launches {
 public:
  // A list has `most` launches at most; 0: each is started at once.
  Launches(Starter& starter, std::size_t most) : starter_(starter), most_(most) {}

  void add(const Launch&, const void* argument);
  // The list ends here, and all that waits in it is started.
  void end();
  bool waits() const { return list_.size() > 0; }
  // What waits is not started: nobody wants it any more.
  void drop() { list_.clear(), noted_ = 0, hash_ = 0; }

  struct Counts {
    long graphs = 0, runs = 0, changes = 0;  // made; run; arguments they were given anew
  };
  const Counts& counts() const { return counts_; }

  // Launches of a list: the device begins with the first while the program makes the next. On an
  // H100 few were the best for a small step (16: 0.31 ms, 24: 0.31 to 0.34, 100: 0.33; no graphs:
  // 0.45).
  static constexpr std::size_t usual = 16;
  static constexpr std::size_t fewest = 8;      // of a graph: with less it saves nothing
  static constexpr std::size_t graphs = 256;    // at a time
  static constexpr std::size_t known = 8192;    // lists
  static constexpr std::size_t patience = 16;   // lists in a row that never came before
  static constexpr std::int64_t unused = 1024;  // lists since a graph ran: it makes room

 private:
  struct Known {
    bool refused = false;  // it cannot be a graph
    LaunchList list;       // as its graph has it
    std::unique_ptr<LaunchGraph> graph;
    std::int64_t used = 0;
  };
  void note(const Launch&, const void* argument);  // in hash_
  void end_list();
  void start_all();
  void make_graph(Known&);
  void run(Known&);
  bool same(const LaunchList&) const;  // but for what a graph can be given anew
  bool make_room();

  Starter& starter_;
  std::size_t most_;
  bool waiting_ = false;   // launches wait for their list's end; else it is only looked at
  LaunchList list_;        // that waits
  std::size_t noted_ = 0;  // launches of the list
  std::uint64_t hash_ = 0;
  std::unordered_map<std::uint64_t, Known> known_;
  std::size_t in_vain_ = 0, graphs_ = 0;
  std::int64_t ended_ = 0;
  Counts counts_;
};

}  // namespace pesuite::cuda
