// Parts of the program in libraries of their own, because not every machine has what they link.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace pesuite {

// How a part is found, and what to say where it was not built.
struct Part {
  const char* file;    // of the folder `backends`
  const char* symbol;  // its entry: abi, size, and what only this part has
  std::uint32_t abi;
  bool global;  // its symbols serve libraries that it opens
  const char* missing;
};

// The part's entry; it is never closed. Error (device).
const void* open_part(const Part&);
[[noreturn]] void refuse_version(const Part&);

template <class Entry>
const Entry& open_part(const Part& part) {
  const auto* entry = static_cast<const Entry*>(open_part(part));
  if (entry == nullptr || entry->abi != part.abi || entry->size < sizeof(Entry))
    refuse_version(part);
  return *entry;
}

}  // namespace pesuite
