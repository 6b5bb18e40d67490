#include "data/examine.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "base/text.h"
#include "data/likeness.h"

namespace pesuite::data {

namespace {

// Calls `work(i)` for 0 .. n - 1 on several threads; the first that threw decides.
void on_threads(std::size_t n, int threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  std::mutex mutex;
  std::vector<std::thread> team;
  for (int t = 0; t < std::max(1, threads); ++t)
    team.emplace_back([&] {
      for (std::size_t i = next++; i < n; i = next++) try {
          work(i);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!error) error = std::current_exception();
        }
    });
  for (std::thread& t : team) t.join();
  if (error) std::rethrow_exception(error);
}

struct Found {
  std::vector<std::string> problems;
  std::vector<std::uint64_t> documents;  // hashes of their tokens
};

// One shard; its problems in the order in which they are met, at most one of a kind.
Found verify_shard(const Manifest& m, const fs::path& folder, const Shard& s) {
  Found found;
  const fs::path file = folder / s.file;
  try {
    const OpenShard shard(folder, s, m.bytes_per_token);
    const auto& tokens = shard.tokens();
    if (tokens.bytes_per_token() != m.bytes_per_token)
      found.problems.push_back(fmt::format("{} has tokens of {} bytes, and the manifest says {}",
                                           file.string(), tokens.bytes_per_token(),
                                           m.bytes_per_token));
    if (const std::string now = sha256_file(file); now != s.sha256)
      found.problems.push_back(
          fmt::format("{} is not what was written: its SHA-256 is {}, and the manifest says {}",
                      file.string(), now, s.sha256));
    for (std::uint64_t i = 0; i < tokens.size(); ++i)
      if (tokens[i] >= m.vocabulary) {
        found.problems.push_back(
            fmt::format("{}: token {} at place {} is outside the vocabulary of {}", file.string(),
                        tokens[i], i, m.vocabulary));
        break;
      }
    std::uint64_t before = 0;
    for (std::uint64_t d = 0; d < shard.documents(); ++d) {
      const std::uint64_t begin = shard.begin(d);
      if (begin < before || (d == 0 && begin != 0)) {
        found.problems.push_back(
            fmt::format("the index of {} is damaged at document {}", file.string(), d));
        return found;
      }
      before = begin;
      const std::vector<Token> text = shard.document(d);
      found.documents.push_back(
          content_hash({reinterpret_cast<const char*>(text.data()), text.size() * sizeof(Token)}));
      const auto end = static_cast<Token>(m.end_of_text);
      const Token mark = text.empty() ? ~end : m.format == "llmc" ? text.front() : text.back();
      if (m.end_of_text >= 0 && mark != end) {
        found.problems.push_back(
            fmt::format("{}: document {} has no end of text where format {} has it", file.string(),
                        d, m.format));
        return found;
      }
    }
  } catch (const Error& e) {
    found.problems.emplace_back(e.what());
  }
  return found;
}

void verify_tokenizer(const Manifest& m, const fs::path& folder,
                      std::vector<std::string>& problems) {
  try {
    if (!m.task.empty()) {
      if (!read_file(folder / "tokens.txt")
               .starts_with(tokens_text(m, std::span<const std::size_t>())))
        problems.push_back(
            fmt::format("{} does not belong to these shards", (folder / "tokens.txt").string()));
      return;
    }
    const auto tokenizer = tokenizer_of(m, folder);
    if (tokenizer->vocabulary() != m.vocabulary)
      problems.push_back(fmt::format("the tokenizer has {} tokens, and the manifest says {}",
                                     tokenizer->vocabulary(), m.vocabulary));
    if (read_file(folder / "tokens.txt") != tokens_text(m, *tokenizer))
      problems.push_back(fmt::format("{} does not belong to these shards and this tokenizer",
                                     (folder / "tokens.txt").string()));
  } catch (const Error& e) {
    problems.emplace_back(e.what());
  }
}

void verify_disjoint(const Manifest& m, const std::vector<Found>& found,
                     std::vector<std::string>& problems) {
  std::vector<std::pair<std::uint64_t, std::string>> all;
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const std::uint64_t h : found[i].documents) all.emplace_back(h, m.shards[i].split);
  std::sort(all.begin(), all.end());
  std::map<std::pair<std::string, std::string>, std::size_t> shared;
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i].first == all[i - 1].first && all[i].second != all[i - 1].second)
      ++shared[{all[i - 1].second, all[i].second}];
  for (const auto& [splits, n] : shared)
    problems.push_back(
        fmt::format("{} and {} share {}", splits.first, splits.second, counted(n, "document")));
}

}  // namespace

