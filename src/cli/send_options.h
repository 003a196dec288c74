// What `oncekey send` was told.
#pragma once

#include <string>

#include "cli/serve_options.h"
#include "oncekey/client.h"
#include "oncekey/result.h"

namespace oncekey::cli {

struct SendOptions {
  std::string base_url;  // scheme and host
  ClientOperation operation;
  ClientOptions client;
  std::string key_file;  // "": none
  bool with_head = false;
  bool quiet = false;
  bool json = false;
};

// The error is the exit code, after what was wrong has been printed; 0 when help was asked for.
Result<SendOptions, int> parse_send_options(int argc, const char* const* argv,
                                            const Surroundings& surroundings);

}  // namespace oncekey::cli
