#include "boundary/answer_wording.h"

#include "oncekey/assert.h"

namespace oncekey {
namespace {

constexpr std::string_view api_error = "api_error";

constexpr Wording key_missing{
    .status = 400,
    .code = "idempotency_key_missing",
    .title = "The request has no idempotency key",
    .detail =
        "This operation needs a key so that it can be retried safely. Send the header {header} "
        "with a random value of your own, such as a UUID, and repeat the same value in every "
        "retry of this operation. Nothing was executed.",
    .safe_new_key = true,
};

constexpr Wording key_invalid{
    .status = 400,
    .code = "idempotency_key_invalid",
    .title = "The idempotency key is not valid",
    .detail =
        "The value of {header} cannot be used. Send one line with a random value, such as a "
        "UUID. Nothing was executed.",
    .safe_new_key = true,
};

constexpr Wording tenant_refused{
    .status = 401,
    .code = "credentials_refused",
    .title = "The request's credentials are not accepted",
    .detail =
        "The credentials are malformed, expired or unknown here. Send valid ones, and the same key "
        "again. Nothing was executed.",
};

constexpr Wording tenant_missing{
    .status = 401,
    .code = "credentials_missing",
    .title = "The request does not say who sends it",
    .detail =
        "The credentials that tell one caller's keys from another's are missing. Send them, and "
        "the same key again. Nothing was executed.",
};

constexpr Wording mismatch{
    .status = 422,
    .stripe_status = 400,
    .code = "idempotency_key_reused",
    .stripe_type = "idempotency_error",
    .title = "The idempotency key was used for a different request",
    .detail =
        "The value of {header} already belongs to a request with another method, path or body. "
        "To retry that request, send exactly what was sent first. For a new operation, send a "
        "new key. This request was not executed.",
    .safe_new_key = true,
};

constexpr Wording in_flight{
    .status = 409,
    .code = "request_in_flight",
    .title = "The first request with this key is still running",
    .detail =
        "Wait for the time in Retry-After and send the same request with the same key again: "
        "you will get the answer of the first one. Do not use a new key, the operation could "
        "run twice.",
    .retryable = true,
    .retry_after = true,
};

constexpr Wording outcome_unknown{
    .status = 409,
    .code = "outcome_unknown",
    .stripe_type = api_error,
    .title = "It is not yet known whether the request was executed",
    .detail =
        "An earlier request with this key got no certain answer, and its outcome is being "
        "determined. Send the same request with the same key again after the time in "
        "Retry-After. Do not use a new key, the operation could run twice.",
    .retryable = true,
    .retry_after = true,
};

constexpr Wording result_expired{
    .status = 410,
    .code = "result_expired",
    .title = "The result of this key is no longer kept",
    .detail =
        "A request with this key was executed earlier, and the time for which its answer is "
        "kept is over. It will not run again. Look the result up in the API itself; use a new "
        "key only for a new operation.",
};

constexpr Wording result_not_kept{
    .status = 410,
    .code = "result_expired",
    .title = "The result of this key was not kept",
    .detail =
        "A request with this key was executed, but there is no answer to repeat: it was too large "
        "to be kept, or that it was executed was found out later, without it. It will not run "
        "again. Look the result up in the API itself; use a new key only for a new operation.",
};

constexpr Wording result_unreadable{
    .status = 503,
    .code = "result_unreadable",
    .stripe_type = api_error,
    .title = "The stored result cannot be read",
    .detail =
        "A request with this key was executed, but this server cannot read the answer that is "
        "stored, for example because a newer version wrote it. It will not run again. Retry "
        "later with the same key, not with a new one.",
    .retryable = true,
    .retry_after = true,
};

constexpr Wording store_unavailable{
    .status = 503,
    .code = "store_unavailable",
    .stripe_type = api_error,
    .title = "The request could not be made safe to retry",
    .detail =
        "The store of idempotency keys does not answer at the moment, so that it cannot be said "
        "whether this key was used before. Send the same request with the same key again after "
        "the time in Retry-After.",
    .retryable = true,
    .retry_after = true,
};

constexpr Wording upstream_unreachable{
    .status = 502,
    .code = "upstream_unreachable",
    .stripe_type = api_error,
    .title = "The service behind this gateway cannot be reached",
    .detail = "Nothing of this request was sent to the service. Send it with the same key again.",
    .retryable = true,
    .retry_after = true,
};

constexpr Wording upstream_failed{
    .status = 502,
    .code = "upstream_failed",
    .stripe_type = api_error,
    .title = "The service behind this gateway gave no valid answer",
    .detail =
        "The request was sent, but no whole answer came back. It may have been executed: this "
        "operation is not protected by an idempotency key.",
};

constexpr Wording body_too_large{
    .status = 413,
    .code = "body_too_large",
    .title = "The request's body is too large",
    .detail = "The body is larger than this operation allows. Nothing was executed.",
    .safe_new_key = true,
};

constexpr Wording request_invalid{
    .status = 400,
    .code = "request_invalid",
    .title = "The request is not valid HTTP",
    .detail = "The request's framing or header is malformed or ambiguous. Nothing was executed.",
    .safe_new_key = true,
};

constexpr Wording request_timeout{
    .status = 408,
    .code = "request_timeout",
    .title = "The request did not arrive in time",
    .detail =
        "The connection was open too long before the request was complete. Nothing was "
        "executed; send it with the same key again.",
    .retryable = true,
};

constexpr Wording header_too_large{
    .status = 431,
    .code = "header_too_large",
    .title = "The request's header is too large",
    .detail =
        "The header lines have too many bytes or there are too many of them. Nothing was "
        "executed.",
    .safe_new_key = true,
};

constexpr Wording not_supported{
    .status = 501,
    .code = "not_supported",
    .title = "The request uses a feature that is not supported",
    .detail =
        "This gateway does not support the method, upgrade or transfer coding that was asked "
        "for. Nothing was executed.",
    .safe_new_key = true,
};

constexpr Wording first_sent_invalid{
    .status = 400,
    .code = "first_sent_invalid",
    .title = "The request does not say when it was first sent",
    .detail =
        "This operation only takes requests that say in a header when they were first sent: once, "
        "as an HTTP-date or as RFC 3339 has it. Send the same value in every retry. Nothing was "
        "executed.",
    .safe_new_key = true,
};

constexpr Wording outside_window{
    .status = 412,
    .code = "request_outside_window",
    .title = "The request was first sent too long ago, or in the future",
    .detail =
        "A request this old is not executed any more, and nothing is known of its key: it was "
        "never executed, or so long ago that the key is forgotten. Look in the API itself whether "
        "it was; only then send it as a new operation, with a new key and a new time.",
};

constexpr Wording too_many_new_keys{
    .status = 429,
    .code = "too_many_new_keys",
    .title = "Too many new keys in a short time",
    .detail =
        "Requests with new keys come faster than they may. This one was not executed; send it "
        "with the same key again after the time in Retry-After. Retries of earlier requests are "
        "not limited.",
    .retryable = true,
    .retry_after = true,
};

constexpr Wording too_many_live_keys{
    .status = 429,
    .code = "too_many_keys",
    .title = "As many keys are remembered as may be",
    .detail =
        "For each key an answer is kept for a while, and there are as many of them as are "
        "allowed. This request was not executed; send it with the same key again after the time "
        "in Retry-After. Retries of earlier requests are not limited.",
    .retryable = true,
    .retry_after = true,
};

constexpr Wording key_not_found{
    .status = 404,
    .code = "key_not_found",
    .title = "There is no such key",
    .detail =
        "With these credentials no request was sent with this key, or what is known of it is no "
        "longer kept.",
};

constexpr Wording not_executed{
    .status = 409,
    .code = "not_executed",
    .title = "The request was not executed",
    .detail =
        "The last attempt with this key is proved not to have been executed, so there is no "
        "answer to it. Send the same request with the same key again.",
    .retryable = true,
};

constexpr Wording route_paused{
    .status = 503,
    .code = "route_paused",
    .stripe_type = api_error,
    .title = "This operation is paused",
    .detail =
        "New requests of this kind are not executed for the moment; answers to earlier ones are "
        "still repeated. This request was not executed; send it with the same key again after the "
        "time in Retry-After.",
    .retryable = true,
    .retry_after = true,
};

constexpr Wording overloaded{
    .status = 503,
    .code = "overloaded",
    .stripe_type = api_error,
    .title = "The server cannot take more requests now",
    .detail =
        "The server has too many connections or is shutting down. This request was not "
        "executed; send it with the same key again after the time in Retry-After.",
    .retryable = true,
    .retry_after = true,
};

}  // namespace

const Wording& wording(AnswerCase answer_case) {
  switch (answer_case) {
    case AnswerCase::key_missing:
      return key_missing;
    case AnswerCase::key_invalid:
      return key_invalid;
    case AnswerCase::tenant_missing:
      return tenant_missing;
    case AnswerCase::tenant_refused:
      return tenant_refused;
    case AnswerCase::mismatch:
      return mismatch;
    case AnswerCase::in_flight:
      return in_flight;
    case AnswerCase::outcome_unknown:
      return outcome_unknown;
    case AnswerCase::result_expired:
      return result_expired;
    case AnswerCase::result_not_kept:
      return result_not_kept;
    case AnswerCase::result_unreadable:
      return result_unreadable;
    case AnswerCase::store_unavailable:
      return store_unavailable;
    case AnswerCase::upstream_unreachable:
      return upstream_unreachable;
    case AnswerCase::upstream_failed:
      return upstream_failed;
    case AnswerCase::body_too_large:
      return body_too_large;
    case AnswerCase::request_invalid:
      return request_invalid;
    case AnswerCase::request_timeout:
      return request_timeout;
    case AnswerCase::header_too_large:
      return header_too_large;
    case AnswerCase::not_supported:
      return not_supported;
    case AnswerCase::first_sent_invalid:
      return first_sent_invalid;
    case AnswerCase::outside_window:
      return outside_window;
    case AnswerCase::too_many_new_keys:
      return too_many_new_keys;
    case AnswerCase::too_many_live_keys:
      return too_many_live_keys;
    case AnswerCase::key_not_found:
      return key_not_found;
    case AnswerCase::not_executed:
      return not_executed;
    case AnswerCase::route_paused:
      return route_paused;
    case AnswerCase::overloaded:
      return overloaded;
  }
  ONCEKEY_ASSERT(!"an answer case without wording");
  return request_invalid;
}

}  // namespace oncekey
