#include "backend/cuda/launches.h"

#include <algorithm>

#include "pesuite/random.hpp"

namespace pesuite::cuda {

void LaunchList::add(const Launch& launch, const void* argument) {
  const std::size_t at = (bytes_.size() + 15) / 16 * 16;
  bytes_.resize(at + launch.bytes);
  if (launch.bytes > 0) std::memcpy(bytes_.data() + at, argument, launch.bytes);
  entries_.push_back({launch, at});
}

bool LaunchList::equal_argument(std::size_t i, const LaunchList& other) const {
  return launch(i).bytes == 0 || std::memcmp(argument(i), other.argument(i), launch(i).bytes) == 0;
}

void Launches::add(const Launch& launch, const void* argument) {
  if (most_ == 0) return starter_.start(launch, argument);
  note(launch, argument);
  if (waiting_)
    list_.add(launch, argument);
  else
    starter_.start(launch, argument);
  if (++noted_ == most_) end();
}

// All that a graph cannot be given anew.
void Launches::note(const Launch& l, const void* argument) {
  const auto mix = [this](std::uint64_t word) { hash_ = pes::mix64(hash_, word); };
  mix(reinterpret_cast<std::uintptr_t>(l.function));
  mix(static_cast<std::uint64_t>(l.blocks));
  mix(static_cast<std::uint64_t>(l.threads) << 32 | static_cast<std::uint32_t>(l.shared));
  mix(l.bytes);
  if (l.what != Launch::What::call) return;
  for (std::size_t i = 0; i < l.bytes; i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, static_cast<const char*>(argument) + i, std::min(sizeof word, l.bytes - i));
    mix(word);
  }
}

void Launches::end() {
  if (noted_ == 0) return;
  struct Ended {  // also where a launch fails: it is not started again
    Launches& all;
    ~Ended() { all.drop(); }
  } const ended{*this};
  end_list();
}

void Launches::end_list() {
  ++ended_;
  if (noted_ < fewest) return start_all();
  if (known_.size() >= known) std::erase_if(known_, [](const auto& k) { return !k.second.graph; });
  const auto [at, is_new] = known_.try_emplace(hash_);
  if (!waiting_) {
    waiting_ = !is_new;
    return;
  }
  in_vain_ = is_new ? in_vain_ + 1 : 0;
  if (in_vain_ == patience) waiting_ = false, in_vain_ = 0;
  if (!is_new && !at->second.graph) make_graph(at->second);
  if (at->second.graph && same(at->second.list))
    run(at->second);
  else
    start_all();
}

void Launches::start_all() {
  for (std::size_t i = 0; i < list_.size(); ++i) starter_.start(list_.launch(i), list_.argument(i));
}

void Launches::make_graph(Known& k) {
  if (k.refused || !make_room()) return;
  k.graph = starter_.graph(list_);
  k.refused = !k.graph;
  if (k.refused) return;
  k.list = list_;
  ++graphs_, ++counts_.graphs;
}

void Launches::run(Known& k) {
  k.used = ended_;
  for (std::size_t i = 0; i < list_.size(); ++i) {
    if (k.list.equal_argument(i, list_)) continue;
    k.graph->change(i, list_.launch(i), list_.argument(i));
    k.list.replace_argument(i, list_.argument(i));
    ++counts_.changes;
  }
  k.graph->run();
  ++counts_.runs;
}

bool Launches::same(const LaunchList& other) const {
  if (other.size() != list_.size()) return false;
  for (std::size_t i = 0; i < list_.size(); ++i) {
    if (!(list_.launch(i) == other.launch(i))) return false;
    if (list_.launch(i).what == Launch::What::call && !list_.equal_argument(i, other)) return false;
  }
  return true;
}

// For one more graph: that of the list that was not seen for longest goes, if it is long enough.
bool Launches::make_room() {
  if (graphs_ < graphs) return true;
  const auto oldest =
      std::min_element(known_.begin(), known_.end(), [](const auto& a, const auto& b) {
        const auto age = [](const Known& k) { return k.graph ? k.used : INT64_MAX; };
        return age(a.second) < age(b.second);
      });
  if (ended_ - oldest->second.used < unused) return false;
  oldest->second.graph.reset();
  oldest->second.list.clear();
  --graphs_;
  return true;
}

}  // namespace pesuite::cuda
