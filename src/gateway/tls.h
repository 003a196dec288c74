// The certificates and authorities of a configuration, read from their files.
#pragma once

#include <memory>

#include "gateway/config.h"
#include "http/tls_context.h"
#include "http/upstream.h"

namespace oncekey::gateway {

// All throw std::runtime_error, with a sentence for operators, when a file cannot be used.

// Null: clients speak plain HTTP.
std::shared_ptr<http::ServerTls> open_server_tls(const Config& config);

// Null: the upstream does.
std::shared_ptr<const http::ClientTls> open_upstream_tls(const Config& config);

}  // namespace oncekey::gateway
