// Manifests of plugin libraries. One without a digest gets its own: it is what an editor, or a
// library of somebody else, could have written.
#include "plugin/manifest.h"

#include "plugin/card.h"
#include "plugin/guide.h"
#include "plugin/library.h"
#include "plugin/options.h"
#include "tests/fuzz/fuzz.h"

namespace pesuite {

FUZZ_TARGET(manifest) {
  std::string text(input);
  if (!text.starts_with("digest")) text = fmt::format("digest = \"{}\"\n{}", sha256(text), text);
  const Manifest manifest = parse_manifest(text, "x.plugin.toml");
  const std::string written = to_toml(manifest, "x.plugin.so");
  const Manifest again = parse_manifest(written, "x.plugin.toml");
  PES_CHECK(to_toml(again, "x.plugin.so") == written);
  difference(manifest, again);
  Catalog catalog;
  catalog.offers.emplace_back("x.plugin.so", manifest, true);
  for (const std::string& name : catalog.encoding_names())
    card_markdown(catalog.encoding_card(name));
  for (const std::string& name : catalog.task_names()) option_rows(catalog.task_card(name));
}

}  // namespace pesuite
