// SPEC Q8, Q17, R2 on a whole service: it is killed at every step of every workflow, and its worker
// at every one of its own, on both databases. Which steps there are comes from the library's list;
// how often each is passed, from trying until the process survives. A step that is never reached
// fails the test.
#include <gtest/gtest.h>
#include <signal.h>

#include <set>

#include "oncekey/crash_point.h"
#include "payments/stage.h"
#include "support/json_text.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

constexpr int killed = 128 + SIGKILL;
constexpr int times_max = 12;  // more often no step is passed by one operation

std::set<std::string> steps_of(const std::string& role) {
  std::set<std::string> steps;
  for (const CrashPointName& known : crash_points()) {
    if (known.name.starts_with(role)) steps.emplace(known.name);
  }
  return steps;
}

struct Way {
  std::string database;
  std::string what;  // payment or refund
  bool outbox = false;
};
std::string name_of(const Way& way) {
  return way.database + "_" + way.what + (way.outbox ? "_outbox" : "_call");
}
void PrintTo(const Way& way, std::ostream* out) {
  *out << name_of(way);
}

std::vector<Way> ways(bool with_call) {
  std::vector<Way> all;
  for (const char* database : {"sqlite", "postgres"}) {
    for (const char* what : {"payment", "refund"}) {
      if (with_call) all.push_back({database, what, false});
      all.push_back({database, what, true});
    }
  }
  return all;
}

class PaymentsCrash : public testing::TestWithParam<Way> {
 protected:
  static constexpr int amount = 700;

  // An operation of its own, with what must be there before it. The service runs.
  HttpRequest new_operation(const std::string& name, const std::string& fault = "") {
    const std::string key = "key-of-" + name;
    HttpRequest request = PaymentsStage::payment(key, amount, fault);
    if (GetParam().what == "refund") {
      const HttpResponse paid = stage_.send(PaymentsStage::payment("paid-for-" + name, amount));
      EXPECT_EQ(paid.status, 201) << paid.body << paid.failure;
      ++charges_;
      request = PaymentsStage::refund(json_text(paid.body, "/id"), key, amount, fault);
      ++refunds_;
    } else {
      ++charges_;
    }
    if (GetParam().outbox) request.with("Prefer", "respond-async");
    return request;
  }

  // Starts a service that dies there, and sends the request. False: it survived, and answered.
  bool kill_service_at(const std::string& step, const HttpRequest& request, HttpResponse& answer) {
    stage_.kill_service();
    if (stage_.start_service(step)) {
      eventually([&] {  // 409 while its completer is at it
        answer = stage_.send(request);
        return answer.status != 409;
      });
    }
    if (answer.status != 0) return false;
    EXPECT_EQ(stage_.service().wait(), killed) << stage_.service().output();
    stage_.end_leases();
    return true;
  }

  void expect_done_once(const HttpRequest& request, const HttpResponse& first, bool wait_before) {
    if (wait_before) {  // without a client, the completer goes on with what was begun
      ASSERT_TRUE(eventually([this] { return stage_.unfinished().empty(); }))
          << stage_.unfinished();
    }
    HttpResponse answer;
    const int expected = GetParam().outbox ? 202 : 201;
    ASSERT_TRUE(eventually([&] {  // 409 while the completer is at it
      answer = stage_.send(request);
      return answer.status == expected;
    })) << answer.status
        << answer.body << answer.failure;
    if (first.status != 0) {
      EXPECT_EQ(first.body, answer.body);
    }
    const HttpResponse again = stage_.send(request);
    EXPECT_EQ(again.status, answer.status);
    EXPECT_EQ(again.body, answer.body);
    EXPECT_EQ(again.header("Idempotency-Replayed"), "true");
    ASSERT_TRUE(eventually([this] { return stage_.unfinished().empty(); }))
        << "left hanging: " << stage_.unfinished();
    const HttpResponse resource = stage_.get(again.header("Location"));
    EXPECT_EQ(json_text(resource.body, "/status"), "succeeded") << resource.body;
    EXPECT_EQ(stage_.provider().total("/charges"), charges_);
    EXPECT_EQ(stage_.provider().total("/refunds"), refunds_);
    EXPECT_EQ(stage_.provider().total("/sum/EUR"), amount * (charges_ - refunds_));
  }

