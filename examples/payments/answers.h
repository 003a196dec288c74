// The answers of this service, those to outcomes of a workflow among them.
#pragma once

#include <oncekey/workflow.h>

#include <nlohmann/json.hpp>
#include <string>

namespace payments {

using Answer = oncekey::StoredResponse;

// A payment or refund, with its own address: /payments/ID.
Answer resource_answer(int status, const std::string& path, const nlohmann::json& resource);

// application/problem+json. `retry_in`: Retry-After; a retry with the same key makes sense.
Answer problem(int status, const std::string& code, const std::string& detail,
               std::chrono::milliseconds retry_in = {});
Answer invalid(const std::string& detail);    // 400
Answer not_found(const std::string& detail);  // 404
Answer key_used_before();                     // 410: its record is gone, its payment is not

// What the client gets for each way a run can end.
Answer answer_to(const oncekey::RunOutcome& outcome);

}  // namespace payments
