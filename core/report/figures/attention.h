// Attention as a picture: what write_maps() stored, a panel a head.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/safetensors.h"
#include "report/figure.h"

namespace pesuite {

namespace fs = std::filesystem;

struct AboutMaps {  // what a file of write_maps() says of itself
  std::int64_t length = 0;
  std::vector<int> layers, heads;
  std::string example, tokens;  // its number, and what it reads
};
// Error (data) when the file holds no maps.
AboutMaps about_maps(const SafetensorsReader&, const fs::path&);

// A figure called `name`. Long sequences are drawn coarser, each point the largest of those it
// stands for; of many heads the first ones are drawn, and the caption says so. Error (data) when
// the file holds no maps.
Figure attention_figure(const fs::path& maps, const std::string& name, const std::string& title);

}  // namespace pesuite
