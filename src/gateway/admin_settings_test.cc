#include <gtest/gtest.h>

#include "gateway/config_file.h"

namespace oncekey::gateway {
namespace {

std::string error_of(std::string_view text) {
  const auto result = parse_config(text, "f.toml");
  return result ? "" : to_string(result.error().front());
}

TEST(AdminSettings, PortThatOthersReachNeedsAToken) {
  EXPECT_EQ(error_of("admin = \"0.0.0.0:1\""),
            "f.toml:1:9: admin: is reachable from other machines, and there is no token\n"
            "  hint: admin_token_file = \"admin.tokens\", or ONCEKEY_ADMIN_TOKEN, or a loopback "
            "address");
  EXPECT_EQ(error_of("admin = \"0.0.0.0:1\"\nadmin_token_file = \"tokens\""), "");
  EXPECT_EQ(error_of("admin = \"[::1]:1\""), "");
}

}  // namespace
}  // namespace oncekey::gateway
