// How charges, refunds, errors and events look on the wire.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "ledger.h"

namespace httplib {
struct Response;
}

namespace provider {

nlohmann::json describe(const Entry& entry);
KeptAnswer answer_of(const Entry& entry);  // to the POST that made it: 201, or 402 when declined
std::string event_of(const Entry& entry);  // the webhook's body

// "abc" and abc are the same key.
std::string bare_key(std::string_view header);

void send_text(httplib::Response& response, int status, const std::string& json_text);
void send_json(httplib::Response& response, int status, const nlohmann::json& body);
void send_error(httplib::Response& response, int status, std::string_view type,
                std::string_view code, std::string_view message);

}  // namespace provider
