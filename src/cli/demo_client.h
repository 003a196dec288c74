// One request over one real socket, and what came back, for the demo's tour.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace oncekey::cli {

struct DemoRequest {
  std::string method = "GET";
  std::string address;  // host:port
  std::string target = "/";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;  // JSON; sent and shown when the method is not GET

  // The same request for a shell, in lines.
  std::vector<std::string> curl() const;
};

struct DemoAnswer {
  int status = 0;  // 0: no complete answer came, `failure` says why
  std::string status_line;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::string failure;

  std::string header(std::string_view name) const;  // "": absent
  // Of its JSON body, by pointer: a text, or any other value as JSON; "": absent.
  std::string member(std::string_view pointer) const;
};

// Blocks; an answer that stays away for 60 s is a failure.
DemoAnswer send_request(const DemoRequest& request);

}  // namespace oncekey::cli
