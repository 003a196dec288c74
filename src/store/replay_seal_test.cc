#include "store/replay_seal.h"

#include <gtest/gtest.h>

namespace oncekey::store {
namespace {

Record completed() {
  Record record;
  record.id = {"tenant", "key"};
  record.state = State::completed;
  record.fingerprint.version = 1;
  record.fingerprint.digest.fill(7);
  record.attempt = 2;
  record.completed_at = 1'000;
  record.expires_at = 2'000;
  auto response = std::make_shared<StoredResponse>();
  response->status = 201;
  response->headers = {{"location", "/payments/1"}};
  response->body = std::string("\0body", 5);
  record.response = response;
  return record;
}

TEST(ReplaySeal, WhatWasSealedIsOpened) {
  ReplaySeal seal("a secret"), same("a secret");
  const Record record = completed();
  const auto opened = same.open(record.id, seal.seal(record, 1'500));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->looked_at, 1'500);
  EXPECT_EQ(opened->record.id, record.id);
  EXPECT_EQ(opened->record.fingerprint, record.fingerprint);
  EXPECT_EQ(opened->record.attempt, record.attempt);
  EXPECT_EQ(opened->record.expires_at, record.expires_at);
  EXPECT_EQ(*opened->record.response, *record.response);
}

TEST(ReplaySeal, NothingElseIs) {
  ReplaySeal seal("a secret"), other("another secret");
  const std::string entry = seal.seal(completed(), 1'500);
  EXPECT_FALSE(other.open({"tenant", "key"}, entry));
  EXPECT_FALSE(seal.open({"tenant", "key2"}, entry));
  EXPECT_FALSE(seal.open({"tenan", "tkey"}, entry));
  EXPECT_FALSE(seal.open({"other", "key"}, entry));
  EXPECT_FALSE(seal.open({"tenant", "key"}, ""));
  EXPECT_FALSE(seal.open({"tenant", "key"}, entry + "x"));
  for (std::size_t i = 0; i < entry.size(); ++i) {
    std::string changed = entry;
    changed[i] ^= 1;
    EXPECT_FALSE(seal.open({"tenant", "key"}, changed)) << i;
    EXPECT_FALSE(seal.open({"tenant", "key"}, entry.substr(0, i))) << i;
  }
}

TEST(ReplaySeal, NamesDependOnTheIdAndTheSecret) {
  ReplaySeal seal("a secret"), other("another secret");
  EXPECT_EQ(seal.name({"a", "b"}), ReplaySeal("a secret").name({"a", "b"}));
  EXPECT_NE(seal.name({"a", "b"}), seal.name({"ab", ""}));
  EXPECT_NE(seal.name({"a", "b"}), other.name({"a", "b"}));
}

}  // namespace
}  // namespace oncekey::store
