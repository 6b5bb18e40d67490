// What the app's form offers, and the suite that it stands for. The app can do nothing that the
// command line cannot: what it runs is a suite's text, which anybody can copy.
#pragma once

#include <string>

#include "base/json.h"
#include "plugin/library.h"

namespace pesuite::app {

// Tasks and encodings with their options, sizes of models, defaults: all from cards of the plugins
// that were found, and what documentation says of the tasks.
Json choices(const Catalog&);

// The suite of a form: {name, task, options {NAME: VALUE}, encodings [EXPRESSION], train_len,
// lengths [TEXT], steps, batch, width, layers, heads, dropout, lr, seeds, examples, maps}. What is
// missing has its default, but for the encodings. Error (usage) for what is no form; what the numbers and names are worth
// is for `pesuite validate` to say.
std::string suite_text(const Json& form);

}  // namespace pesuite::app
