#include "cli/demo_payments.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace oncekey::cli {
namespace {

constexpr const char* payments_name = "oncekey-example-payments";
constexpr const char* provider_name = "oncekey-example-provider";
constexpr std::chrono::seconds death_limit{10};
constexpr std::chrono::seconds healing_limit{20};
constexpr std::chrono::milliseconds look_every{50};

// Nobody's but this demo's, which listens on the loopback only.
constexpr const char* webhook_secret = "whsec_b25jZWtleS1kZW1vLXdlYmhvb2stc2VjcmV0LTAx";

// Who knows what became of a payment whose answer was lost: the service, which looks at its rows.
constexpr const char* routes = R"(
[[route]]
match = "POST /payments"
probe = { get = "/payments?idempotency_key={key}", state = "/status", executed_states = ["succeeded"], declined_states = ["declined"], answer_status = 201, every = "300ms" }
)";

bool is_replay(const DemoAnswer& answer) {
  return answer.header("Idempotency-Replayed") == "true";
}

}  // namespace

bool DemoPayments::available() {
  return !program_beside(payments_name).empty() && !program_beside(provider_name).empty() &&
         !program_beside("oncekey").empty();
}

DemoPayments::DemoPayments(std::string folder, std::string run, DemoScreen& screen)
    : folder_(std::move(folder)), run_(std::move(run)), screen_(screen) {
  std::filesystem::create_directories(folder_);
  start_provider("");
  start_service("");
  start_provider("http://" + service_address_ + "/webhooks");  // now that it is known
  start_worker("");
  gateway_ = std::make_unique<DemoGateway>(DemoPlaces{.folder = folder_,
                                                      .listen = "127.0.0.1:0",
                                                      .admin = "127.0.0.1:0",
                                                      .upstream = "http://" + service_address_,
                                                      .routes = routes});
}

void DemoPayments::start_provider(const std::string& webhook_url) {
  provider_.reset();
  provider_ = std::make_unique<DemoProcess>(
      DemoProcess::Start{.words = {program_beside(provider_name), "--listen", provider_address_,
                                   "--ledger", folder_ + "/ledger.db", "--webhook-url", webhook_url,
                                   "--webhook-secret", webhook_secret},
                         .log = folder_ + "/provider.log"});
  const std::string port = provider_->await_value("\"port\":");
  if (port.empty()) throw std::runtime_error("the provider did not start:\n" + provider_->output());
  provider_address_ = "127.0.0.1:" + port;
}

void DemoPayments::start_service(const std::string& crash_at) {
  service_.reset();
  // Short times, so that a dead process is noticed while somebody watches.
  service_ = std::make_unique<DemoProcess>(DemoProcess::Start{
      .words = {program_beside(payments_name), "--listen", service_address_, "--database",
                "sqlite:" + folder_ + "/payments.db", "--provider", "http://" + provider_address_,
                "--webhook-secret", webhook_secret, "--call-timeout-ms", "500", "--lease-ms",
                "2000", "--every-ms", "200", "--patience-ms", "500"},
      .log = folder_ + "/payments.log",
      .crash_at = crash_at});
  const std::string port = service_->await_value("\"port\":");
  if (port.empty()) throw std::runtime_error("the service did not start:\n" + service_->output());
  service_address_ = "127.0.0.1:" + port;
}

void DemoPayments::start_worker(const std::string& crash_at) {
  worker_.reset();
  const std::string config = folder_ + "/worker.toml";
  std::ofstream(config) << "[worker]\nlease = \"1s\"\npoll = \"100ms\"\n"
                        << "[[sink]]\nname = \"charges\"\nurl = \"http://" << provider_address_
                        << "/charges\"\ndecided_status = 402\n"
                        << "[[sink]]\nname = \"refunds\"\nurl = \"http://" << provider_address_
                        << "/refunds\"\n";
  worker_ = std::make_unique<DemoProcess>(DemoProcess::Start{
      .words = {program_beside("oncekey"), "worker", "--config", config, "--database",
                "sqlite:" + folder_ + "/payments.db", "--admin", "127.0.0.1:0"},
      .log = folder_ + "/worker.log",
      .crash_at = crash_at});
}

bool DemoPayments::run(int first_step, const std::function<bool()>& interrupted) {
  using Step = void (DemoPayments::*)(int);
  int number = first_step;
  for (Step step : {&DemoPayments::pay, &DemoPayments::service_dies, &DemoPayments::worker_dies,
                    &DemoPayments::sums_agree}) {
    if (interrupted() || screen_.broken()) return false;
    (this->*step)(number++);
  }
  return failures_ == 0;
}

void DemoPayments::print_places() {
  screen_.blank();
  screen_.heading("A service that owns its database can do better than \"unknown\"");
  screen_.line("gateway         http://" + gateway_->address());
  screen_.line("payments        http://" + service_address_ + "   examples/payments, on SQLite");
  screen_.line("provider        http://" + provider_address_ + "   examples/provider");
  screen_.line("worker          oncekey worker, delivers what payments leaves in its outbox");
}

