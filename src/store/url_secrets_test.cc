#include "store/url_secrets.h"

#include <gtest/gtest.h>

namespace oncekey::store {
namespace {

TEST(UrlSecrets, PasswordsAreNotShown) {
  const std::pair<const char*, const char*> cases[] = {
      {"rocksdb:./data", "rocksdb:./data"},
      {"postgres://u:geheim@h:5/d?x=1", "postgres://u:***@h:5/d?x=1"},
      {"postgres://u@h,i/d", "postgres://u@h,i/d"},
      {"postgres://u@[::1]:5432,h:1/d", "postgres://u@[::1]:5432,h:1/d"},
      {"postgres://[::1]:5432,h:1/d", "postgres://[::1]:5432,h:1/d"},
      {"redis://:a@b@h/1", "redis://:***@h/1"},
      {"redis+cluster://:geheim@a:1,b:2", "redis+cluster://:***@a:1,b:2"},
      {"postgres://u:one@h/d+redis://:two@h/1", "postgres://u:***@h/d+redis://:***@h/1"},
      {"postgres://h:5432/d+redis://:two@h/1", "postgres://h:5432/d+redis://:***@h/1"},
      {"postgres://u:one@h/d+redis+cluster://:two@h",
       "postgres://u:***@h/d+redis+cluster://:***@h"},
      {"postgres://h/d?user=u&password=geheim", "postgres://h/d?user=u&password=***"},
      {"postgres://u:one@h/d?sslpassword=two", "postgres://u:***@h/d?sslpassword=***"},
      {"--stroe=postgres://u:geheim@h/d", "--stroe=postgres://u:***@h/d"},
  };
  for (const auto& [url, shown] : cases) EXPECT_EQ(without_passwords(url), shown);
}

// libpq takes some of these as they are, and others apart where nobody expects it.
TEST(UrlSecrets, PasswordsThatAreNotEncodedAreNotShownInPartEither) {
  const std::pair<const char*, const char*> cases[] = {
      {"postgres://u:Sup3r?Secret-9@h/d", "postgres://u:***@h/d"},
      {"postgres://u:Sup3r/Secret-9@h/d", "postgres://u:***@h/d"},
      {"postgres://u:Sup3r#Secret-9@h/d", "postgres://u:***@h/d"},
      {"postgres://u:Pw@Pw-11@h/d", "postgres://u:***@h/d"},
      {"postgres://u:12/Pw-11@h/d", "postgres://u:***@h/d"},
      {"postgres://me@corp:Pw-11@h/d", "postgres://me@corp:***@h/d"},
      {"postgres://u:Pw+redis://Pw-11@h/d", "postgres://u:***@h/d"},
      {"postgres://u:Pw+redis://Pw-11@h/d+redis://h", "postgres://u:***@h/d+redis://h"},
      {"postgres://u:Pw-11", "postgres://u:***"},
      {"postgres://h/d?password=Pw&Pw-11", "postgres://h/d?password=***"},
      {"postgres://h/d?password=Pw@Pw-11", "postgres://h/d?password=***"},
      {"postgres://h/d?PassWord=Pw+redis://:x@Pw-11", "postgres://h/d?PassWord=***"},
      {"postgres://u:Pw?password=Pw-11@h/d", "postgres://u:***"},
      {"postgres://h:1/d?password=Pw@Pw-11", "postgres://h:***"},
      {"redis://:Sup3r/Secret-9@h/1", "redis://:***@h/1"},
      {"redis://:Sup3r?Secret-9@h/1", "redis://:***@h/1"},
      {"redis://Secret-9@h/1", "redis://***@h/1"},
      {"--stroe=redis://Secret-9@h/1", "--stroe=redis://***@h/1"},
  };
  for (const auto& [url, shown] : cases) EXPECT_EQ(without_passwords(url), shown);
}

TEST(UrlSecrets, APasswordIsPlainWhenItCannotBeMisread) {
  for (const char* url : {"postgres://u:geheim@h/d", "postgres://u:a%2Fb%40c@h/d", "redis://h",
                          "postgres://u@h/d", "postgres://u:x@h/d?application_name=a%20b"}) {
    EXPECT_TRUE(password_is_plain(url)) << url;
  }
  for (const char* url : {"postgres://u:a/b@h/d", "postgres://u:a?b@h/d", "postgres://u:a#b@h/d",
                          "postgres://u:a@b@h/d", "postgres://u:a+b@h/d", "postgres://u:a%ZZ@h/d",
                          "postgres://u:a%2@h/d", "postgres://h/d?password=a&b"}) {
    EXPECT_FALSE(password_is_plain(url)) << url;
  }
}

TEST(UrlSecrets, PiecesOfAPasswordAreTakenOutOfWhatOthersSay) {
  EXPECT_EQ(without_pieces_of_password("postgres://u:Pw@Pw-11@127.0.0.1/d",
                                       "could not translate host name \"Pw-11@127.0.0.1\""),
            "could not translate host name \"***@127.0.0.1\"");
  EXPECT_EQ(without_pieces_of_password("postgres://u:Pw@Pw%2D11@h/d", "host name \"Pw-11@h\""),
            "host name \"***@h\"");
  EXPECT_EQ(without_pieces_of_password("postgres://u:Pw%ZZ-1@h/d", "token: \"Pw%ZZ-1\""),
            "token: \"***\"");
}

// Nobody mistakes a plain password for something else, so what looks like it is something else.
TEST(UrlSecrets, APlainPasswordHidesNoNames) {
  EXPECT_EQ(without_pieces_of_password("postgres://oncekey:oncekey@h/oncekey",
                                       "database \"oncekey\" does not exist"),
            "database \"oncekey\" does not exist");
}

}  // namespace
}  // namespace oncekey::store
