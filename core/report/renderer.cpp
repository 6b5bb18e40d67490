#include "report/renderer.h"

#include "base/file.h"

namespace pesuite {

#define PESUITE_RENDERER(name) Renderer name##_renderer();
#include "renderers.inc"  // made by the build: PESUITE_RENDERER(NAME) for each file
#undef PESUITE_RENDERER

const std::vector<Renderer>& renderers() {
  static const std::vector<Renderer> all = {
#define PESUITE_RENDERER(name) name##_renderer(),
#include "renderers.inc"
#undef PESUITE_RENDERER
  };
  return all;
}

Pictures pictures_in(const std::filesystem::path& folder,
                     const std::vector<const Figure*>& figures) {
  Pictures out;
  for (const Figure* f : figures)
    if (const auto svg = folder / (f->name + ".svg"); std::filesystem::exists(svg))
      out[f->name] = read_file(svg);
  return out;
}

}  // namespace pesuite