void DemoPayments::pay(int step) {
  screen_.step(step, "A payment, in phases",
               "Key and row are one commit; then the provider is called under a derived key; its "
               "verdict and the answer are one commit again.");
  const std::string key = "payment-a-" + run_;
  const DemoRequest request =
      post(key, R"({"amount":1250,"currency":"EUR","reference":")" + key + "\"}");
  const DemoAnswer first = send(request);
  check(first.status == 201 && first.member("/status") == "succeeded", "201: paid");
  const DemoAnswer retry = send_request(request);
  check(is_replay(retry) && retry.body == first.body, "a retry is a replay");
  check_charged_once(key);
}

void DemoPayments::service_dies(int step) {
  screen_.step(
      step, "The service is killed between the charge and its own record of it",
      "The worst moment: money has moved, and nothing of ours says so. The process is gone "
      "(SIGKILL) the instant the provider has answered.");
  start_service("workflow-called");
  const std::string key = "payment-b-" + run_;
  const DemoRequest request =
      post(key, R"({"amount":900,"currency":"EUR","reference":")" + key + "\"}");
  const DemoAnswer cut = send(request);
  check(cut.status >= 500 || cut.status == 409, "no answer, and the gateway does not guess");
  check(service_->await_end(death_limit), "the service is dead");
  check_charged_once(key);
  const DemoAnswer waiting = send(request, "a retry meanwhile");
  check(waiting.status == 409 && waiting.member("/code") == "outcome_unknown",
        "409: being determined");
  start_service("");
  screen_.blank();
  screen_.line(
      "# the service is started again: it goes on at its last recovery point, calls under");
  screen_.line("# the same derived key, and gets the charge that there is. The gateway asks it.");
  await(request, [](const DemoAnswer& answer) { return answer.status == 201; });
  const DemoAnswer healed = send(request, "the retry, a moment later");
  check(healed.status == 201 && is_replay(healed) && healed.member("/status") == "succeeded",
        "201: healed, without anybody's help");
  check_charged_once(key);
}

void DemoPayments::worker_dies(int step) {
  screen_.step(step, "The worker is killed between a delivery and its record of it",
               "Asked not to wait, the service commits key, row and a message together. The worker "
               "delivers the message, dies, and its successor has to deliver it again.");
  start_worker("worker-delivered");
  const std::string key = "payment-c-" + run_;
  DemoRequest request = post(key, R"({"amount":700,"currency":"EUR","reference":")" + key + "\"}");
  request.headers.emplace_back("Prefer", "respond-async");
  const DemoAnswer accepted = send(request);
  check(accepted.status == 202 && !accepted.header("Location").empty(),
        "202: accepted, and where to look");
  check(worker_->await_end(death_limit), "the worker has delivered it, and is dead");
  start_worker("");
  const std::string again = worker_->await_value(R"("event":"delivered","destination":)");
  check(!again.empty(), "the next worker took over, and delivered it again");
  const DemoRequest status = get(gateway_->address(), accepted.header("Location"));
  await(status, [](const DemoAnswer& answer) { return answer.member("/status") == "succeeded"; });
  const DemoAnswer done = send(status);
  check(done.member("/status") == "succeeded", "paid");
  check_charged_once(key);
}

void DemoPayments::sums_agree(int step) {
  screen_.step(step, "The ledgers agree",
               "What the provider has moved, after two deaths, is what was asked for.");
  const DemoAnswer summary = send(get(provider_address_, "/ledger/summary"));
  check(summary.member("/sum/EUR") == "2850" && summary.member("/repeated_keys") == "{}",
        "12.50 + 9.00 + 7.00, and nothing twice");
}

std::string DemoPayments::output() const {
  return "provider:\n" + provider_->output() + "payments:\n" + service_->output() + "worker:\n" +
         worker_->output();
}

DemoRequest DemoPayments::post(const std::string& key, const std::string& body) const {
  DemoRequest request;
  request.method = "POST";
  request.address = gateway_->address();
  request.target = "/payments";
  request.headers.emplace_back("Idempotency-Key", key);
  request.body = body;
  return request;
}

DemoRequest DemoPayments::get(const std::string& address, const std::string& target) const {
  DemoRequest request;
  request.address = address;
  request.target = target;
  return request;
}

DemoAnswer DemoPayments::send(const DemoRequest& request, std::string_view note) {
  screen_.request(request, note);
  DemoAnswer answer = send_request(request);
  if (request.method == "GET") {
    screen_.body(answer);
  } else {
    screen_.answer(answer, {"Location", "Idempotency-Replayed", "Retry-After"});
  }
  return answer;
}

void DemoPayments::await(const DemoRequest& request,
                         const std::function<bool(const DemoAnswer&)>& wanted) {
  const auto limit = std::chrono::steady_clock::now() + healing_limit;
  while (std::chrono::steady_clock::now() < limit && !wanted(send_request(request))) {
    std::this_thread::sleep_for(look_every);
  }
}

void DemoPayments::check(bool holds, std::string_view expectation) {
  ++checks_;
  if (!holds) ++failures_;
  screen_.check(holds, expectation);
}

void DemoPayments::check_charged_once(const std::string& reference) {
  const DemoAnswer summary = send_request(get(provider_address_, "/ledger/summary?per=reference"));
  check(summary.member("/per_reference/" + reference) == "1",
        "the provider's ledger has it exactly once");
}

}  // namespace oncekey::cli
