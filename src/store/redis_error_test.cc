#include "store/redis_error.h"

#include <gtest/gtest.h>

namespace oncekey::store {
namespace {

TEST(RedisError, TheFirstWordIsTheCode) {
  EXPECT_EQ(redis_error_code("OOM command not allowed when used memory > 'maxmemory'."), "OOM");
  EXPECT_EQ(redis_error_code("MOVED 3999 127.0.0.1:6381"), "MOVED");
  EXPECT_EQ(redis_error_code("READONLY You can't write against a read only replica. script: "
                             "2fb1d7, on @user_script:9."),
            "READONLY");
  EXPECT_EQ(redis_error_code("ERR unknown command"), "ERR");
  EXPECT_EQ(redis_error_code("LOADING\r\n"), "LOADING");
  EXPECT_EQ(redis_error_code(""), "");
}

TEST(RedisError, WhatVersion62WrapsAroundTheErrorOfACallInAScriptIsTakenOff) {
  EXPECT_EQ(redis_error_code("ERR Error running script (call to f_2fb1d7): @user_script:9: "
                             "@user_script: 9: -OOM command not allowed when used memory > "
                             "'maxmemory'."),
            "OOM");
  EXPECT_EQ(redis_error_code("ERR Error running script (call to f_2fb1d7): @user_script:9: "
                             "a record of a later version"),
            "ERR");
}

TEST(RedisError, WhatVersion62PutsBeforeAnErrorThatAScriptGaveBackIsTakenOff) {
  EXPECT_EQ(redis_error_code("@user_script: 149: -READONLY You can't write against a read only "
                             "replica."),
            "READONLY");
  EXPECT_EQ(redis_error_code("@user_script: 149: -MISCONF Redis is configured to save RDB "
                             "snapshots, but it is currently not able to persist on disk."),
            "MISCONF");
  EXPECT_EQ(redis_error_code("@user_script: 149: -NOREPLICAS Not enough good replicas to write."),
            "NOREPLICAS");
  // Not one of the codes that say that nothing was done.
  EXPECT_EQ(redis_error_code("@user_script: 149: Wrong number of args -x"), "@user_script:");
}

TEST(RedisError, AMissingRightIsKnownAsEveryVersionSaysIt) {
  for (const char* error :
       {"NOPERM this user has no permissions to run the 'eval' command",
        "ERR The user executing the script can't run this command or subcommand script: 1f, on x.",
        "@user_script: 1: -NOPERM The user executing the script can't run this command",
        "NOPERM ACL failure in script: User app has no permissions to run the 'set' command",
        "ERR unknown command 'EVAL', with args beginning with: 'return 1'"}) {
    EXPECT_TRUE(lacks_a_right(error)) << error;
  }
  for (const char* error : {"OOM command not allowed when used memory > 'maxmemory'.",
                            "READONLY You can't write against a read only replica.",
                            "NOREPLICAS Not enough good replicas to write.", "LOADING", ""}) {
    EXPECT_FALSE(lacks_a_right(error)) << error;
  }
}

}  // namespace
}  // namespace oncekey::store
