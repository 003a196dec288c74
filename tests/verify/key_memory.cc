#include "verify/key_memory.h"

#include <algorithm>
#include <cstdlib>

#include "boundary/canonical_json.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

constexpr std::size_t key_max = 255;
constexpr Milliseconds gap{20};            // between looking and acting
constexpr Milliseconds short_memory{200};  // of a shop that forgets at once

// Digits as a double would keep them.
std::string with_doubles(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
    if (end - i > 15) {
      out += std::to_string(std::strtod(text.substr(i, end - i).c_str(), nullptr));
    } else {
      out += text.substr(i, std::max<std::size_t>(end - i, 1));
    }
    i = std::max(end, i + 1);
  }
  return out;
}

}  // namespace

Reply problem(int status, const std::string& title, Flaw flaw) {
  const int told = flaw == Flaw::wrong_problem_status ? 500 : status;
  return {status,
          {{"Content-Type", "application/problem+json"}},
          "{\"type\":\"about:blank#idempotency\",\"title\":\"" + title +
              "\",\"status\":" + std::to_string(told) + "}"};
}

std::optional<Reply> KeyMemory::read_key(const Call& call, std::string& key) const {
  const auto invalid = [this](const std::string& why) { return problem(400, why, flaw_); };
  if (call.keys.empty()) return invalid("the Idempotency-Key is missing");
  if (call.keys.size() > 1 && !is(Flaw::takes_first_key_line)) return invalid("several keys");
  key = call.keys.front();
  const bool quoted = key.size() >= 2 && key.front() == '"' && key.back() == '"';
  if (quoted && !is(Flaw::quotes_are_part_of_the_key)) key = key.substr(1, key.size() - 2);
  if (key.empty() && !is(Flaw::takes_empty_keys)) return invalid("the key is empty");
  if (is(Flaw::cuts_long_keys)) key = key.substr(0, key_max);
  if (key.size() > key_max) return invalid("the key is too long");
  const bool printable =
      std::all_of(key.begin(), key.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
  if (!printable && !is(Flaw::takes_any_bytes)) return invalid("the key is not printable ASCII");
  if (is(Flaw::truncates_keys)) key = key.substr(0, 64);
  if (is(Flaw::cuts_keys_at_semicolon)) key = key.substr(0, key.find(';'));
  if (is(Flaw::folds_key_case)) {
    std::transform(key.begin(), key.end(), key.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  }
  return std::nullopt;
}

std::string KeyMemory::place_of(const Call& call, const std::string& key) const {
  std::string place = key;
  const bool shared = is(Flaw::one_scope_for_all) || is(Flaw::mismatch_across_tenants) ||
                      is(Flaw::replays_before_login);
  if (!shared) place += "\n" + call.tenant;
  if (is(Flaw::body_in_lookup_key)) place += "\n" + call.body;
  return place;
}

std::string KeyMemory::fingerprint_of(const Call& call) const {
  if (is(Flaw::mismatch_replays)) return "";
  std::string body = call.body;
  if (!is(Flaw::compares_bytes)) {
    if (is(Flaw::merges_large_integers)) body = with_doubles(body);
    body = canonical_json(body).value_or(body);
  }
  if (is(Flaw::merges_types)) std::erase(body, '"');
  const std::size_t query = call.target.find('?');
  std::string text = body;
  if (!is(Flaw::ignores_path)) text += "\n" + call.target.substr(0, query);
  if (!is(Flaw::ignores_query) && query != std::string::npos) text += call.target.substr(query);
  if (!is(Flaw::ignores_method)) text += "\n" + call.method;
  if (is(Flaw::mismatch_across_tenants)) text += "\n" + call.tenant;
  return text;
}

Reply KeyMemory::replay(const Entry& entry) const {
  Reply reply = entry.reply;
  reply.headers.emplace_back("Idempotency-Replayed", "true");
  if (is(Flaw::loses_status)) reply.status = 200;
  if (is(Flaw::changes_body)) reply.body.insert(1, " ");
  if (is(Flaw::loses_headers)) {
    std::erase_if(reply.headers, [](const auto& field) { return field.first == "Location"; });
  }
  return reply;
}

std::optional<Reply> KeyMemory::remembered(const std::string& place,
                                           const std::string& fingerprint) {
  const auto found = entries_.find(place);
  if (found == entries_.end()) return std::nullopt;
  const Entry& entry = found->second;
  if (!entry.running && entry.expires <= std::chrono::steady_clock::now()) {
    if (!is(Flaw::duplicates_silently)) entries_.erase(found);
    return std::nullopt;
  }
  const bool compares = !entry.running || !is(Flaw::mismatch_after_the_end);
  if (compares && entry.fingerprint != fingerprint) {
    return problem(422, "the key belongs to another request", flaw_);
  }
  if (!entry.running) return replay(entry);
  if (is(Flaw::runs_beside_the_first)) return std::nullopt;
  Reply wait = problem(409, "still running", flaw_);
  if (!is(Flaw::no_retry_after)) wait.headers.emplace_back("Retry-After", "1");
  return wait;
}

Reply KeyMemory::execute(const Call& call, const std::string& place, const Work& work) {
  Reply reply = work();
  std::lock_guard lock(mutex_);
  const bool failed = reply.status >= 500 && !is(Flaw::keeps_server_errors);
  const bool gone = call.client_gone();
  Entry& entry = entries_[place];
  if (is(Flaw::duplicates_silently) && !entry.running) return replay(entry);
  if (failed || (gone && is(Flaw::forgets_when_client_left))) {
    entries_.erase(place);
    return reply;
  }
  if (gone && is(Flaw::stuck_when_client_left)) return reply;
  entry.running = false;
  const Milliseconds kept = is(Flaw::forgets_at_once) ? short_memory : retention_;
  entry.expires = deadline_in(kept);
  reply.headers.emplace_back("Idempotency-Expires", is(Flaw::expires_in_the_past)
                                                        ? "2001-01-01T00:00:00Z"
                                                        : "2099-01-01T00:00:00Z");
  entry.reply = reply;
  if (is(Flaw::marks_everything_replayed)) reply = replay(entry);
  return reply;
}

Reply KeyMemory::answer(const Call& call, const Work& work) {
  if (is(Flaw::no_keys)) return work();
  if (is(Flaw::takes_missing_keys) && call.keys.empty()) return work();
  std::string key;
  if (auto refusal = read_key(call, key)) return *refusal;
  if (is(Flaw::no_memory_at_all)) return work();
  const std::string place = place_of(call, key);
  const std::string fingerprint = fingerprint_of(call);
  std::unique_lock lock(mutex_);
  if (auto reply = remembered(place, fingerprint)) return *reply;
  if (call.tenant.empty()) return problem(401, "who are you?", flaw_);
  if (is(Flaw::check_then_act)) {
    lock.unlock();
    let_time_pass(gap);
    lock.lock();
  }
  Entry& entry = entries_[place];
  if (!(is(Flaw::duplicates_silently) && !entry.running)) {
    entry = {fingerprint, true, {}, {}};
  }
  lock.unlock();
  return execute(call, place, work);
}

}  // namespace oncekey::test
