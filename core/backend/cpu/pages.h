// Memory as the kernels want it: on cache lines, and in huge pages where it is large. A product
// that reads a column of a long matrix touches a page a row, more than the processor has
// translations for while pages have 4 KiB.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace pesuite {

// Of undefined content, for std::free. Throws std::bad_alloc.
inline void* allocate_pages(std::size_t bytes) {
  constexpr std::size_t line = 64, huge = std::size_t{2} << 20;
  const std::size_t unit = bytes >= huge ? huge : line;
  const std::size_t size = (std::max<std::size_t>(bytes, 1) + line - 1) / line * line;
  void* p = nullptr;
  if (posix_memalign(&p, unit, size) != 0) throw std::bad_alloc();
#if defined(__linux__)
  // Only whole ones, so that a process does not grow; where the system has none, nothing changes.
  if (unit == huge) madvise(p, size / huge * huge, MADV_HUGEPAGE);
#endif
  return p;
}

}  // namespace pesuite
