#include "data/unpack.h"

#include <brotli/decode.h>
#include <lz4.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include <climits>

namespace pesuite::data {

namespace {

bool unpack_snappy(std::string_view packed, std::string& out) {
  std::size_t size = 0;
  return snappy::GetUncompressedLength(packed.data(), packed.size(), &size) && size == out.size() &&
         snappy::RawUncompress(packed.data(), packed.size(), out.data());
}

bool unpack_gzip(std::string_view packed, std::string& out) {
  z_stream z{};
  if (inflateInit2(&z, 15 + 32) != Z_OK) return false;  // with the header of gzip or of zlib
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  z.avail_in = static_cast<uInt>(packed.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  int code = inflate(&z, Z_FINISH);
  while (code == Z_STREAM_END && z.avail_in > 0 && z.avail_out > 0)  // members one behind another
    code = inflateReset(&z) == Z_OK ? inflate(&z, Z_FINISH) : Z_DATA_ERROR;
  inflateEnd(&z);
  return code == Z_STREAM_END && z.avail_out == 0;
}

bool unpack_brotli(std::string_view packed, std::string& out) {
  std::size_t size = out.size();
  return BrotliDecoderDecompress(
             packed.size(), reinterpret_cast<const std::uint8_t*>(packed.data()), &size,
             reinterpret_cast<std::uint8_t*>(out.data())) == BROTLI_DECODER_RESULT_SUCCESS &&
         size == out.size();
}

bool unpack_zstd(std::string_view packed, std::string& out) {
  return ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size()) == out.size();
}

bool unpack_lz4(std::string_view packed, std::string& out) {
  return LZ4_decompress_safe(packed.data(), out.data(), static_cast<int>(packed.size()),
                             static_cast<int>(out.size())) == static_cast<int>(out.size());
}

}  // namespace

std::string_view codec_name(std::int64_t codec) {
  constexpr std::string_view names[] = {
      "none", "Snappy", "gzip", "LZO", "Brotli", "LZ4 in Hadoop's frames", "Zstd", "LZ4"};
  return codec >= 0 && codec < 8 ? names[codec] : "an unknown way";
}

bool reads_codec(std::int64_t codec) {
  return codec >= 0 && codec < 8 && codec != 3 && codec != 5;
}

bool unpack(std::int64_t codec, std::string_view packed, std::size_t size, std::string& out) {
  if (codec == 0) {
    out = packed;
    return out.size() == size;
  }
  // No memory for what a few bytes claim; texts do not pack that well.
  if (packed.size() > INT_MAX || size > INT_MAX || size >> 16 > packed.size()) return false;
  out.resize(size);
  switch (codec) {
    case 1: return unpack_snappy(packed, out);
    case 2: return unpack_gzip(packed, out);
    case 4: return unpack_brotli(packed, out);
    case 6: return unpack_zstd(packed, out);
    case 7: return unpack_lz4(packed, out);
    default: return false;
  }
}

}  // namespace pesuite::data
