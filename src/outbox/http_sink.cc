// Messages as POST requests, signed as Standard Webhooks where a secret is set.
#include <simdjson.h>

#include <fstream>

#include "http/client.h"
#include "http/decimal.h"
#include "http/tls_context.h"
#include "outbox/retry_after.h"
#include "outbox/signature.h"
#include "outbox/sink.h"

namespace oncekey::outbox {

namespace {

constexpr std::string_view message_id_header = "Oncekey-Message-Id";
constexpr std::string_view attempt_header = "Idempotency-Attempt";
constexpr std::string_view default_content_type = "application/json";
constexpr std::size_t provider_id_max = 255;

bool is_field_value(std::string_view value) {
  for (char c : value) {
    auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t') || byte == 0x7f) return false;
  }
  return true;
}

void add(std::string& fields, std::string_view name, std::string_view value) {
  fields.append(name).append(": ").append(value).append("\r\n");
}

// The receiver asks for the same message again, now or later.
bool is_passing(int status) {
  return status == 408 || status == 409 || status == 425 || status == 429 || status >= 500;
}

Result<std::vector<WebhookSecret>, std::string> read_secrets(const SinkConfig& config) {
  std::vector<WebhookSecret> secrets;
  for (std::size_t i = 0; i < config.secrets.size(); ++i) {
    auto secret = parse_webhook_secret(config.secrets[i]);
    if (!secret) return "secret " + std::to_string(i + 1) + " " + secret.error();
    secrets.push_back(std::move(*secret));
  }
  if (config.secret_file.empty()) return secrets;
  std::ifstream file(config.secret_file);
  if (!file) return "secret_file \"" + config.secret_file + "\" cannot be read";
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty()) continue;
    auto secret = parse_webhook_secret(line);
    if (!secret) {
      return config.secret_file + ":" + std::to_string(number) + ": the secret " + secret.error();
    }
    secrets.push_back(std::move(*secret));
  }
  if (secrets.empty()) return "secret_file \"" + config.secret_file + "\" holds no secret";
  return secrets;
}

class HttpSink final : public Sink {
 public:
  HttpSink(http::Loop& loop, http::Destination destination, http::ClientOptions options,
           const SinkConfig& config, std::vector<WebhookSecret> secrets, UnixSeconds clock)
      : client_(loop, std::move(destination), options),
        config_(config),
        secrets_(std::move(secrets)),
        clock_(std::move(clock)) {}

  http::Task<Delivery> deliver(const Claimed& claimed) override {
    std::string fields;
    std::string trouble = write_fields(claimed, fields);
    if (!trouble.empty()) co_return NotDelivered{std::move(trouble), true};
    http::ClientRequest request;
    request.method = "POST";
    request.fields = fields;
    request.body = claimed.message.payload;
    http::ClientOutcome outcome = co_await client_.send(request);
    if (auto* nothing = std::get_if<http::NothingSent>(&outcome)) {
      co_return NotDelivered{std::move(nothing->error)};
    }
    if (auto* silence = std::get_if<http::NoAnswer>(&outcome)) {
      co_return NotDelivered{std::move(silence->error)};
    }
    co_return judge(std::get<http::Answered>(outcome));
  }

  void cancel() override { client_.cancel(); }

 private:
  // Returns why this message can never be sent; "": it can.
  std::string write_fields(const Claimed& claimed, std::string& fields) const {
    const Message& message = claimed.message;
    fields.reserve(512);
    bool typed = false;
    for (const Header& header : message.headers) {
      if (!http::is_token(header.name) || !is_field_value(header.value)) {
        return "the header \"" + header.name + "\" of the message cannot be sent";
      }
      const http::FieldId id = http::field_id(header.name);
      if (is_ours(header.name, id)) continue;
      typed = typed || id == http::FieldId::content_type;
      add(fields, header.name, header.value);
    }
    if (!is_field_value(message.message_key)) {
      return "the message key has characters that no header can have";
    }
    if (!typed) add(fields, "Content-Type", default_content_type);
    add(fields, config_.key_header, message.message_key);
    add(fields, message_id_header, std::to_string(claimed.id));
    add(fields, attempt_header, std::to_string(claimed.attempt));
    if (!secrets_.empty()) sign(message, fields);
    return "";
  }

