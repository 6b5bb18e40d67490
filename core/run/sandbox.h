// What a process that runs libraries nobody vouches for may not do: 'run --sandbox'. Made of the
// kernel's user, mount and network namespaces, which root and others may both enter on Debian 12,
// and of system call filters (seccomp).
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace pesuite {

// The exit code where the system does not allow this; that of no other error.
inline constexpr Exit no_isolation{11};

// From here on this process and all that it starts reach no network, and write files nowhere but
// below `folder`; they gain no rights, trace no process and change no mount. Error (no_isolation)
// that says what the system does not allow. To be called before threads exist.
void enter_sandbox(const fs::path& folder);

// In a worker behind that: who writes outside `folders`, opens a socket or starts a program is
// refused, and `denounce` gets a sentence about it, from the middle of that system call; it must
// not return.
void watch_sandbox(const std::vector<fs::path>& folders, void (*denounce)(const std::string&));

}  // namespace pesuite
