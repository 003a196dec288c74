// An upstream's answer on its way to the client, after what had to be recorded is.
#pragma once

#include "gateway/context.h"
#include "gateway/dispatch.h"
#include "http/exchange.h"

namespace oncekey::gateway {

// The upstream's status and the fields that are meant for the client. With a key's header, the
// request was protected: what is said of its key is then the gateway's to say.
http::ResponseStart relayed_start(const DispatchResult& result, std::string_view key_header);

// Sends `start` and the body, however large; then the connection may serve others.
http::Task<void> relay(const Context& context, http::Exchange& exchange, const RouteConfig& route,
                       DispatchResult& result, http::ResponseStart& start);

}  // namespace oncekey::gateway
