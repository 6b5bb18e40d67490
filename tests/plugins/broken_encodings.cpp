// Encodings that misbehave, each in its own way, for tests of what the host makes of it.
#include <pesuite/pesuite.hpp>

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

struct Base : pes::Encoding {
  Base(const pes_model&, const pes::Values&) {}
};

struct CrashInCreate : pes::Encoding {
  static constexpr pes_card card =
      pes::card<CrashInCreate>("crash_in_create", "dies when it is created");
  CrashInCreate(const pes_model&, const pes::Values&) { std::raise(SIGSEGV); }
};
struct CrashInAttend : Base {
  static constexpr pes_card card =
      pes::card<CrashInAttend>("crash_in_attend", "dies at the third step");
  using Base::Base;
  void attend(const pes::Step& s, pes::Attention&) const {
    if (s.step == 2) std::raise(SIGSEGV);
  }
};
struct ExitInAttend : Base {
  static constexpr pes_card card = pes::card<ExitInAttend>("exit_in_attend", "leaves the process");
  using Base::Base;
  void attend(const pes::Step&, pes::Attention&) const { std::_Exit(7); }
};
struct LeavesInPeace : Base {
  static constexpr pes_card card =
      pes::card<LeavesInPeace>("leaves_in_peace", "leaves the process with exit code 0");
  using Base::Base;
  void attend(const pes::Step&, pes::Attention&) const { std::_Exit(0); }
};
struct StopsForEver : Base {
  static constexpr pes_card card =
      pes::card<StopsForEver>("stops_for_ever", "leaves as if asked to stop");
  using Base::Base;
  void attend(const pes::Step&, pes::Attention&) const { std::_Exit(75); }
};
struct Forges : Base {
  static constexpr pes_card card = pes::card<Forges>("forges", "prints what a worker would say");
  using Base::Base;
  void attend(const pes::Step&, pes::Attention&) const {
    std::puts(R"({"event":"failed","kind":"error","reason":"forged"})");
    std::puts(R"({"event":5})");
    std::fflush(stdout);
  }
};
struct Refuses : pes::Encoding {
  static constexpr pes_card card = pes::card<Refuses>("refuses", "refuses every model");
  Refuses(const pes_model& m, const pes::Values&) {
    throw pes::Refusal("needs a head size of 1000, not " + std::to_string(m.head_dim));
  }
};
struct WrongShape : Base {
  static constexpr pes_card card =
      pes::card<WrongShape>("wrong_shape", "adds tensors that do not fit");
  using Base::Base;
  void attend(const pes::Step& s, pes::Attention& a) const {
    a.q = a.q + s.table({3, 7}, [](auto, auto) { return 1.0; });
  }
};
struct WrongSlot : Base {
  static constexpr pes_card card =
      pes::card<WrongSlot>("wrong_slot", "leaves a distance table that is too short");
  using Base::Base;
  void attend(const pes::Step& s, pes::Attention& a) const {
    a.distance = s.table({1, 2}, [](auto, auto) { return 0.0; });
  }
};
struct Throws : Base {
  static constexpr pes_card card = pes::card<Throws>("throws", "throws in a hook");
  using Base::Base;
  pes::Tensor embed(const pes::Step&, pes::Tensor) const {
    throw std::runtime_error("no embedding today");
  }
};
struct Sleeps : Base {
  static constexpr pes_card card = pes::card<Sleeps>("sleeps", "takes its time");
  using Base::Base;
  void attend(const pes::Step&, pes::Attention&) const {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
};
struct Hoards : Base {
  static constexpr pes_card card = pes::card<Hoards>("hoards", "allocates without end");
  using Base::Base;
  void attend(const pes::Step&, pes::Attention&) const {
    static std::vector<std::vector<char>> all;
    all.emplace_back(std::size_t{64} << 20, 'x');
  }
};
// In planning and in its cell; the children, whose numbers stand in a file, hold all that it holds.
struct Forks : pes::Encoding {
  static constexpr pes_card card = pes::card<Forks>("forks", "leaves a child behind");
  Forks(const pes_model&, const pes::Values&) {
    const pid_t child = ::fork();
    if (child == 0)
      for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
    if (std::FILE* f = std::fopen("children", "a")) {
      std::fprintf(f, "%d\n", static_cast<int>(child));
      std::fclose(f);
    }
  }
};
struct HangsInCreate : pes::Encoding {
  static constexpr pes_card card =
      pes::card<HangsInCreate>("hangs_in_create", "never comes into being");
  HangsInCreate(const pes_model&, const pes::Values&) {
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
  }
};
struct Explodes : Base {
  static constexpr pes_card card =
      pes::card<Explodes>("explodes", "multiplies scores until they overflow");
  using Base::Base;
  void attend(const pes::Step& s, pes::Attention& a) const {
    a.q = exp(a.q * (1e3 * static_cast<double>(s.step)));
  }
};
// Rewrites scores by content, soundly: for the composed path.
struct Gate : pes::Encoding {
  static constexpr pes_card card = pes::card<Gate>("gate", "counts gates between query and key");
  pes::Param weight;
  Gate(const pes_model& m, const pes::Values&)
      : weight(param("weight", {m.heads, 1, 1}, pes::constant(-0.1))) {}
  void attend(const pes::Step&, pes::Attention& a) const { a.rewrite = true; }
  void rewrite(const pes::Step& s, pes::Scores& c) const {
    c.scores = c.scores + s[weight] * cumsum(sigmoid(c.scores) * c.visible, -1, true);
  }
};
// Sound alone, in each other's way together.
struct Warm : Base {
  static constexpr pes_card card = pes::card<Warm>("warm", "doubles the scale of q.k");
  using Base::Base;
  void attend(const pes::Step&, pes::Attention& a) const { a.scale *= 2; }
};
struct Cool : Base {  // only beyond the training length, as temperatures do
  static constexpr pes_card card = pes::card<Cool>("cool", "halves the scale past training");
  int train_length;
  Cool(const pes_model& m, const pes::Values& v) : Base(m, v), train_length(m.train_length) {}
  void attend(const pes::Step& s, pes::Attention& a) const {
    if (s.length > train_length) a.scale /= 2;
  }
};
struct Wide : Base {
  static constexpr pes_card card = pes::card<Wide>("wide", "doubles the features of q and k");
  using Base::Base;
  void attend(const pes::Step&, pes::Attention& a) const {
    a.q = concat(a.q, a.q, -1);
    a.k = concat(a.k, a.k, -1);
  }
};
struct Queries : Base {
  static constexpr pes_card card = pes::card<Queries>("queries", "doubles q");
  using Base::Base;
  void attend(const pes::Step&, pes::Attention& a) const { a.q = a.q * 2.0; }
};

constexpr const pes_encoding* encodings[] = {
    &pes::encoding<CrashInCreate>, &pes::encoding<CrashInAttend>, &pes::encoding<ExitInAttend>,
    &pes::encoding<LeavesInPeace>, &pes::encoding<StopsForEver>,  &pes::encoding<Forges>,
    &pes::encoding<Forks>,         &pes::encoding<HangsInCreate>, &pes::encoding<Refuses>,
    &pes::encoding<WrongShape>,    &pes::encoding<WrongSlot>,     &pes::encoding<Throws>,
    &pes::encoding<Sleeps>,        &pes::encoding<Hoards>,        &pes::encoding<Explodes>,
    &pes::encoding<Gate>,          &pes::encoding<Warm>,          &pes::encoding<Cool>,
    &pes::encoding<Wide>,          &pes::encoding<Queries>,       nullptr};

}  // namespace

PES_LIBRARY("broken", "1.0.0", "MIT", encodings, nullptr);
