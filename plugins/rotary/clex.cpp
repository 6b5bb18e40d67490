// CLEX, Chen et al. 2023: how the frequencies of RoPE move as the range grows is learned, as a
// differential equation. Training draws a factor t and positions of a range t times as long;
// evaluation takes t from the length.
#include "clex_solver.h"

namespace {

struct Clex : rotary::Rotary<Clex> {
  static constexpr pes_option options[] = {
      rotary::option::base,
      rotary::option::layout,
      rotary::option::features,
      rotary::option::original,
      pes::integer("max_factor", "16", 1, 1024, "largest t, in training and in evaluation"),
      pes::integer("param_factor", "1", 1, 64, "hidden width of the network over R"),
      pes::choice("act", "tanh", "tanh|silu", "the network's activation"),
      pes::real("time_dt", "0.01", 1e-4, 1e3, "step of the solver in t"),
      pes::flag("log_scale", "false", "queries times ln T/ln L in a sequence of T tokens"),
      pes::real("time", "0", 0, 1024, "t itself; 0: drawn in training, else ceil(T/L)"),
      pes::reals("sample", "[]", 0, 1e12,
                 "T-2 numbers of 0 .. T t - 3 that training takes instead of drawing them"),
      rotary::option::log_n};
  static constexpr pes_card card = pes::card<Clex>(
      {.name = "clex",
       .summary = "RoPE whose frequencies follow a learned differential equation in the length",
       .taxonomy = "relative, learned, multiplicative",
       .used_in = "CLEX-LLaMA, CLEX-Mixtral",
       .paper = "Chen et al. 2023, arXiv:2310.16450",
       .bibtex =
           "@inproceedings{chen2024clex, title={CLEX: Continuous Length Extrapolation for "
           "Large Language Models}, author={Chen, Guanzheng and Li, Xin and Meng, Zaiqiao and "
           "Liang, Shangsong and Bing, Lidong}, booktitle={ICLR}, year={2024}}",
       .claims = PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "moderate",
       .rating = "excellent (Chen et al. 2023, after tuning)",
       .extension = "2-8x (Chen et al. 2023, after tuning)",
       .extends = "rope",
       .use_if = "the scaling of frequencies should be learned, for all lengths at once|extra "
                 "training cost is affordable|contexts differ much in length",
       .tune = "base=0|base=1000"});

  double base, original, max_factor, time;
  bool silu, log_scale;
  std::vector<double> given;
  pes::Param up, down;
  rotary::ClexSolver solver;
  double query_scale = 1;

  Clex(const pes_model& m, const pes::Values& v)
      : Rotary(m, v),
        base(pes::base_of(m, v)),
        original(rotary::trained(m, v)),
        max_factor(v.real("max_factor")),
        time(v.real("time")),
        silu(v.is("act", "silu")),
        log_scale(v.flag("log_scale")),
        given(v.reals("sample")),
        solver(base, R, v.real("time_dt")) {
    if (time > 0 && time < 1)
      throw pes::Refusal("option 'time' wants 0, or 1 and more: sequences do not shrink");
    const double steps = (std::max(max_factor, time) - 1) / v.real("time_dt");
    if (steps > 4096)
      throw pes::Refusal("would take " + std::to_string(std::llround(steps)) +
                         " steps from 1 to its largest t, 4096 at most: raise time_dt or lower "
                         "max_factor");
    if (R < 4) throw pes::Refusal("needs at least 4 features that turn, not " + std::to_string(R));
    const std::int64_t hidden = v.integer("param_factor") * R;
    const double bound = 1 / std::sqrt(static_cast<double>(hidden));
    up = param("up", {R / 2, hidden}, pes::uniform(-bound, bound));
    down = param("down", {hidden, R / 2}, pes::constant(0));  // NTK-aware scaling at first
  }
  // t of a pass.
  double growth(const pes::Step& s, pes::Random& random) const {
    if (time > 0) return time;
    if (s.phase == PES_TRAIN) return 1 + random.below(static_cast<std::uint32_t>(max_factor));
    return growth(s.offset + s.length);
  }
  double growth(int length) const {  // in evaluation
    return time > 0 ? time : std::min(max_factor, std::ceil(length / original));
  }
  bool stale(int from, int to) const {
    return growth(from) != growth(to) || (log_scale && from != to) || scaling.stale(from, to);
  }
  // Positions of a pass. In training the first and the last of T t and T-2 between them, in order,
  // shrunk where T itself exceeds L.
  std::vector<double> positions(const pes::Step& s, pes::Random& random, double t) const {
    std::vector<double> out;
    if (s.phase != PES_TRAIN) {
      for (std::int64_t n = 0; n < s.length; ++n) out.push_back(static_cast<double>(s.offset + n));
      return out;
    }
    const std::int64_t T = s.length;
    const auto range = static_cast<std::int64_t>(static_cast<double>(T) * std::max(1.0, t));
    const double shrink = std::max(1.0, std::floor(static_cast<double>(T) / original));
    std::vector<double> drawn = given;
    if (given.empty()) rotary::draw_ordered(random, T - 2, range - 2, drawn);
    out.push_back(0);
    for (const double x : drawn) out.push_back((x + 1) / shrink);
    if (T > 1) out.push_back(std::floor(static_cast<double>(range) / shrink) - 1);
    if (static_cast<std::int64_t>(out.size()) != T)
      throw pes::Refusal("sample has " + std::to_string(given.size()) + " numbers, a sequence of " +
                         std::to_string(T) + " tokens takes 2 less than its length");
    return out;
  }
  void begin(const pes::Step& s) {
    pes::Random random(s.seed, pes::purpose("clex"), 0);
    const double t = growth(s, random), length = s.offset + s.length;
    const std::vector<double> at = positions(s, random, t);
    scaling.begin(s);
    query_scale = log_scale ? std::log(length) / std::log(std::max(2.0, original)) : 1;
    const bool training = s.phase == PES_TRAIN;
    pes::Tensor delta;
    if (t > 1)
      delta = solver.solve(s, t, training ? t : std::max(max_factor, t), s[up], s[down],
                           [&](pes::Tensor x) { return silu ? x * sigmoid(x) : tanh(x); });
    const std::vector<double> fixed = t > 1 ? solver.frequencies() : rotary::powers(base, R);
    phases.set({fixed});
    training ? phases.upload(s, at, cos, sin) : phases.upload(s, cos, sin);
    if (t <= 1) return;
    // The rest of the angle, n theta (e^delta - 1): exact near 0, where delta starts.
    const pes::Tensor u = pes::tanh(delta * 0.5), change = 2.0 * u / (1.0 - u),
                      rest = s.upload({s.length, 1}, at.data()) *
                             (s.upload({1, R / 2}, fixed.data()) * change);
    const pes::Tensor c = pes::cos(rest), d = pes::sin(rest), old = cos;
    cos = cos * c - sin * d;
    sin = sin * c + old * d;
  }
  void attend(const pes::Step& s, pes::Attention& a) const {
    Rotary::attend(s, a);
    a.scale *= query_scale;
  }
};

}  // namespace

extern const pes_encoding clex = pes::encoding<Clex>;
