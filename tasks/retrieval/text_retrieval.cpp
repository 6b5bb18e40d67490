// A passkey and a needle as text, in the tokens of a folder of shards: what a language model that
// was trained on them is asked (Mohtashami & Jaggi 2023, section 4.2; Kamradt 2023). The folder's
// phrases.txt holds the sentences as its tokenizer writes them.
//
//   filler, SAYS answer ENDS, filler, ASKED answer
#include <fstream>
#include <map>
#include <sstream>

#include "corpus/text_source.h"
#include "corpus/token_folder.h"
#include "filler.h"

namespace {

using namespace retrieval;
using Ids = std::vector<std::int32_t>;

// Of "NAME id id ..." lines behind a first one that says what the file is.
std::map<std::string, Ids> read_phrases(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line) || line != "pesuite phrases 1")
    throw pes::Refusal("'" + file.string() +
                       "' is no list of phrases; make the folder with 'pesuite data tokenize'");
  std::map<std::string, Ids> out;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    for (std::int32_t id = 0; words >> id;) out[name].push_back(id);
  }
  return out;
}

// What a bag of tokens gives away, since what is said is among the few candidates that occur.
constexpr pes_shortcut digits_occur = {
    sizeof(pes_shortcut), "bag", 0.28,
    "the digits of the number are nearly the only ones in the text, so one of them is the next"};
constexpr pes_shortcut word_occurs = {
    sizeof(pes_shortcut), "bag", 1,
    "among five sentences the word is the only candidate that occurs in the text"};
struct TextRetrieval : pes::Task {
  tokens::Folder folder;
  std::map<std::string, Ids> phrases;
  Ids loop, says, ends, asked;
  bool from_text;
  int answers;  // tokens of the answer

  TextRetrieval(const pes::Values& v, const std::string& kind, const std::string& choices, int n)
      : from_text(std::string_view(v.text("filler")) == "text"), answers(n) {
    const std::filesystem::path path = text::at_home(v.text("path"));
    if (path.empty()) throw pes::Refusal("needs the folder of the model's tokens: path='FOLDER'");
    folder = tokens::open(path, {});
    phrases = read_phrases(path / "phrases.txt");
    loop = phrase("filler"), says = phrase(kind + "_says"), ends = phrase(kind + "_ends");
    asked = phrase(kind + "_asked"), candidate_tokens = phrase(choices);
    inputs = outputs = folder.vocabulary;
    head = PES_LM;
    token_bytes = folder.token_bytes;
    digest = folder.digest;
    axes = {&depth_axis};
    if (from_text && stream().size() < 4096)
      throw pes::Refusal(
          "there is no text to hide it in; 'pesuite data tokenize --filler-share .05' "
          "keeps some, or write filler=sentences");
  }
  const Ids& phrase(const std::string& name) const {
    const auto it = phrases.find(name);
    if (it == phrases.end() || it->second.empty())
      throw pes::Refusal("the folder's tokenizer has no single tokens for " + name +
                         ", which are needed to rank answers");
    return it->second;
  }
  const tokens::Stream& stream() const {
    return folder.filler.size() > 0 ? folder.filler : folder.held_out;
  }

