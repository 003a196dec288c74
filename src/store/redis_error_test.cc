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

}  // namespace
}  // namespace oncekey::store
