// Each planted flaw is found by the check that names it, and nothing is found where there is none.
#include <gtest/gtest.h>

#include <algorithm>

#include "verify/practice_shop.h"
#include "verify/verify_run.h"

namespace oncekey::test {
namespace {

struct Planted {
  Flaw flaw;
  const char* check;
};

void PrintTo(const Planted& planted, std::ostream* out) {
  *out << name_of(planted.flaw) << " by " << planted.check;
}

constexpr Planted planted[] = {
    {Flaw::no_memory_at_all, "replay-once"},
    {Flaw::check_then_act, "two-simultaneous"},
    {Flaw::check_then_act, "burst"},
    {Flaw::runs_beside_the_first, "in-flight-once"},
    {Flaw::remembers_per_node, "several-nodes"},
    {Flaw::forgets_when_client_left, "hang-up"},
    {Flaw::forgets_when_client_left, "hang-up-running"},
    {Flaw::stuck_when_client_left, "hang-up-running"},
    {Flaw::executes_half_a_body, "hang-up-half"},
    {Flaw::mismatch_replays, "other-body"},
    {Flaw::body_in_lookup_key, "other-body"},
    {Flaw::mismatch_after_the_end, "in-flight-mismatch"},
    {Flaw::ignores_path, "other-path"},
    {Flaw::ignores_query, "other-query"},
    {Flaw::ignores_method, "other-method"},
    {Flaw::one_scope_for_all, "tenants-apart"},
    {Flaw::mismatch_across_tenants, "tenant-hidden"},
    {Flaw::replays_before_login, "no-credentials"},
    {Flaw::loses_status, "replay-status"},
    {Flaw::loses_headers, "replay-headers"},
    {Flaw::changes_body, "replay-body"},
    {Flaw::marks_everything_replayed, "replay-marker"},
    {Flaw::expires_in_the_past, "expiry-header"},
    {Flaw::keeps_server_errors, "first-500"},
    {Flaw::forgets_at_once, "still-kept"},
    {Flaw::compares_bytes, "json-order"},
    {Flaw::compares_bytes, "json-space"},
    {Flaw::merges_large_integers, "json-large-integers"},
    {Flaw::merges_types, "json-types"},
    {Flaw::truncates_keys, "key-whole"},
    {Flaw::folds_key_case, "key-case"},
    {Flaw::cuts_keys_at_semicolon, "key-odd-characters"},
    {Flaw::cuts_long_keys, "key-long"},
    {Flaw::takes_empty_keys, "key-empty"},
    {Flaw::takes_any_bytes, "key-not-ascii"},
    {Flaw::takes_first_key_line, "key-several-lines"},
    {Flaw::quotes_are_part_of_the_key, "key-quoted"},
    {Flaw::takes_missing_keys, "missing-key"},
    {Flaw::no_retry_after, "in-flight-retry-after"},
    {Flaw::wrong_problem_status, "error-form"},
    {Flaw::get_needs_a_key, "safe-methods"},
    {Flaw::delete_needs_a_key, "put-delete"},
    {Flaw::policy_is_no_json, "well-known"},
};

class PlantedFlaw : public testing::TestWithParam<Planted> {};

TEST_P(PlantedFlaw, IsFoundByTheCheckThatNamesIt) {
  PracticeShop shop(GetParam().flaw);
  const std::string check = GetParam().check;
  const auto run =
      verify_orders(shop.url(), {"--second-node", shop.second_url() + "/orders", "--only", check});
  EXPECT_EQ(run.verdicts.at(check), "fail") << run.output;
  EXPECT_EQ(run.exit_code, 1) << run.output;
}

std::string name_of_case(const testing::TestParamInfo<Planted>& info) {
  std::string name = std::string(name_of(info.param.flaw)) + "_by_" + info.param.check;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, PlantedFlaw, testing::ValuesIn(planted), name_of_case);

TEST(Verify, FindsNothingWrongWithAShopThatIsRight) {
  PracticeShop shop(Flaw::none);
  const auto run = verify_orders(shop.url(), {"--second-node", shop.second_url() + "/orders"});
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(run.with("fail"), "") << run.output;
  EXPECT_EQ(run.with("warning"), "") << run.output;
  EXPECT_EQ(run.with("skipped"), "after-expiry") << run.output;
  // The half request of hang-up-half never becomes one.
  EXPECT_EQ(shop.requests() + 1, static_cast<std::size_t>(run.requests)) << run.output;
}

TEST(Verify, WarnsOfNumbersAndEscapesThatAreToldApart) {
  PracticeShop shop(Flaw::compares_bytes);
  const auto run = verify_orders(shop.url(), {"--only=json-numbers,json-strings"});
  EXPECT_EQ(run.with("warning"), "json-numbers json-strings") << run.output;
  EXPECT_EQ(run.exit_code, 0) << run.output;
}

TEST(Verify, AllowsANewRequestAfterTheRetention) {
  PracticeShop shop(Flaw::none, Milliseconds(300));
  const auto run = verify_orders(shop.url(), {"--expires-after=600ms", "--only=after-expiry"});
  EXPECT_EQ(run.verdicts.at("after-expiry"), "pass") << run.output;
}

TEST(Verify, FindsADuplicateThatLooksLikeAReplay) {
  PracticeShop shop(Flaw::duplicates_silently, Milliseconds(300));
  const auto run = verify_orders(shop.url(), {"--expires-after=600ms", "--only=after-expiry"});
  EXPECT_EQ(run.verdicts.at("after-expiry"), "fail") << run.output;
}

// The whole list, not only the one check, on an API that never heard of keys.
TEST(Verify, FindsMuchWrongWithAServiceWithoutKeys) {
  PracticeShop shop(Flaw::no_keys);
  const auto run = verify_orders(shop.url());
  EXPECT_EQ(run.exit_code, 1) << run.output;
  for (const char* check : {"replay-once", "two-simultaneous", "burst", "in-flight-once",
                            "other-body", "missing-key", "hang-up", "replay-body"}) {
    EXPECT_EQ(run.verdicts.at(check), "fail") << check;
  }
}

}  // namespace
}  // namespace oncekey::test
