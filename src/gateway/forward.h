// What goes upstream and what comes back, re-serialised: never a byte of framing is passed on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/config.h"
#include "http/exchange.h"
#include "http/head.h"

namespace oncekey::gateway {

struct ForwardedKey {
  std::string_view header;  // the route's name for it
  std::string_view value;   // as the client wrote it
  std::uint32_t attempt = 0;
};

struct ForwardContext {
  const Config& config;
  std::string_view base_path;  // of the upstream's URL
  std::string_view traceparent;
  const ForwardedKey* key = nullptr;  // null: unprotected
  bool upgrade = false;               // keep Connection and Upgrade
};

// The head of the upstream request, complete with the empty line.
void write_upstream_head(std::string& out, const http::Exchange& exchange,
                         const http::Framing& framing, const ForwardContext& context);

// Appends the fields of an upstream's answer that are meant for the client. With a key's header,
// the request was protected: what is said of its key is then the gateway's to say.
void append_relayed_fields(std::string& out, const http::ResponseHead& head,
                           std::string_view key_header = {});

}  // namespace oncekey::gateway
