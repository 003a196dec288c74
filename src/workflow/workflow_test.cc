#include "oncekey/workflow.h"

#include <gtest/gtest.h>

#include <string>

namespace oncekey {
namespace {

PhaseEnd finish(const PhaseBody&) {
  return Finish{};
}

std::string nothing(const PhaseCall&) {
  return "";
}

Phase named(std::string name, std::vector<std::string> next = {}) {
  return {.name = std::move(name), .body = finish, .next = std::move(next)};
}

std::string complaint(std::string name, std::vector<Phase> phases) {
  try {
    const Workflow workflow(std::move(name), std::move(phases));
    return "none";
  } catch (const Misuse& misuse) {
    return misuse.what();
  }
}

TEST(Workflow, LeadsFromEachPhaseToTheNextUnlessItSaysWhere) {
  const Workflow workflow("w", {named("a", {"b", "d"}), named("b"), named("c"), named("d")});
  EXPECT_TRUE(workflow.leads_to(0, 1));
  EXPECT_FALSE(workflow.leads_to(0, 2));
  EXPECT_TRUE(workflow.leads_to(0, 3));
  EXPECT_TRUE(workflow.leads_to(1, 2));
  EXPECT_FALSE(workflow.leads_to(3, 0));
  EXPECT_EQ(workflow.find("c"), 2u);
  EXPECT_EQ(workflow.find("nowhere"), 4u);
}

TEST(Workflow, KnowsWhereACallMayHaveBeenMade) {
  Phase calls = named("b");
  calls.call = nothing;
  const Workflow workflow("w", {named("a", {"b", "c"}), calls, named("c", {"d"}), named("d")});
  EXPECT_FALSE(workflow.called_by_then(0));
  EXPECT_TRUE(workflow.called_by_then(1));
  EXPECT_TRUE(workflow.called_by_then(2));
  EXPECT_TRUE(workflow.called_by_then(3));
  const Workflow apart("w", {named("a", {"b", "c"}), calls, named("c")});
  EXPECT_TRUE(apart.called_by_then(2));  // b leads to c when it does not say otherwise
}

TEST(Workflow, SaysWhatIsWrongWithIt) {
  EXPECT_EQ(complaint("w", {named("a")}), "none");
  const auto says = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  says(complaint("w", {}), "has no phase");
  says(complaint("", {named("a")}), "a workflow is named \"\"");
  says(complaint(std::string(65, 'w'), {named("a")}), "1 to 64 visible");
  says(complaint("w", {named("two words")}), "phase 1 is named \"two words\"");
  says(complaint("w", {named("a"), named("a")}), "two phases are named \"a\"");
  says(complaint("w", {{.name = "a"}}), "phase \"a\" has no body");
  says(complaint("w", {named("a", {"x"}), named("b")}), "leads to \"x\", which is no phase");
  says(complaint("w", {named("a"), named("b", {"a"})}), "leads back to \"a\"");
  says(complaint("w", {named("a", {"c"}), named("b"), named("c")}), "no phase leads to \"b\"");
  says(complaint("w", std::vector<Phase>(101, named("a"))), "more than 100 phases");
}

}  // namespace
}  // namespace oncekey
