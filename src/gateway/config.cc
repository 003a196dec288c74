#include "gateway/config.h"

namespace oncekey::gateway {

// What describes the answer itself. Anything about the connection, the moment or the browser is
// left out, and so is whatever an upstream may add that this list does not know.
const std::vector<std::string>& default_replay_headers() {
  static const std::vector<std::string> names{"cache-control",
                                              "content-disposition",
                                              "content-encoding",
                                              "content-language",
                                              "content-location",
                                              "content-type",
                                              "etag",
                                              "last-modified",
                                              "link",
                                              "location",
                                              "vary",
                                              "request-id",
                                              "x-request-id",
                                              "preference-applied",
                                              "deprecation",
                                              "sunset",
                                              "content-security-policy",
                                              "x-content-type-options"};
  return names;
}

}  // namespace oncekey::gateway
