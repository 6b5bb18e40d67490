#include "report/renderer.h"

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

}  // namespace pesuite
