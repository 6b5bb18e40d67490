// The address that --listen names.
#pragma once

#include <string>

namespace pesuite::app {

std::string host_of_url(const std::string& address);  // "[::1]" of ::1
bool is_loopback(const std::string& address);
bool is_every_address(const std::string& address);  // 0.0.0.0 and ::
// Error (usage) where it is the name of nothing, or no address of this machine.
void check_address(const std::string& address);

}  // namespace pesuite::app
