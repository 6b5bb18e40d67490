// Every value of every seed, for programs.
#include "base/text.h"
#include "report/renderer.h"

namespace pesuite {

Renderer csv_renderer() {
  return {"csv", [](const TableFile& t) { return csv_table(t.csv); }};
}

}  // namespace pesuite
