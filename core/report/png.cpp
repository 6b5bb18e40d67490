#include "report/png.h"

#include <openssl/evp.h>
#include <zlib.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <vector>

namespace pesuite {

namespace {

using Bytes = std::basic_string<unsigned char>;

constexpr std::string_view signature = "\x89PNG\r\n\x1a\n";
constexpr std::uint32_t most_pixels = 1 << 24;

std::uint32_t number_at(std::string_view s, std::size_t at) {
  std::uint32_t n = 0;
  for (std::size_t i = 0; i < 4; ++i) n = n << 8 | static_cast<unsigned char>(s[at + i]);
  return n;
}
void put_number(std::string& out, std::uint32_t n) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(n >> shift & 255);
}
void put_chunk(std::string& out, std::string_view type, std::string_view data) {
  put_number(out, static_cast<std::uint32_t>(data.size()));
  const std::string body = std::string(type) + std::string(data);
  out += body;
  put_number(out, static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(body.data()),
                                                   static_cast<uInt>(body.size()))));
}

struct Image {
  std::uint32_t width = 0, height = 0;
  std::size_t channels = 0;  // 3 or 4, a byte each
  Bytes points;              // [height, width, channels]
};

// Undoes the filter of a line (PNG specification, section 9); `above` is the line before it.
bool unfilter(int filter, Bytes& line, const Bytes& above, std::size_t channels) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    const int a = i < channels ? 0 : line[i - channels], b = above[i],
              c = i < channels ? 0 : above[i - channels];
    int add = 0;
    switch (filter) {
      case 0: break;
      case 1: add = a; break;
      case 2: add = b; break;
      case 3: add = (a + b) / 2; break;
      case 4: {
        const int p = a + b - c, pa = std::abs(p - a), pb = std::abs(p - b), pc = std::abs(p - c);
        add = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
        break;
      }
      default: return false;
    }
    line[i] = static_cast<unsigned char>(line[i] + add);
  }
  return true;
}

std::optional<Image> read(std::string_view png) {
  Image image;
  std::string packed;
  if (!png.starts_with(signature)) return {};
  for (std::size_t at = signature.size(); at + 12 <= png.size();) {
    const std::size_t size = number_at(png, at);
    if (size > png.size() - at - 12) return {};
    const std::string_view type = png.substr(at + 4, 4), data = png.substr(at + 8, size);
    if (type == "IHDR" && size == 13) {
      image.width = number_at(data, 0), image.height = number_at(data, 4);
      image.channels = data[9] == 6 ? 4 : data[9] == 2 ? 3 : 0;
      if (data[8] != 8 || data[12] != 0) return {};
    }
    if (type == "IDAT") packed += data;
    at += 12 + size;
  }
  if (image.channels == 0 || image.width == 0 || image.height == 0 ||
      image.height > most_pixels / image.width)
    return {};
  const std::size_t line = image.width * image.channels;
  Bytes raw(image.height * (line + 1), 0);
  auto size = static_cast<uLongf>(raw.size());
  if (uncompress(raw.data(), &size, reinterpret_cast<const Bytef*>(packed.data()),
                 static_cast<uLong>(packed.size())) != Z_OK ||
      size != raw.size())
    return {};
  Bytes above(line, 0);
  for (std::size_t y = 0; y < image.height; ++y) {
    Bytes row = raw.substr(y * (line + 1) + 1, line);
    if (!unfilter(raw[y * (line + 1)], row, above, image.channels)) return {};
    image.points += row;
    above = std::move(row);
  }
  return image;
}

}  // namespace

std::string with_palette(const std::string& png) {
  const std::optional<Image> image = read(png);
  if (!image) return png;
  std::map<std::array<unsigned char, 4>, unsigned char> colours;
  std::string lines, palette, opacity;
  for (std::size_t y = 0, at = 0; y < image->height; ++y) {
    lines += '\0';  // no filter: a colour's number says nothing of its neighbour's
    for (std::size_t x = 0; x < image->width; ++x, at += image->channels) {
      std::array<unsigned char, 4> c = {image->points[at], image->points[at + 1],
                                        image->points[at + 2], 255};
      if (image->channels == 4) c[3] = image->points[at + 3];
      if (!colours.contains(c)) {
        if (colours.size() == 256) return png;
        colours.emplace(c, static_cast<unsigned char>(colours.size()));
        palette.append({static_cast<char>(c[0]), static_cast<char>(c[1]), static_cast<char>(c[2])});
        opacity += static_cast<char>(c[3]);
      }
      lines += static_cast<char>(colours.at(c));
    }
  }
  std::string packed(compressBound(static_cast<uLong>(lines.size())), '\0');
  auto size = static_cast<uLongf>(packed.size());
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                reinterpret_cast<const Bytef*>(lines.data()), static_cast<uLong>(lines.size()),
                9) != Z_OK)
    return png;
  packed.resize(size);
  std::string header, out(signature);
  put_number(header, image->width), put_number(header, image->height);
  header += std::string("\x08\x03\0\0\0", 5);  // eight bits, a palette
  put_chunk(out, "IHDR", header);
  put_chunk(out, "PLTE", palette);
  put_chunk(out, "tRNS", opacity);
  put_chunk(out, "IDAT", packed);
  put_chunk(out, "IEND", "");
  return out.size() < png.size() ? out : png;
}

std::string with_smaller_images(std::string_view svg) {
  constexpr std::string_view from = "data:image/png;base64,";
  std::string out;
  for (;;) {
    const std::size_t begin = svg.find(from);
    if (begin == std::string_view::npos) return out += svg;
    out += svg.substr(0, begin + from.size());
    svg.remove_prefix(begin + from.size());
    const std::size_t end = std::min(svg.find_first_of("'\""), svg.size());
    std::string text;
    for (const char c : svg.substr(0, end))
      if (c != '\n' && c != ' ') text += c;
    std::string png(text.size() / 4 * 3, '\0');
    const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(png.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
    if (size >= 0 && text.size() % 4 == 0) {
      png.resize(static_cast<std::size_t>(size));
      while (text.ends_with('=')) text.pop_back(), png.pop_back();
      const std::string small = with_palette(png);
      std::string coded((small.size() + 2) / 3 * 4 + 1, '\0');
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(coded.data()),
                      reinterpret_cast<const unsigned char*>(small.data()),
                      static_cast<int>(small.size()));
      coded.pop_back();
      out += coded;
    } else {
      out += svg.substr(0, end);
    }
    svg.remove_prefix(end);
  }
}

}  // namespace pesuite