  std::size_t fixed() const {
    return says.size() + ends.size() + asked.size() + 2 * static_cast<std::size_t>(answers);
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    require_length(r.length, static_cast<int>(fixed()) + 2, "the sentences and a word of text");
    const double depth = depth_of(r, 0, random);
    Ids answer;
    std::uint32_t phase = 0;  // of the sentences
    do {
      phase = from_text ? 0 : random.below(static_cast<std::uint32_t>(loop.size()));
      answer.clear();
      while (std::ssize(answer) < answers)
        answer.push_back(
            candidate_tokens[random.below(static_cast<std::uint32_t>(candidate_tokens.size()))]);
    } while (!from_text && !dealt_to(r.split, answer, phase));
    const std::size_t filler = e.tokens.size() - fixed();
    const std::size_t before = rounded(depth * static_cast<double>(filler));
    const Ids text = filler_of(filler, random, phase);
    auto out = std::copy_n(text.begin(), before, e.tokens.begin());
    for (const Ids& part : {says, answer, ends}) out = std::copy(part.begin(), part.end(), out);
    out = std::copy(text.begin() + static_cast<std::ptrdiff_t>(before), text.end(), out);
    out = std::copy(asked.begin(), asked.end(), out);
    std::copy(answer.begin(), answer.end(), out);
    pes::score_from(e.targets, e.tokens.size() - 1 - answer.size(), answer);
  }
  // Among the same sentences there are few examples: those of test must not be those of training.
  static bool dealt_to(pes_split split, Ids answer, std::uint32_t phase) {
    answer.push_back(static_cast<std::int32_t>(phase));
    return belongs_to(split, pes::hash64("text retrieval"), answer);
  }
  Ids filler_of(std::size_t n, pes::Random& random, std::size_t at) const {
    Ids out(n);
    if (from_text) {
      if (n > stream().size())
        throw pes::Refusal("the filler has " + std::to_string(stream().size()) + " tokens, and " +
                           std::to_string(n) + " are needed; keep more with --filler-share");
      stream().read(random.below64(stream().size() - n + 1), n, out.data(), folder.vocabulary);
      return out;
    }
    for (std::int32_t& id : out) id = loop[at], at = (at + 1) % loop.size();
    return out;
  }

  void oracle(Tokens seen, Targets targets) const {
    std::fill(targets.begin(), targets.end(), unscored);
    const auto said = std::search(seen.begin(), seen.end(), says.begin(), says.end());
    const auto question = std::find_end(seen.begin(), seen.end(), asked.begin(), asked.end());
    if (said == seen.end() || question == seen.end()) return;
    const auto first = question - seen.begin() + std::ssize(asked) - 1;
    pes::score_from(targets, static_cast<std::size_t>(first),
                    {said + std::ssize(says), static_cast<std::size_t>(answers)});
  }

  pes::Chance chance_at(const pes::Request&) const {
    const double one = 1.0 / static_cast<double>(candidate_tokens.size());
    return {one, std::pow(one, answers)};
  }
  double distinct(int length) const {
    return answers * std::log10(static_cast<double>(candidate_tokens.size())) +
           std::log10(static_cast<double>(from_text ? stream().size() : loop.size())) +
           std::log10(std::min<double>(length, static_cast<double>(depths.size())));
  }
};

constexpr pes_option path_option =
    pes::text("path", "", "the folder of token shards that the model was trained on");
constexpr pes_option filler_option = pes::choice(
    "filler", "text", "text|sentences",
    "what it is hidden in: held-out text (of the filler shards, where there are some), or five "
    "sentences again and again");

struct TextPasskey : TextRetrieval {
  static constexpr pes_option options[] = {path_option, filler_option,
                                           pes::integer("digits", "5", 1, 9, "of the number")};
  static constexpr pes_card card =
      pes::card<TextPasskey>({.name = "text_passkey",
                              .summary = "a passkey as text, for models of language",
                              .taxonomy = "retrieval",
                              .paper = "Mohtashami & Jaggi 2023, arXiv:2305.16300"});
  TextPasskey(const pes_use&, const pes::Values& v)
      : TextRetrieval(v, "key", "digits", static_cast<int>(v.integer("digits"))) {
    shortcuts = {&digits_occur};
  }
};

struct TextNeedle : TextRetrieval {
  static constexpr pes_option options[] = {path_option, filler_option};
  static constexpr pes_card card =
      pes::card<TextNeedle>({.name = "text_needle",
                             .summary = "a needle in a haystack as text, for models of language",
                             .taxonomy = "retrieval"});
  TextNeedle(const pes_use&, const pes::Values& v) : TextRetrieval(v, "needle", "words", 1) {
    shortcuts = {&word_occurs};
  }
};

}  // namespace

extern const pes_task text_passkey = pes::task<TextPasskey>;
extern const pes_task text_needle = pes::task<TextNeedle>;
