// A service may use all of the library at once: its headers go together.
#include <gtest/gtest.h>

#include <variant>

#include "oncekey/assert.h"
#include "oncekey/boundary.h"
#include "oncekey/classify.h"
#include "oncekey/client.h"
#include "oncekey/crash_point.h"
#include "oncekey/derived_key.h"
#include "oncekey/fingerprint.h"
#include "oncekey/group.h"
#include "oncekey/inbox.h"
#include "oncekey/key.h"
#include "oncekey/key_file.h"
#include "oncekey/natural_key.h"
#include "oncekey/outbox.h"
#include "oncekey/record.h"
#include "oncekey/result.h"
#include "oncekey/role.h"
#include "oncekey/store.h"
#include "oncekey/transaction.h"
#include "oncekey/workflow.h"

namespace oncekey {
namespace {

TEST(PublicHeaders, GoTogether) {
  // The two that once had a name in common.
  const ClientOperation sent;
  const Operation stored = Get{};
  EXPECT_TRUE(sent.body.empty());
  EXPECT_TRUE(std::holds_alternative<Get>(stored));
}

}  // namespace
}  // namespace oncekey
