#include <gtest/gtest.h>

#include "gateway/config_draft.h"
#include "gateway/config_file.h"

namespace oncekey::gateway {
namespace {

TEST(Environment, OverridesTheFile) {
  ConfigDraft draft;
  read_config_text(draft, "listen = \"a:1\"\nadmin = \"a:2\"", "f.toml");
  const char* const variables[] = {"PATH=/bin",
                                   "ONCEKEY_LISTEN=b:3",
                                   "ONCEKEY_UPSTREAM=http://c:4",
                                   "ONCEKEY_STORE=memory:",
                                   "ONCEKEY_LOG_LEVEL=warn",
                                   "ONCEKEY_THREADS=2",
                                   "ONCEKEY_FORWARDED=false",
                                   "ONCEKEY_TIMEOUTS_GRACE=1s",
                                   "ONCEKEY_TENANT_FROM=header",
                                   "ONCEKEY_SECRET=not a setting",
                                   "ONCEKEY_ENCRYPTION_KEYS=not a setting",
                                   "ONCEKEY_ADMIN_TOKEN=not a setting",
                                   nullptr};
  read_environment(draft, variables);
  auto result = finish_config(std::move(draft), Upstream::required);
  ASSERT_TRUE(result.ok());
  const Config& config = result.value().config;
  EXPECT_EQ(config.listen, "b:3");
  EXPECT_EQ(config.admin, "a:2");
  EXPECT_TRUE(config.admin_token_set);
  EXPECT_EQ(config.upstream, "http://c:4");
  EXPECT_EQ(config.store, "memory:");
  EXPECT_EQ(config.log_level, LogLevel::warn);
  EXPECT_EQ(config.threads, 2u);
  EXPECT_FALSE(config.forwarded);
  EXPECT_EQ(config.timeouts.grace_ms, 1'000);
  EXPECT_EQ(config.tenant.from, TenantFrom::header);
}

TEST(Environment, WrongValueNamesTheVariable) {
  ConfigDraft draft;
  const char* const variables[] = {"ONCEKEY_THREADS=many", "ONCEKEY_LISTEN=", nullptr};
  read_environment(draft, variables);
  ASSERT_EQ(draft.errors.size(), 2u);
  EXPECT_EQ(to_string(draft.errors[0]),
            "ONCEKEY_THREADS: threads: expected an integer, found a string");
  EXPECT_EQ(draft.errors[1].file, "ONCEKEY_LISTEN");
}

TEST(Environment, OnlyNearMissesAreWarnedAbout) {
  ConfigDraft draft;
  const char* const variables[] = {"ONCEKEY_LISTN=a:1", "ONCEKEY_SERVICE_HOST=10.0.0.1",
                                   "ONCEKEY_PORT=tcp://10.0.0.1:80", nullptr};
  read_environment(draft, variables);
  ASSERT_EQ(draft.warnings.size(), 1u);
  EXPECT_EQ(to_string(draft.warnings[0]),
            "ONCEKEY_LISTN: is not a known variable\n  hint: did you mean ONCEKEY_LISTEN?");
}

}  // namespace
}  // namespace oncekey::gateway
