// Tests run side by side, and a server that is being set up, or started again, listens nowhere for
// a while: nobody else may get its port meanwhile.
#include "support/server_port.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

namespace oncekey::test {
namespace {

// So many that drawing lots among 11,000 would meet the same one again, all but certainly.
constexpr int many = 400;

TEST(ServerPort, IsGivenOnce) {
  std::set<int> ports;
  for (int i = 0; i < many; ++i) {
    const int port = server_port();
    EXPECT_TRUE(ports.insert(port).second) << port;
    EXPECT_TRUE(ports.insert(port + 10'000).second) << port;
  }
}

TEST(ServerPort, IsNotGivenToAnotherProgramMeanwhile) {
  std::set<int> ports;
  for (int i = 0; i < many; ++i) ports.insert(server_port());
  const pid_t other = ::fork();
  if (other == 0) {
    int met = 0;
    for (int i = 0; i < many; ++i) met += ports.contains(server_port()) ? 1 : 0;
    ::_exit(met > 0 ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0) << "a port was given twice";
}

}  // namespace
}  // namespace oncekey::test
