// A stored answer's body, ready to be sent again.
#pragma once

#include <string>
#include <string_view>

#include "boundary/response_codec.h"

namespace oncekey::gateway {

class ReplayedAnswer {
 public:
  // False: this build cannot read it, and `why` says so. `response` must outlive this object.
  bool read(const StoredResponse& response, std::string& why) {
    body_ = response.body;
    if (response.schema_version == StoredResponse::current_schema_version &&
        response.body_encoding == BodyEncoding::identity) {
      return true;
    }
    Result<std::string, UnpackError> result = unpack_body(response);
    if (!result) {
      why = result.error().reason;
      return false;
    }
    unpacked_ = std::move(*result);
    body_ = unpacked_;
    return true;
  }
  std::string_view body() const { return body_; }

 private:
  std::string unpacked_;
  std::string_view body_;
};

}  // namespace oncekey::gateway