  void sign(const Message& message, std::string& fields) const {
    const std::int64_t now_s = clock_();
    add(fields, webhook_id_header, message.message_key);
    add(fields, webhook_timestamp_header, std::to_string(now_s));
    add(fields, webhook_signature_header,
        webhook_signature(secrets_, message.message_key, now_s, message.payload));
  }

  // What a message's own headers may not say.
  bool is_ours(std::string_view name, http::FieldId id) const {
    return http::is_hop_by_hop(id) || id == http::FieldId::host ||
           id == http::FieldId::content_length || id == http::FieldId::expect ||
           http::equals_ignoring_case(name, config_.key_header) ||
           http::equals_ignoring_case(name, message_id_header) ||
           http::equals_ignoring_case(name, attempt_header) ||
           http::equals_ignoring_case(name, webhook_id_header) ||
           http::equals_ignoring_case(name, webhook_timestamp_header) ||
           http::equals_ignoring_case(name, webhook_signature_header);
  }

  Delivery judge(const http::Answered& answer) const {
    const bool decided = answer.status == static_cast<int>(config_.decided_status);
    if ((answer.status >= 200 && answer.status < 300) || decided) {
      return Delivered{provider_id(answer)};
    }
    NotDelivered refused;
    refused.error = "the receiver answered " + std::to_string(answer.status);
    if (is_passing(answer.status)) {
      if (const std::string* after = answer.header("Retry-After")) {
        refused.not_before = parse_retry_after(*after, clock_());
      }
    } else if (answer.status >= 400) {
      refused.hopeless = config_.on_4xx == On4xx::dead;
    }  // a redirection is never followed: where it leads is for the configuration to say
    return refused;
  }

  std::string provider_id(const http::Answered& answer) const {
    std::string id;
    if (!config_.provider_id_header.empty()) {
      if (const std::string* value = answer.header(config_.provider_id_header)) id = *value;
    } else if (!config_.provider_id_pointer.empty() && !answer.body_cut) {
      id = id_in(answer.body);
    }
    if (id.size() > provider_id_max) id.resize(provider_id_max);
    return id;
  }

  // A string or a whole number.
  std::string id_in(const std::string& body) const {
    if (body.empty() || (body.front() != '{' && body.front() != '[')) return "";
    thread_local simdjson::dom::parser parser;
    simdjson::dom::element document;
    if (parser.parse(body.data(), body.size()).get(document) != simdjson::SUCCESS) return "";
    simdjson::dom::element found;
    if (document.at_pointer(config_.provider_id_pointer).get(found) != simdjson::SUCCESS) return "";
    std::string_view text;
    if (found.get_string().get(text) == simdjson::SUCCESS) return std::string(text);
    std::int64_t number = 0;
    if (found.get_int64().get(number) == simdjson::SUCCESS) return std::to_string(number);
    return "";
  }

  http::Client client_;
  SinkConfig config_;
  std::vector<WebhookSecret> secrets_;
  UnixSeconds clock_;
};

}  // namespace

Result<std::unique_ptr<Sink>, std::string> open_http_sink(http::Loop& loop,
                                                          const SinkConfig& config,
                                                          const UnixSeconds& clock) {
  auto destination = http::parse_destination(config.url);
  if (!destination) return destination.error();
  auto secrets = read_secrets(config);
  if (!secrets) return secrets.error();
  http::ClientOptions options;
  options.timeout_ms = config.timeout_ms;
  options.response_limit = config.response_limit;
  options.idle_max = config.in_flight_max;
  if (destination->secure) {
    auto tls = http::ClientTls::open({.ca = config.ca});
    if (!tls) return tls.error();
    options.tls = *tls;
  }
  return std::unique_ptr<Sink>(std::make_unique<HttpSink>(loop, std::move(*destination), options,
                                                          config, std::move(*secrets), clock));
}

}  // namespace oncekey::outbox