  PaymentsStage stage_{{.database = GetParam().database}};
  int charges_ = 0;
  int refunds_ = 0;
};

std::string test_name(const testing::TestParamInfo<Way>& info) {
  return name_of(info.param);
}

INSTANTIATE_TEST_SUITE_P(On, PaymentsCrash, testing::ValuesIn(ways(true)), test_name);

TEST_P(PaymentsCrash, KilledAtEveryStepItIsDoneExactlyOnce) {
  const bool outbox = GetParam().outbox;
  if (outbox) stage_.start_worker();
  std::set<std::string> reached;
  int cases = 0;
  // A first attempt, and one that takes over from a process that died after its call. What leaves
  // by the outbox is one commit: there is nothing to take over.
  for (const bool resumed : outbox ? std::vector<bool>{false} : std::vector<bool>{false, true}) {
    for (const std::string& step : steps_of("workflow-")) {
      for (int time = 1;; ++time) {
        const std::string at = step + ":" + std::to_string(time);
        const std::string name = at + (resumed ? "-resumed" : "-first");
        SCOPED_TRACE(name);
        const HttpRequest request = new_operation(name);
        HttpResponse answer;
        if (resumed) {
          ASSERT_TRUE(kill_service_at("workflow-called:1", request, answer));
        }
        const bool died = kill_service_at(at, request, answer);
        stage_.kill_service();  // one that survived is still armed
        ASSERT_TRUE(stage_.start_service()) << stage_.service().output();
        ASSERT_NO_FATAL_FAILURE(expect_done_once(request, answer, !outbox && ++cases % 2 == 0));
        if (!died) break;
        reached.insert(step);
        ASSERT_LT(time, times_max);
      }
    }
  }
  std::set<std::string> expected = steps_of("workflow-");
  if (outbox) {
    for (const char* step : {"workflow-taken", "workflow-before-call", "workflow-called"}) {
      EXPECT_EQ(expected.erase(step), 1u) << step;
    }
  }
  EXPECT_EQ(reached, expected);
}

class PaymentsWorkerCrash : public PaymentsCrash {};

INSTANTIATE_TEST_SUITE_P(On, PaymentsWorkerCrash, testing::ValuesIn(ways(false)), test_name);

TEST_P(PaymentsWorkerCrash, KilledAtEveryStepEachMessageIsDoneExactlyOnce) {
  std::set<std::string> reached;
  for (const std::string& step : steps_of("worker-")) {
    for (int time = 1;; ++time) {
      const std::string at = step + ":" + std::to_string(time);
      SCOPED_TRACE(at);
      // Refused once, then delivered; and slow where claims have to be extended meanwhile.
      const std::string slow = step == "worker-extended" ? "slow:900, " : "";
      const HttpRequest request = new_operation(at, slow + "error-500");
      const HttpResponse answer = stage_.send(request);
      ASSERT_EQ(answer.status, 202) << answer.body;
      stage_.start_worker(at);
      ASSERT_TRUE(eventually([this] {
        return stage_.worker().wait(Milliseconds(0)).has_value() || stage_.unfinished().empty();
      })) << stage_.unfinished();
      stage_.worker().signal(SIGTERM);
      const auto code = stage_.worker().wait();
      ASSERT_TRUE(code == killed || code == 0) << stage_.worker().output();
      if (code == killed) {
        reached.insert(step);
        stage_.end_leases();
        stage_.start_worker();
      }
      ASSERT_NO_FATAL_FAILURE(expect_done_once(request, answer, false));
      stage_.kill_worker();
      if (code == 0) break;
      ASSERT_LT(time, times_max);
    }
  }
  EXPECT_EQ(reached, steps_of("worker-"));
}

}  // namespace
}  // namespace oncekey::test
