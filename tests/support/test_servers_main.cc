// Starts and stops the servers that test cases share; see support/shared_servers.h.
#include <exception>
#include <iostream>
#include <string>

#include "support/server_keeper.h"

int main(int count, char** words) {
  std::string action = count == 3 ? words[1] : "";
  try {
    if (action == "start") {
      oncekey::test::start_keeper(words[2]);
    } else if (action == "stop") {
      oncekey::test::stop_keeper(words[2]);
    } else {
      std::cerr << "usage: test_servers start DIRECTORY | stop DIRECTORY\n";
      return 2;
    }
  } catch (const std::exception& error) {
    std::cerr << "test_servers: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
