// Runs one named operation with a key file and prints how it ended: the process that the tests
// kill. client_operation URL KEY_FILE NAME BODY
#include <cstdio>

#include "oncekey/client.h"

namespace {

int fill(oncekey::KeyFile file) {
  for (int i = 0;; ++i) {
    const std::string name = "name-" + std::to_string(i);
    if (!file.take(name, "key-" + std::to_string(i), i)) return 1;
    std::printf("%s\n", name.c_str());
    std::fflush(stdout);
  }
}

}  // namespace

int main(int count, char** words) {
  if (count == 2) return fill(oncekey::KeyFile(words[1]));
  if (count != 5) return 2;
  oncekey::KeyFile file(words[2]);
  oncekey::ClientOptions options;
  options.key_file = &file;
  options.backoff_ms = 10;
  options.backoff_max_ms = 100;
  options.attempts_max = 1000;
  auto surroundings = oncekey::ClientSurroundings::real();
  surroundings.pause = [wait = surroundings.pause](oncekey::DurationMs duration,
                                                   const std::stop_token& stop) {
    std::printf("pause\n");
    std::fflush(stdout);
    wait(duration, stop);
  };
  const oncekey::Client client(words[1], options, surroundings);
  const oncekey::ClientResult result =
      client.run({.target = "/charges",
                  .headers = {{"Content-Type", "application/json"}},
                  .body = words[4],
                  .name = words[3]});
  if (const auto* finished = std::get_if<oncekey::Finished>(&result)) {
    std::printf("%d %s %s\n", finished->answer.status, finished->key.c_str(),
                finished->answer.body.c_str());
    return 0;
  }
  const auto& gave_up = std::get<oncekey::GaveUp>(result);
  std::printf("gave up: %s\n", gave_up.detail.c_str());
  return 1;
}
