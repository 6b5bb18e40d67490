#include "cli/guide_trends.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "plugin/card.h"

namespace pesuite::cli {

namespace {

constexpr double far = 4;  // training lengths at which directions are looked at

// A direction of research. Its encodings: those that are named, or whose card has the word.
struct Direction {
  const char *name, *what, *encodings, *here;
};
constexpr Direction directions[] = {
    {"Positions that follow the content",
     "Gates, counts or rotations are computed from the tokens, so that a distance may count words, "
     "sentences or changes of state instead of tokens.",
     "contextual", "`pesuite guide --content`; `suites/findings/recent.toml`"},
    {"One trained model for much longer texts",
     "Frequencies of a trained RoPE are scaled or searched, or its distances are cut, with little "
     "training or none; Ding et al. 2024 report two million tokens after a search.",
     "takes over",
     "`rope => yarn(scale=8)`; `pesuite search longrope`; `suites/extend_my_model.toml`"},
    {"Learned dynamics",
     "How frequencies change with the length follows a differential equation that is learned (Chen "
     "et al. 2023), instead of a formula for each factor.",
     "clex", "`rope -> clex @ 80%`"},
    {"Encodings joined",
     "Rotation and bias in one layer, layers with and without an encoding in turn, integer "
     "wavelengths inside YaRN or LongRoPE, a bias with a network for each head.",
     "",
     "`rope + alibi`, `rope + cope`, `layers[rope, none]`, `yarn(resonance=true)`, "
     "`longrope(resonance=true)`, `fire(mlp=per_head)`: `suites/combinations.toml`"},
    {"Scores that grow with the length",
     "A factor on the scores offsets that a softmax over more keys is flatter.", "ssmax",
     "`rope + ssmax`; `log_n` of rotary encodings; `yarn(attention_factor=...)`"},
    {"Less position",
     "The causal mask alone, no encoding in the layers that see all while the others have RoPE in "
     "a window, slow frequencies left out, or an encoding that is dropped late in training.",
     "none drope p_rope",
     "`layers[rope, none]`, `window` and `window_every` of a model, `rope -> none @ 70%`: "
     "`suites/findings/local_windows.toml`"},
    {"Far positions seen in training",
     "Short sequences are trained at positions drawn from a longer range.", "pose randomized",
     "`rope -> pose(target=512) @ 75%`, `randomized(encoding=rotary, max=512)`"},
};

struct Open {
  const char *name, *what;
};
constexpr Open open_questions[] = {
    {"Richer dynamics",
     "equations that read the input, or that more than the length drives. An "
     "encoding library writes such a solver with the host's ops, and "
     "gradients follow; `clex` is one"},
    {"Encodings that change during training",
     "by a schedule, or by what training shows. Schedules are here (`a -> b @ WHEN`, lengths that "
     "grow); an encoding that decides itself is not"},
    {"Positions of several kinds of data",
     "text, pictures and sound in one sequence, with an axis of positions for each (Wang et al. "
     "2024, arXiv:2409.12191). Not here: a sequence has one axis, along which a task may place "
     "its tokens itself"},
    {"Attention at less than quadratic cost",
     "sparse patterns, states, windows in some layers, with an encoding that fits them. Here all "
     "layers may have one window (`model.window`); sparse patterns and states are not here"},
};

std::string paragraph(const std::string& text, const std::string& indent = "") {
  return join(wrap(text, 120), "\n" + indent) + "\n";
}

int year_of(const pes_card& c) {  // the first in the paper's name; 0 where none stands there
  const std::string paper = c.paper == nullptr ? "" : c.paper;
  for (std::size_t i = 0; i + 4 <= paper.size(); ++i) {
    const std::string four = paper.substr(i, 4);
    if ((four.starts_with("19") || four.starts_with("20")) &&
        std::all_of(four.begin(), four.end(), [](char d) { return d >= '0' && d <= '9'; }))
      return std::stoi(four);
  }
  return 0;
}

bool is_of(const Direction& d, const pes_card& c) {
  const std::string text = d.encodings;
  if (text == "takes over") return !extends_of(c).empty();
  if (text == "contextual") {
    const auto words = taxonomy_of(c);
    return std::find(words.begin(), words.end(), text) != words.end();
  }
  const auto names = split(text, ' ');
  return std::find(names.begin(), names.end(), c.name) != names.end();
}

std::string measured_of(const std::vector<std::string>& names, const Measured& measured) {
  std::vector<std::string> held, lost;
  for (const std::string& name : names) {
    const auto rows = measured.of(name);
    const auto any = [&](auto test) { return std::any_of(rows.begin(), rows.end(), test); };
    if (any([](const LengthMeasured& m) { return m.telling && m.holds >= far; }))
      held.push_back(name);
    else if (any([](const LengthMeasured& m) { return m.beaten && fails_within(m, far); }))
      lost.push_back(name);
  }
  std::string out;
  if (!held.empty())
    out += fmt::format(" hold to {}x or further on a task where others fail: {}", far,
                       join(held, ", "));
  if (!lost.empty())
    out += fmt::format("{} fail before where others hold: {}", held.empty() ? "" : ";",
                       join(lost, ", "));
  return out.empty() ? "" : "\n" + paragraph("*Measured here*:" + out + ".");
}

}  // namespace

std::string trends_text(const Catalog& catalog, const Measured& measured) {
  std::map<int, std::vector<std::string>, std::greater<>> years;
  for (const std::string& name : catalog.encoding_names())
    if (const int year = year_of(*catalog.encoding(name).descriptor->card); year >= 2023)
      years[year].push_back(name);
  std::string out = "## Where research goes\n\nEncodings here by the year of their paper:\n\n";
  for (const auto& [year, names] : years) out += fmt::format("* {}: {}\n", year, join(names, ", "));
  out += "\nDirections, and how a suite tries them:\n";
  for (const Direction& d : directions) {
    std::vector<std::string> names;
    for (const std::string& name : catalog.encoding_names())
      if (is_of(d, *catalog.encoding(name).descriptor->card)) names.push_back(name);
    out += "\n" + paragraph(fmt::format("**{}.** {}", d.name, d.what));
    if (!names.empty()) out += "\n" + paragraph("*Encodings*: " + join(names, ", ") + ".");
    out += measured_of(names, measured);
    out += "\n" + paragraph(fmt::format("*Here*: {}.", d.here));
  }
  out += "\nOpen, and what of it can be tried here:\n\n";
  for (const Open& o : open_questions)
    out += paragraph(fmt::format("* **{}**: {}.", o.name, o.what), "  ");
  return out;
}

}  // namespace pesuite::cli
