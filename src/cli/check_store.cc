#include "cli/check_store.h"

#include <algorithm>

#include "store/postgres_facts.h"
#include "store/redis_facts.h"
#include "store/sqlite_migration.h"
#include "store/url_secrets.h"

namespace oncekey::cli {
namespace {

using store::Fact;
using Facts = Result<std::vector<Fact>, std::string>;

constexpr auto patience = std::chrono::seconds(5);

std::string_view to_string(Fact::Grade grade) {
  switch (grade) {
    case Fact::Grade::good:
      return "good";
    case Fact::Grade::warning:
      return "warning";
    case Fact::Grade::error:
      return "error";
  }
  return "";
}

StoreFinding finding_of(const std::string& url, const Facts& facts) {
  StoreFinding finding{store::without_passwords(url), {}, {}};
  if (facts) {
    finding.facts = *facts;
  } else {
    finding.failure = facts.error();
  }
  return finding;
}

// A gateway starts and serves without its cache, so nothing about one is an error.
Facts as_cache(Facts facts) {
  constexpr const char* in_its_place =
      "A gateway starts and serves without its cache: PostgreSQL answers, which takes longer.";
  if (!facts) {
    return std::vector<Fact>{
        {Fact::Grade::warning, "connection", "none: " + facts.error(), in_its_place}};
  }
  for (Fact& fact : *facts) {
    if (fact.grade != Fact::Grade::error) continue;
    fact.grade = Fact::Grade::warning;
    fact.meaning += std::string(" ") + in_its_place;
  }
  return facts;
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  out.resize(std::max(width, out.size()), ' ');
  return out;
}

}  // namespace

bool StoreFinding::good() const {
  return failure.empty() && std::none_of(facts.begin(), facts.end(), [](const Fact& fact) {
           return fact.grade == Fact::Grade::error;
         });
}

std::vector<StoreFinding> look_at_store(const store::StoreUrl& url) {
  std::vector<StoreFinding> findings;
  if (!url.postgres.empty()) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    findings.push_back(finding_of(url.postgres, store::postgres_facts(url.postgres, deadline)));
  }
  if (!url.redis.empty()) {
    store::RedisOptions options;
    options.url = url.redis;
    options.timeout_ms = std::chrono::milliseconds(patience).count();
    const bool in_front = url.kind == store::StoreUrl::Kind::tiered;
    const auto use = in_front ? store::RedisUse::cache : store::RedisUse::records;
    Facts facts = store::redis_facts(options, use);
    if (in_front) facts = as_cache(std::move(facts));
    findings.push_back(finding_of(url.redis, facts));
  }
  if (url.shared_file) {
    findings.push_back(finding_of("sqlite:" + url.path, store::sqlite_facts(url.path)));
  }
  return findings;
}

std::string to_text(const StoreFinding& finding) {
  std::string text = "store " + finding.url + "\n";
  if (!finding.failure.empty())
    return text + "  error    cannot connect: " + finding.failure + "\n";
  for (const Fact& fact : finding.facts) {
    text += "  " + padded(to_string(fact.grade), 9) + fact.name + ": " + fact.value + "\n";
    text += "           " + fact.meaning + "\n";
  }
  return text;
}

void write_json(JsonWriter& writer, const StoreFinding& finding) {
  writer.begin_object();
  writer.member("store", finding.url);
  writer.member("good", finding.good());
  if (!finding.failure.empty()) writer.member("failure", finding.failure);
  writer.key("facts");
  writer.begin_array();
  for (const Fact& fact : finding.facts) {
    writer.begin_object();
    writer.member("grade", to_string(fact.grade));
    writer.member("name", fact.name);
    writer.member("value", fact.value);
    writer.member("meaning", fact.meaning);
    writer.end_object();
  }
  writer.end_array();
  writer.end_object();
}

}  // namespace oncekey::cli
