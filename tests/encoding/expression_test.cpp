// The algebra of encodings: grammar, canonical text, and what several encodings do together.
#include "encoding/expression.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"
#include "encoding/composition.h"
#include "tests/catalog.h"
#include "tests/support.h"

namespace pesuite::testing {
namespace {

std::string reason(const std::string& text) {
  try {
    parse_encoding(text);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Exit::usage);
    return e.what();
  }
  return "nothing is wrong with " + text;
}
std::string canonical(const std::string& text) {
  return to_text(parse_encoding(text));
}

// ------------------------------------------------------------------------------------ grammar

TEST(Algebra, CanonicalTextIsAFixedPoint) {
  for (const auto& [written, wanted] : std::vector<std::pair<std::string, std::string>>{
           {"rope", "rope"},
           {" rope( ) ", "rope"},
           {"rope(layout = half,base=500)", "rope(base=500, layout=half)"},
           {"rope+alibi", "rope + alibi"},
           {"((rope))+(alibi+t5)", "rope + alibi + t5"},
           {"rope=>yarn(scale=8)", "rope => yarn(scale=8)"},
           {"rope->none@70%", "rope -> none @ 70%"},
           {"rope -> none @ 700 steps", "rope -> none @ 700"},
           {"rope -> none @ 1.4B tokens", "rope -> none @ 1400000000 tokens"},
           {"rope -> none @ 1e15 FLOPs", "rope -> none @ 1e+15 FLOPs"},
           {"rope -> none @ 7%", "rope -> none @ 7%"},
           {"rope -> none @ 87.5%->alibi@90%", "rope -> none @ 87.5% -> alibi @ 90%"},
           {"(rope -> none @ 50%) -> alibi @ 70%", "rope -> none @ 50% -> alibi @ 70%"},
           {"(rope -> none @ 50%) => (a + b)", "rope -> none @ 50% => a + b"},
           {"layers[rope,rope , none]", "layers[rope, rope, none]"},
           {"layers[rope + alibi, (none)] + t5", "layers[rope + alibi, none] + t5"},
           {"layers", "layers"},
           {"a -> b @ 10, optimizer keep", "a -> b @ 10"},
           {"a -> b @ 10,qk_norm,length 1k , warmup 3%, lr 1e-4, optimizer reset, schedule wsd",
            "a -> b @ 10, optimizer reset, lr 0.0001, warmup 3%, schedule wsd, length 1000, "
            "qk_norm before"},
           {"a -> b @ 10, qk_norm q", "a -> b @ 10, qk_norm q"},
           {"a -> b @ 10, qk_norm off -> c @ 20, lr 1e+2",
            "a -> b @ 10, qk_norm off -> c @ 20, lr 100"},
           {"a(p='x, (y) ->') + b(q=\"it's\", r=[1, 2])", "a(p='x, (y) ->') + b(q=it's, r=[1, 2])"},
           {"a(p='')", "a(p='')"},
           {"a(p='[1]')", "a(p=[1])"}}) {
    EXPECT_EQ(canonical(written), wanted);
    EXPECT_EQ(canonical(wanted), wanted) << "read again";
  }
}

TEST(Algebra, BindsPlusBeforeArrowBeforeSwap) {
  const EncodingExpression e =
      parse_encoding("a + b -> c + d @ 30%, length 64 -> layers[e, f] @ 900 => g + h");
  EXPECT_EQ(to_text(e.first), "a + b");
  ASSERT_EQ(e.switches.size(), 2u);
  EXPECT_EQ(to_text(e.switches[0].to), "c + d");
  EXPECT_EQ(e.switches[0].at.text(), "30%");
  EXPECT_EQ(e.switches[0].length, 64);
  EXPECT_FALSE(e.switches[0].reset_optimizer);
  EXPECT_EQ(to_text(e.switches[1].to), "layers[e, f]");
  EXPECT_EQ(e.switches[1].to.factors.at(0).pattern.size(), 2u);
  EXPECT_EQ(to_text(e.evaluation), "g + h");
  EXPECT_EQ(e.evaluation.factors.at(1).column, 62u);
}

TEST(Algebra, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(reason(""),
            "encoding '': expected the name of an encoding, 'layers[' or '(' at column 1");
  EXPECT_EQ(reason("rope +"),
            "encoding 'rope +': expected the name of an encoding, 'layers[' or '(' at column 7");
  EXPECT_EQ(reason("rope - alibi"), "encoding 'rope - alibi': unexpected '-' at column 6");
  EXPECT_EQ(reason("rope x"), "encoding 'rope x': unexpected 'x' at column 6");
  EXPECT_EQ(reason("(rope"), "encoding '(rope': expected ')' at column 6");
  EXPECT_EQ(reason("rope -> none"),
            "encoding 'rope -> none': expected '@' and when to switch, such as '@ 70%' or '@ 700 "
            "steps', at column 13");
  EXPECT_EQ(reason("rope -> none @ 70 percent"),
            "encoding 'rope -> none @ 70 percent': '70 percent' is no stretch of training such as "
            "70%, 700 steps or 1.4B tokens, at column 16");
  EXPECT_EQ(reason("rope -> none @ inf").find("encoding 'rope -> none @ inf': 'inf' is no stretch"),
            0u);
  EXPECT_EQ(reason("rope -> none @ 70%, lenght 64"),
            "encoding 'rope -> none @ 70%, lenght 64': unknown setting 'lenght' at column 21, did "
            "you mean 'length'?");
  EXPECT_EQ(reason("a -> b @ 1, foo 2"),
            "encoding 'a -> b @ 1, foo 2': unknown setting 'foo' at column 13; known are "
            "optimizer, lr, warmup, schedule, length, qk_norm");
  EXPECT_EQ(reason("a -> b @ 1, optimizer rest"),
            "encoding 'a -> b @ 1, optimizer rest': 'rest' is none of keep, reset at column 23, "
            "did you mean 'reset'?");
  EXPECT_EQ(reason("a -> b @ 1, lr 0"),
            "encoding 'a -> b @ 1, lr 0': '0' is no learning rate for 'lr' at column 16");
  EXPECT_EQ(reason("a -> b @ 1, lr 1, lr 2"),
            "encoding 'a -> b @ 1, lr 1, lr 2': setting 'lr' given twice at column 19");
  EXPECT_EQ(
      reason("a -> b @ 1, length 2.5"),
      "encoding 'a -> b @ 1, length 2.5': a length is a whole number of tokens, at column 13");
  EXPECT_EQ(reason("a => b => c"), "encoding 'a => b => c': a second '=>' at column 8");
  EXPECT_EQ(reason("(a => b) => c"), "encoding '(a => b) => c': a second '=>' at column 10");
  EXPECT_EQ(reason("a => b -> c @ 1"),
            "encoding 'a => b -> c @ 1': training cannot go on behind '=>': '->' at column 8");
  EXPECT_EQ(reason("(a => b) + c"),
            "encoding '(a => b) + c': what stands in a sum cannot itself be swapped at column 7; "
            "'=>' stands last, as in (a + b) => (a + c)");
  EXPECT_EQ(reason("a + (b -> c @ 1)"),
            "encoding 'a + (b -> c @ 1)': what stands in a sum cannot itself switch during "
            "training: '->' at column 8; switch the whole, as in (a + b) -> (a + c) @ 70%");
  EXPECT_EQ(reason("layers[a -> b @ 1, c]"),
            "encoding 'layers[a -> b @ 1, c]': a layer cannot switch alone: '->' at column 10");
  EXPECT_EQ(reason("layers[a, layers[b]]"),
            "encoding 'layers[a, layers[b]]': 'layers[...]' inside another at column 11");
  EXPECT_EQ(reason("layers[]"),
            "encoding 'layers[]': expected the name of an encoding, 'layers[' or '(' at column 8");
  EXPECT_EQ(reason(std::string(100, '(') + "a").substr(101 + 13),
            "parentheses deeper than 64 at column 66");
}

// Whatever it is given, the parser answers with an expression whose text reads back as the same,
// or with a sentence and a column inside the text.
void survives(const std::string& text) {
  std::string once;
  try {
    once = canonical(text);
  } catch (const Error& e) {
    const std::string what = e.what();
    const std::size_t at = what.rfind(" at column ");
    ASSERT_NE(at, std::string::npos) << what;
    const int column = std::stoi(what.substr(at + 11));
    EXPECT_GE(column, 1) << what;
    EXPECT_LE(column, static_cast<int>(text.size()) + 1) << what;
    return;
  }
  try {
    EXPECT_EQ(canonical(once), once) << text;
  } catch (const Error& e) {
    ADD_FAILURE() << "'" << text << "' gave '" << once << "': " << e.what();
  }
}

TEST(Algebra, SurvivesAnyText) {
  const std::vector<std::string> pieces = {
      "rope", "alibi",  "layers[", "]",    "(",       ")",   "+",      "->",         "=>",
      "@",    "70%",    "700",     ",",    " steps",  "=",   "base=3", "optimizer",  "reset",
      " ",    "length", "qk_norm", "1e9",  " tokens", "lr",  "warmup", "schedule",   "wsd",
      "'a,'", "\"b'\"", "[1, 2]",  "\xff", "1e-4",    "-",   "e+",     "%",          "layers",
      "\t",   "_",      "x=",      "'",    "inf",     "nan", "off",    "a -> b @ 1", "a(b=c)"};
  pes::Random r(20, pes::purpose("fuzz"), 0);
  const auto below = [&](std::size_t n) {
    return std::min(n - 1, static_cast<std::size_t>(r.uniform() * static_cast<double>(n)));
  };
  int parsed = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string text;
    for (std::size_t n = below(12); n-- > 0;) text += pieces[below(pieces.size())];
    survives(text);
    try {
      parse_encoding(text);
      ++parsed;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(parsed, 1000) << "the fuzz must reach past the first error";
  // sound texts with a few characters changed, removed or doubled
  const std::string sound =
      "layers[rope(base=1e4) + alibi, none] -> t5(buckets=8) @ 70%, optimizer reset, warmup 3%, "
      "length 128 -> none @ 1.4B tokens, qk_norm => (rope(layout='half') + alibi)";
  EXPECT_EQ(canonical(canonical(sound)), canonical(sound));
  for (int i = 0; i < 100'000; ++i) {
    std::string text = sound;
    for (std::size_t n = 1 + below(3); n-- > 0;) {
      const std::size_t at = below(text.size());
      switch (below(4)) {
        case 0: text[at] = static_cast<char>(1 + below(255)); break;  // no end of a C text
        case 1: text.erase(at, 1 + below(4)); break;
        case 2: text.insert(at, pieces[below(pieces.size())]); break;
        case 3: text = text.substr(0, at); break;
      }
      if (text.empty()) break;
    }
    survives(text);
  }
}

// -------------------------------------------------------------------------------- composition

// What an expression makes of one layer's q, k and slots, on the reference backend.
struct Acted {
  Values q, k, distance;
  std::vector<std::string> parameters;
};
Acted act(const std::string& text, int layer) {
  const ModelShape m{2, 2, 2, 8, 16, 6, 12};
  constexpr std::int64_t T = 6;
  Composition c(built_catalog(), parse_encoding(text).first, m);
  const auto backend = open_backend("reference", {});
  Tape tape(*backend);
  StepInfo info;
  info.batch = 1, info.length = T;
  std::vector<Tensor> parameters;
  Acted out;
  for (std::size_t i = 0; i < c.parameters().size(); ++i) {
    const Encoding::ParameterSpec& p = c.parameters()[i];
    std::vector<float> values(static_cast<std::size_t>(p.shape.count()));
    c.init(i, 7, values);
    const std::vector<double> data(values.begin(), values.end());
    parameters.push_back(tape.constant(p.shape, data.data()));
    out.parameters.push_back(p.name);
  }
  const auto given = [&](const Shape& shape, std::uint64_t seed) {
    return tape.constant(shape, random_values(shape, seed).data.data());
  };
  c.begin(tape, info, parameters);
  Attention a;
  a.q = given({1, 2, T, 8}, 1), a.k = given({1, 2, T, 8}, 2), a.v = given({1, 2, T, 8}, 3);
  c.attend(tape, layer, given({1, T, 16}, 4), a);
  const auto download = [&](Tensor t) {
    Values v{tape.shape(t), std::vector<double>(static_cast<std::size_t>(tape.shape(t).count()))};
    if (t) backend->download(v.data.data(), tape.view(t));
    return v;
  };
  out.q = download(a.q), out.k = download(a.k);
  if (a.distance) out.distance = download(a.distance);
  return out;
}

TEST(Composition, EachActsAsItDoesAlone) {
  const Acted rope = act("rope", 0), alibi = act("alibi", 0), t5 = act("t5", 0);
  const Acted both = act("rope + alibi", 0);
  EXPECT_EQ(both.q.data, rope.q.data);
  EXPECT_EQ(both.k.data, rope.k.data);
  EXPECT_EQ(both.distance.data, alibi.distance.data);
  const Acted biases = act("alibi + t5", 1);
  EXPECT_EQ(biases.q.data, act("none", 0).q.data);
  ASSERT_EQ(biases.distance.data.size(), alibi.distance.data.size());
  for (std::size_t i = 0; i < biases.distance.data.size(); ++i)
    EXPECT_DOUBLE_EQ(biases.distance.data[i], alibi.distance.data[i] + t5.distance.data[i]);
}

TEST(Composition, PatternsGiveEachLayerItsOwn) {
  const std::string text = "layers[rope, alibi]";
  EXPECT_EQ(act(text, 0).q.data, act("rope", 0).q.data);
  EXPECT_TRUE(act(text, 0).distance.data.empty());
  EXPECT_EQ(act(text, 1).q.data, act("none", 0).q.data);
  EXPECT_EQ(act(text, 1).distance.data, act("alibi", 0).distance.data);
  EXPECT_EQ(act("t5 + layers[rope, none]", 1).q.data, act("none", 0).q.data);
}

TEST(Composition, ParametersKeepTheirNamesWhereverTheyStand) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(act("t5", 0).parameters, Names{"t5.table"});
  EXPECT_EQ(act("rope + t5", 0).parameters, Names{"t5.table"});
  EXPECT_EQ(act("layers[t5, t5]", 0).parameters, Names{"t5.table"}) << "one table for both";
  EXPECT_EQ(act("layers[t5, t5(buckets=8)]", 0).parameters, (Names{"t5.table", "t5_2.table"}));
}

}  // namespace
}  // namespace pesuite::testing
