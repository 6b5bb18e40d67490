#include "base/json.h"
#include "text/byte_level.h"
#include "text/train.h"

namespace pesuite::text {

std::string hugging_face_text(const Trained& t, Pattern pattern,
                              const std::vector<std::string>& specials) {
  Json vocab = Json::object(), merges = Json::array(), added = Json::array();
  const auto signs = [](const std::string& bytes) {
    std::string out;
    for (const char c : bytes) out += sign_of_byte(static_cast<unsigned char>(c));
    return out;
  };
  std::vector<std::string> names;
  for (const std::string& token : t.tokens) names.push_back(signs(token));
  for (std::size_t i = 0; i < names.size(); ++i) vocab[names[i]] = i;
  for (const auto& [left, right] : t.merges) merges.push_back(names[left] + " " + names[right]);
  for (const std::string& s : specials)
    added.push_back({{"id", names.size() + added.size()},
                     {"content", s},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  const bool own_regex = pattern == Pattern::gpt2;
  const Json bytes = {{"type", "ByteLevel"},
                      {"add_prefix_space", false},
                      {"trim_offsets", true},
                      {"use_regex", own_regex}};
  const Json cut = {{"type", "Split"},
                    {"pattern", {{"Regex", regex_of(pattern)}}},
                    {"behavior", "Isolated"},
                    {"invert", false}};
  const Json both = {{"type", "Sequence"}, {"pretokenizers", Json::array({cut, bytes})}};
  const Json model = {{"type", "BPE"},
                      {"dropout", nullptr},
                      {"unk_token", nullptr},
                      {"continuing_subword_prefix", nullptr},
                      {"end_of_word_suffix", nullptr},
                      {"fuse_unk", false},
                      {"byte_fallback", false},
                      {"ignore_merges", false},
                      {"vocab", vocab},
                      {"merges", merges}};
  return Json{{"version", "1.0"},
              {"truncation", nullptr},
              {"padding", nullptr},
              {"added_tokens", added},
              {"normalizer", nullptr},
              {"pre_tokenizer", own_regex ? bytes : both},
              {"post_processor", nullptr},
              {"decoder",
               {{"type", "ByteLevel"},
                {"add_prefix_space", true},
                {"trim_offsets", true},
                {"use_regex", true}}},
              {"model", model}}
             .dump(1) +
         "\n";
}

}  // namespace pesuite::text