std::vector<std::string> verify_shards(const fs::path& folder, int threads, const Say& say) {
  const Manifest m = read_manifest(folder);
  std::vector<Found> found(m.shards.size());
  std::mutex mutex;
  on_threads(m.shards.size(), threads, [&](std::size_t i) {
    {
      const std::lock_guard lock(mutex);
      say(m.shards[i].file);
    }
    found[i] = verify_shard(m, folder, m.shards[i]);
  });
  std::vector<std::string> problems;
  for (const Found& f : found)
    problems.insert(problems.end(), f.problems.begin(), f.problems.end());
  verify_tokenizer(m, folder, problems);
  verify_disjoint(m, found, problems);
  return problems;
}

Against verify_against(const fs::path& folder, Documents& sources, const Say& say) {
  const Manifest m = read_manifest(folder);
  const auto tokenizer = tokenizer_of(m, folder);
  HashSet decoded;
  for (const Shard& s : m.shards) {
    say(s.file);
    const OpenShard shard(folder, s, m.bytes_per_token);
    for (std::uint64_t d = 0; d < shard.documents(); ++d) {
      std::vector<Token> tokens = shard.document(d);
      if (m.end_of_text >= 0 && !tokens.empty())
        tokens.erase(m.format == "llmc" ? tokens.begin() : tokens.end() - 1);
      decoded.insert(content_hash(tokenizer->decode(tokens)));
    }
  }
  Against out;
  for (Document d; sources.next(d);) {
    if (d.text.empty()) continue;
    ++out.documents;
    if (!decoded.insert(content_hash(d.text)))
      ++out.found;
    else if (out.first_missing.empty())
      out.first_missing = fmt::format("{}: {}", d.file.string(), printable(d.text.substr(0, 60)));
    if (out.documents % 1000 == 0) say(d.file.string());
  }
  return out;
}

std::vector<SplitSummary> summarise(const Manifest& m, const fs::path& folder, const Say& say) {
  std::vector<SplitSummary> out;
  for (const char* split : split_names) {
    SplitSummary s{.split = split};
    std::vector<std::uint64_t> lengths;
    std::vector<bool> occurs(m.vocabulary);
    for (const Shard& shard : m.shards) {
      if (shard.split != split) continue;
      say(shard.file);
      const OpenShard open(folder, shard, m.bytes_per_token);
      ++s.shards, s.tokens += shard.tokens, s.documents += shard.documents, s.bytes += shard.bytes;
      for (std::uint64_t d = 0; d < open.documents(); ++d)
        lengths.push_back(open.end(d) - open.begin(d));
      for (std::uint64_t i = 0; i < open.tokens().size(); ++i)
        if (const Token t = open.tokens()[i]; t < m.vocabulary) occurs[t] = true;
    }
    if (s.shards == 0) continue;
    std::sort(lengths.begin(), lengths.end());
    if (!lengths.empty())
      s.shortest = lengths.front(), s.median = lengths[lengths.size() / 2],
      s.longest = lengths.back();
    s.distinct = static_cast<std::uint64_t>(std::count(occurs.begin(), occurs.end(), true));
    out.push_back(std::move(s));
  }
  return out;
}

}  // namespace pesuite::data
