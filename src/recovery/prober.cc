#include "recovery/prober.h"

#include <future>

#include "http/tls_context.h"
#include "recovery/placeholders.h"

namespace oncekey::recovery {

ProbeRequest probe_request(const ProbeRules& rules, const RecordId& id) {
  ProbeRequest request;
  request.url = fill_in(rules.get, PlaceholderUse::url, id);
  for (const std::string& header : rules.headers) {
    request.fields += fill_in(header, PlaceholderUse::header, id) + "\r\n";
  }
  request.timeout_ms = rules.timeout_ms;
  request.response_limit = rules.response_limit;
  request.tls = rules.tls;
  return request;
}

struct Prober::Round {
  std::size_t running = 0;
  std::promise<void> done;
};

Prober::Prober() : thread_([this] { loop_.run(); }) {}

Prober::~Prober() {
  std::promise<void> closed;
  loop_.post([&] {
    clients_.clear();
    closed.set_value();
  });
  closed.get_future().wait();
  loop_.stop();
  thread_.join();
}

std::vector<ProbeAnswer> Prober::ask(const std::vector<ProbeRequest>& requests) {
  std::vector<ProbeAnswer> answers(requests.size());
  if (requests.empty()) return answers;
  Round round;
  round.running = requests.size();
  std::future<void> done = round.done.get_future();
  loop_.post([&] {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      http::spawn(ask_one(requests[i], answers[i], round));
    }
  });
  done.wait();
  return answers;
}

void Prober::stop() {
  loop_.post([this] {
    stopping_ = true;
    for (auto& [name, client] : clients_) client->cancel();
  });
}

http::Task<void> Prober::ask_one(const ProbeRequest& request, ProbeAnswer& answer, Round& round) {
  auto destination = http::parse_destination(request.url);
  if (stopping_) {
    answer.error = "shutting down";
  } else if (!destination) {
    answer.error = destination.error();
  } else {
    http::ClientRequest get;
    get.target = destination->target;
    get.fields = request.fields;
    http::Client* client = client_of(request, *destination, answer.error);
    http::ClientOutcome outcome = http::NothingSent{answer.error};
    if (client) outcome = co_await client->send(get);
    if (auto* answered = std::get_if<http::Answered>(&outcome)) {
      answer.status = answered->status;
      answer.headers = std::move(answered->headers);
      answer.body = std::move(answered->body);
      answer.body_cut = answered->body_cut;
    } else if (auto* nothing_sent = std::get_if<http::NothingSent>(&outcome)) {
      answer.error = nothing_sent->error;
    } else {
      answer.error = std::get<http::NoAnswer>(outcome).error;
    }
  }
  if (--round.running == 0) round.done.set_value();
}

http::Client* Prober::client_of(const ProbeRequest& request, const http::Destination& destination,
                                std::string& error) {
  std::string name = destination.authority + " " + std::to_string(request.timeout_ms) + " " +
                     std::to_string(request.response_limit);
  if (destination.secure) {
    const http::ClientTlsOptions& tls = request.tls;
    for (const std::string* part : {&tls.ca, &tls.server_name, &tls.cert}) name += " " + *part;
    name += tls.verify ? " https" : " https unverified";
  }
  std::unique_ptr<http::Client>& client = clients_[std::move(name)];
  if (!client) {
    http::ClientOptions options;
    options.timeout_ms = request.timeout_ms;
    options.response_limit = request.response_limit;
    if (destination.secure) {
      auto tls = http::ClientTls::open(request.tls);
      if (!tls) {
        error = tls.error();
        return nullptr;
      }
      options.tls = *tls;
    }
    client = std::make_unique<http::Client>(loop_, destination, options);
  }
  return client.get();
}

}  // namespace oncekey::recovery
