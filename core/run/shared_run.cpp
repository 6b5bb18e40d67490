#include "run/shared_run.h"

namespace pesuite {

SharedRun::SharedRun(const fs::path& run, const Store& store)
    : lock_(run / ".lock"), runners_(run / ".runners"), leases_(store) {
  runners_.share();
}
SharedRun::~SharedRun() {
  for (const auto& [id, c] : std::map<std::string, PlannedCell>(held_)) release(c);
}

std::set<std::string> SharedRun::nodes(const PlannedCell& c) {
  return c.trains ? std::set<std::string>{c.id, c.training} : std::set<std::string>{c.id};
}

bool SharedRun::claim(const PlannedCell& c) {
  const auto now = std::chrono::steady_clock::now();
  auto& looked = looked_[c.id];
  if (looked.time_since_epoch().count() != 0 && now - looked < std::chrono::seconds(1))
    return false;
  looked = now;
  std::vector<std::string> taken;
  for (const std::string& node : nodes(c)) {
    if (!leases_.claim(node)) {
      for (const std::string& t : taken) leases_.release(t);
      return false;
    }
    taken.push_back(node);
  }
  held_.emplace(c.id, c);
  return true;
}

void SharedRun::renew(const PlannedCell& c, const Holder& holder) {
  const auto now = std::chrono::steady_clock::now();
  auto& renewed = renewed_[c.id];
  if (now - renewed < Leases::renewal) return;
  renewed = now;
  for (const std::string& node : nodes(c)) leases_.renew(node, holder);
}

void SharedRun::release(const PlannedCell& c) {
  for (const std::string& node : nodes(c)) leases_.release(node);
  held_.erase(c.id), looked_.erase(c.id), renewed_.erase(c.id);
}

bool SharedRun::is_elsewhere(const PlannedCell& c) {
  for (const std::string& node : nodes(c))
    if (leases_.other(node)) return true;
  return false;
}

bool SharedRun::leave() {
  const Alone alone(*this);  // of two that leave, one is first
  runners_.release();
  return runners_.is_free();
}

}  // namespace pesuite
