// An operation as the bytes of an HTTP request.
#pragma once

#include <string>

#include "http/address.h"
#include "oncekey/client.h"

namespace oncekey::client {

// What about the operation cannot be sent, and why; "": nothing.
std::string objection_to(const ClientOperation& operation, const std::string& key,
                         const ClientOptions& options);

// Of an operation without objections.
std::string request_text(const http::HttpUrl& url, const ClientOperation& operation,
                         const std::string& key, const ClientOptions& options);

// A random UUID, version 4.
std::string random_key();

}  // namespace oncekey::client
