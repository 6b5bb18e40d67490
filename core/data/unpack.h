// The ways in which pages of Parquet are packed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pesuite::data {

// `codec` as Parquet numbers it; "" for what is not read.
std::string_view codec_name(std::int64_t codec);
bool reads_codec(std::int64_t codec);
// False where `packed` is damaged or gives another number of bytes than `size`.
bool unpack(std::int64_t codec, std::string_view packed, std::size_t size, std::string& out);

}  // namespace pesuite::data
