// pesuite.hpp -- for authors of plugins in C++20: tensors with operators, typed options, and
// the glue that turns a class into a pes_encoding or a pes_task. Header only, on top of
// pesuite.h, which is the specification.
//
//   struct Decay : pes::Encoding {
//     static constexpr pes_option options[] = {
//         pes::real("slope", "0.1", 0, 10, "how fast the score falls with distance")};
//     static constexpr pes_card card = pes::card<Decay>("decay", "score - slope * distance");
//     double slope;
//     Decay(const pes_model&, const pes::Values& v) : slope(v.real("slope")) {}
//     void attend(const pes::Step& s, pes::Attention& a) const {
//       a.distance = s.table({1, s.length}, [&](auto, auto j) { return -slope * j; });
//     }
//   };
//   constexpr const pes_encoding* encodings[] = {&pes::encoding<Decay>, nullptr};
//   PES_LIBRARY("decay", "1.0.0", "MIT", encodings, nullptr);
#ifndef PESUITE_PESUITE_HPP_
#define PESUITE_PESUITE_HPP_

#include <pesuite/pesuite.h>

#include <pesuite/encoding.hpp>
#include <pesuite/options.hpp>
#include <pesuite/problem.hpp>
#include <pesuite/random.hpp>
#include <pesuite/task.hpp>
#include <pesuite/tensor.hpp>

// The oldest minor of a host that the library works with; define it before including this header.
#ifndef PES_NEEDS_MINOR
#define PES_NEEDS_MINOR 0
#endif

namespace pes::detail {
template <class List>
constexpr bool ends(const List& list) {
  if constexpr (std::is_array_v<List>) return list[std::extent_v<List> - 1] == nullptr;
  return true;
}
}  // namespace pes::detail

// The library's entry, once a library. `encodings` and `tasks`: null, or arrays of pointers to
// pes_encoding (pes::encoding<T>) and pes_task (pes::task<T>) that end with a null pointer.
#define PES_LIBRARY(name, version, licence, encodings, tasks)                                 \
  static_assert(PES_ENDS_(encodings), "PES_LIBRARY: " #encodings " must end with a nullptr"); \
  static_assert(PES_ENDS_(tasks), "PES_LIBRARY: " #tasks " must end with a nullptr");         \
  extern "C" const pes_library pes_entry = {                                                  \
      sizeof(pes_library), PES_ABI_MAJOR, PES_ABI_MINOR,  name, version, licence,             \
      encodings,           tasks,         PES_NEEDS_MINOR}
// True where it cannot be known before the library is loaded.
#define PES_ENDS_(list) \
  (__builtin_constant_p(pes::detail::ends(list)) ? pes::detail::ends(list) : true)

#endif  // PESUITE_PESUITE_HPP_
