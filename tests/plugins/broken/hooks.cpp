// Hooks that are none, one for each MISTAKE: the headers refuse to compile them, with a sentence
// that says how the hook has to be. 0: sound.
#include <pesuite/pesuite.hpp>

namespace {

struct Sample : pes::Encoding {
  static constexpr pes_card card = pes::card<Sample>("sample", "has a hook that is none");
  Sample(const pes_model&, const pes::Values&) {}
#if MISTAKE == 0
  // Generic, and beside a function of the same name: a hook all the same.
  void attend(const auto&, auto& a) const {
    a.scale = scale(2);
  }
  void attend(int) const {}
  double scale(double x) const {
    return x;
  }
#elif MISTAKE == 1
 private:
  void attend(const pes::Step&, pes::Attention& a) const {
    a.scale = 2;
  }
#elif MISTAKE == 2
  void attend(const pes::Step&, pes::Attention& a) {
    a.scale = 2;
  }
#elif MISTAKE == 3
  pes::Tensor embed(const pes::Step&, int) const {
    return {};
  }
  pes::Tensor embed(const pes::Step&) const {
    return {};
  }
#elif MISTAKE == 4
  template <class T>
  void rewrite(T) const {}
#elif MISTAKE == 5
  double untrained(const char*) const {
    return 0;
  }
#elif MISTAKE == 6
  void begin() {}
#endif
};

struct Task : pes::Task {
  static constexpr pes_card card = pes::card<Task>("task", "has a function that is none");
  Task(const pes_use&, const pes::Values&) {}
  void sample(const pes::Request&, pes::Random&, pes::Example&) const {}
#if MISTAKE == 7
  void oracle(std::vector<int>&) const {}
#elif MISTAKE == 8
 private:
  double chance(int) const {
    return 0;
  }
#elif MISTAKE == 9
  double distinct() const {
    return 0;
  }
#else
  double chance(auto) const {
    return 0.5;
  }
#endif
};

constexpr const pes_encoding* encodings[] = {&pes::encoding<Sample>, nullptr};
#if MISTAKE == 10
constexpr const pes_task* tasks[] = {&pes::task<Task>};
#else
constexpr const pes_task* tasks[] = {&pes::task<Task>, nullptr};
#endif
#if MISTAKE == 0
static_assert(encodings[0]->attend != nullptr && tasks[0]->chance != nullptr);
#endif

}  // namespace

PES_LIBRARY("hooks", "1.0.0", "MIT", encodings, tasks);
