#include "faults.h"

#include <charconv>
#include <optional>

namespace provider {
namespace {

constexpr std::string_view every_kind =
    "timeout-after-charge, reset-before, reset-after, error-500, error-500-after, slow:200, "
    "decline, "
    "duplicate-webhook, late-webhook:500, lost-webhook";
constexpr std::int64_t milliseconds_max = 3'600'000;

std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view word = list.substr(0, comma);
    list = comma == std::string_view::npos ? "" : list.substr(comma + 1);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool read_word(std::string_view word, Faults& faults) {
  const std::size_t colon = word.find(':');
  const std::string_view name = word.substr(0, colon);
  if (colon != std::string_view::npos) {
    const auto number = number_in<std::int64_t>(word.substr(colon + 1));
    if (!number || *number < 0 || *number > milliseconds_max) return false;
    if (name == "slow")
      faults.slow = std::chrono::milliseconds(*number);
    else if (name == "late-webhook")
      faults.late_webhook = std::chrono::milliseconds(*number);
    else
      return false;
    return true;
  }
  bool* const flag = name == "reset-before"           ? &faults.reset_before
                     : name == "error-500"            ? &faults.error_500
                     : name == "decline"              ? &faults.decline
                     : name == "timeout-after-charge" ? &faults.timeout_after_charge
                     : name == "reset-after"          ? &faults.reset_after
                     : name == "error-500-after"      ? &faults.error_500_after
                     : name == "duplicate-webhook"    ? &faults.duplicate_webhook
                     : name == "lost-webhook"         ? &faults.lost_webhook
                     : name == "always"               ? &faults.always
                                                      : nullptr;
  if (flag != nullptr) *flag = true;
  return flag != nullptr;
}

// FNV-1a over seed and key, then mixed so that the high bits are as random as the low ones.
std::uint64_t hash_of(std::uint64_t seed, std::string_view key) {
  std::uint64_t hash = 14695981039346656037ULL ^ seed;
  for (const unsigned char byte : key) hash = (hash ^ byte) * 1099511628211ULL;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
  return hash ^ (hash >> 31);
}

}  // namespace

bool Faults::any_of_the_connection() const {
  return slow.count() > 0 || reset_before || error_500 || timeout_after_charge || reset_after ||
         error_500_after;
}

std::variant<Faults, std::string> parse_faults(std::string_view text) {
  Faults faults;
  for (const std::string& word : words_of(text)) {
    if (!read_word(word, faults)) {
      return "unknown fault '" + word + "'; known are " + std::string(every_kind) + " and always";
    }
  }
  return faults;
}

std::variant<RandomFaults, std::string> RandomFaults::parse(std::string_view seed_and_rate,
                                                            std::string_view kinds) {
  const std::size_t colon = seed_and_rate.find(':');
  const auto seed = number_in<std::uint64_t>(seed_and_rate.substr(0, colon));
  const auto rate = colon == std::string_view::npos
                        ? std::nullopt
                        : number_in<double>(seed_and_rate.substr(colon + 1));
  if (!seed || !rate || !(*rate >= 0 && *rate <= 1)) {
    return "--faults takes SEED:RATE, a whole number and a share between 0 and 1, not '" +
           std::string(seed_and_rate) + "'";
  }
  RandomFaults faults;
  faults.seed_ = *seed;
  faults.rate_ = *rate;
  faults.kinds_ = words_of(kinds.empty() ? every_kind : kinds);
  for (const std::string& kind : faults.kinds_) {
    Faults unused;
    if (!read_word(kind, unused)) return "--fault-kinds: unknown fault '" + kind + "'";
  }
  return faults;
}

Faults RandomFaults::of(std::string_view key) const {
  Faults faults;
  if (kinds_.empty() || key.empty()) return faults;
  const std::uint64_t chance = hash_of(seed_, key);
  if (static_cast<double>(chance >> 11) * 0x1p-53 >= rate_) return faults;
  read_word(kinds_[hash_of(chance, key) % kinds_.size()], faults);
  return faults;
}

}  // namespace provider
