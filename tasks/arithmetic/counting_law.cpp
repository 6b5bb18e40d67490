#include "counting.h"

#include <map>

namespace counting {

bool possible(const Line& line, const State& state) {
  return line.kind != increment || state[line.variable] < most;
}

void run(const Line& line, State& state) {
  if (line.kind == set) state[line.variable] = 0;
  if (line.kind == increment) ++state[line.variable];
}

namespace {

// Numbers of the variables that are set.
std::vector<int> set_ones(const State& state) {
  std::vector<int> out;
  for (int v = 0; v < most_variables; ++v)
    if (state[v] != unset) out.push_back(v);
  return out;
}

// What may happen in a state whose variables are sorted: variables that hold the same are the same.
struct Move {
  std::size_t to;
  double p;       // all lines that lead there
  double square;  // sum of the squares of each line's probability
};
struct Node {
  State state;
  std::vector<Move> moves;
};

class Graph {
 public:
  Graph(const Weights& weights, int variables) : weights_(weights), variables_(variables) {
    find(nothing);
    for (std::size_t i = 0; i < nodes.size(); ++i) explore(i);
  }
  std::vector<Node> nodes;

 private:
  std::size_t find(State state) {
    // by counting, highest values first: those that are set stand in front
    std::array<int, most + 2> count{};
    for (const int v : state) ++count[v - unset];
    for (int v = most, at = 0; v >= unset; --v)
      for (int i = 0; i < count[v - unset]; ++i) state[at++] = v;
    const auto [at, is_new] = index_.emplace(state, nodes.size());
    if (is_new) nodes.push_back({state, {}});
    return at->second;
  }
  void explore(std::size_t i) {
    const State state = nodes[i].state;
    const auto holders = set_ones(state).size();
    std::vector<std::pair<Line, double>> lines = {{{pass, 0}, double(weights_[pass])}};
    for (int v = 0; v < variables_; ++v) {
      lines.push_back({{set, v}, static_cast<double>(weights_[set]) / variables_});
      if (state[v] != unset && state[v] < most)
        lines.push_back({{increment, v},
                         static_cast<double>(weights_[increment]) / static_cast<double>(holders)});
    }
    double total = 0;
    for (const auto& [line, weight] : lines) total += weight;
    std::map<std::size_t, Move> moves;
    for (const auto& [line, weight] : lines) {
      State next = state;
      run(line, next);
      const std::size_t to = find(next);
      const double p = weight / total;
      Move& m = moves.emplace(to, Move{to, 0, 0}).first->second;
      m.p += p;
      m.square += p * p;
    }
    for (const auto& [to, move] : moves) nodes[i].moves.push_back(move);
  }

  const Weights& weights_;
  int variables_;
  std::map<State, std::size_t> index_;
};

}  // namespace

Line draw_line(pes::Random& random, const Weights& weights, int variables, const State& state) {
  const std::vector<int> holders = set_ones(state);
  for (;;) {
    const int draw = random.between(0, weights[set] + weights[pass] + weights[increment] - 1);
    Line line{draw < weights[set]                   ? set
              : draw < weights[set] + weights[pass] ? pass
                                                    : increment,
              0};
    if (line.kind == set) line.variable = random.between(0, variables - 1);
    if (line.kind == increment) {
      if (holders.empty()) continue;
      line.variable = holders[random.below(static_cast<std::uint32_t>(holders.size()))];
    }
    if (possible(line, state)) return line;
  }
}

Law law_of_programs(const Weights& weights, int variables, int low, int high) {
  const Graph graph(weights, variables);
  std::vector<double> p(graph.nodes.size()), square(p);
  p[0] = square[0] = 1;
  Law law;
  double printable = 0;
  for (int lines = 1; lines <= high; ++lines) {
    std::vector<double> next(p.size()), next_square(p.size());
    for (std::size_t i = 0; i < p.size(); ++i)
      for (const Move& m : graph.nodes[i].moves) {
        next[m.to] += p[i] * m.p;
        next_square[m.to] += square[i] * m.square;
      }
    p = next;
    square = next_square;
    if (lines < low) continue;
    for (std::size_t i = 1; i < p.size(); ++i) {  // node 0: nothing is set
      const std::vector<int> holders = set_ones(graph.nodes[i].state);
      const double share = 1 / static_cast<double>(holders.size());
      printable += p[i];
      law.repeat += square[i] * share;
      for (const int v : holders) law.value[graph.nodes[i].state[v]] += p[i] * share;
    }
  }
  for (double& v : law.value) v /= printable;
  law.repeat /= printable * printable;
  return law;
}

}  // namespace counting
