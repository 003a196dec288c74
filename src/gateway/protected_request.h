// The life of one protected request: key, tenant, body, fingerprint, reserve, dispatch, settle,
// answer. The order of the last four is the product.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/admission.h"
#include "gateway/context.h"
#include "gateway/later_attempt.h"
#include "gateway/trace.h"
#include "http/exchange.h"

namespace oncekey::gateway {

class ProtectedRequest {
 public:
  ProtectedRequest(const Context& context, http::Exchange& exchange, const Route& route);

  // False: the key is optional and absent, and nothing was done; the request passes unprotected.
  http::Task<bool> run();

 private:
  enum class KeyFound { yes, in_body, absent, refused };
  struct Refusal {
    AnswerCase answer_case;
    std::string detail;  // "": the case's own sentence
  };

  // Each of these leaves a refusal when the request cannot go on.
  KeyFound find_key();
  void find_key_in_body();
  void find_tenant();
  void find_age();
  void judge_body(http::BodyRead read);
  void compute_fingerprint();
  bool refused() const { return refusal_.has_value(); }

  http::Task<void> reserve();
  http::Task<void> execute(Execute hold, std::int64_t lease_over_us);
  http::Task<void> fail_open();
  http::Task<void> replay(const Replay& stored);
  http::Task<void> accept(const Execute& hold, bool preferred);
  http::Task<void> answer_attempt(Attempt& done);
  void give_back(const Execute& hold);
  http::Task<void> answer(Decision decision, AnswerCase answer_case, std::string_view detail = {},
                          std::optional<DurationMs> retry_after_ms = {}, int status = 0);
  void fill_reserve(Reserve& reserve) const;
  std::string_view echoed_key() const {
    return sent_key_.empty() ? std::string_view(id_.key) : sent_key_;
  }
  void add_idempotency_fields(http::ResponseStart& start, TimestampMs expires_at) const;
  void write_log();

  const Context& context_;
  http::Exchange& exchange_;
  const RouteConfig& route_;
  std::int64_t started_us_;
  Trace trace_;
  RecordId id_;
  std::string tenant_;         // without what the route adds to the scope
  std::string_view sent_key_;  // as the client wrote it; empty when the key was in the body
  std::string body_;
  RequestAge age_;
  Fingerprint fingerprint_;
  std::optional<Refusal> refusal_;
  RequestLine line_;
  std::string error_;
  std::string instance_;  // of the gateway's own answer, for the log
};

}  // namespace oncekey::gateway
