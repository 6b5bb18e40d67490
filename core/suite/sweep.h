// Variables of a suite: what [sweep] says of them, and elements that name them in braces.
#pragma once

namespace pesuite {

class Config;
class Problems;

// Puts for each encoding, task, model, evaluation and hypothesis that has "{x}" somewhere one for
// each value of x, and takes grid, zip, list and random out of [sweep]:
//
//   grid = {x = [1, 2], y = [3, 4]}          every combination: four
//   zip = {x = [1, 2], y = [3, 4]}           the first of each, then the second: two
//   list = [{x = 1, y = 4}, {x = 2, y = 3}]  those
//   random = {count = 5, seed = 0, of = {x = [1, 2], y = {low = 1e-4, high = 1e-2, log = true}}}
//
// A text that is "{x}" and nothing else becomes the value. What would have the name of another
// variant of the same element gets the values behind its name: "yarn_2".
void expand_sweep(Config&, Problems&);

}  // namespace pesuite
