// Pictures inside drawings, made smaller without changing a point.
#pragma once

#include <string>
#include <string_view>

namespace pesuite {

// A PNG of eight-bit RGBA or RGB with at most 256 colours as one with a palette, compressed as far
// as zlib can. What is something else, or would not be smaller, stays as it is.
std::string with_palette(const std::string& png);
// All PNGs that an SVG carries as base64.
std::string with_smaller_images(std::string_view svg);

}  // namespace pesuite
