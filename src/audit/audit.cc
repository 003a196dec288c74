#include "audit/audit.h"

#include <algorithm>

#include "http/field.h"
#include "verify/printable.h"

namespace oncekey::audit {
namespace {

using Names = std::vector<std::string>;

bool contains(const Names& names, const std::string& wanted) {
  return std::find(names.begin(), names.end(), wanted) != names.end();
}

bool is_excepted(const Operation& operation, const Settings& settings) {
  const auto meets = [&](const gateway::RoutePattern& pattern) {
    return contains(pattern.methods, operation.method) &&
           matches_path(pattern.path, operation.path, gateway::LetterCase::exact);
  };
  return std::any_of(settings.exceptions.begin(), settings.exceptions.end(), meets);
}

// The header that its route reads goes before the others.
void find_declaration(OperationResult& result, const Settings& settings) {
  Names names = settings.key_headers;
  const bool routed = result.protection && !result.protection->key_header.empty();
  if (routed) names.insert(names.begin(), result.protection->key_header);
  for (const std::string& name : names) {
    for (const HeaderParameter& header : result.operation.headers) {
      if (!http::equals_ignoring_case(header.name, name)) continue;
      result.declared = header.required ? Declared::required : Declared::optional;
      result.declared_name = header.name;
      return;
    }
  }
}

// Gathers what speaks against an operation, and what for it.
class Judgement {
 public:
  Judgement(const OperationResult& result, const Settings& settings)
      : result_(result), settings_(settings) {}

  Finding finding() {
    if (result_.excepted) return verify::skip("needs no key, as --except says");
    if (result_.needs_key) {
      look_at_protection();
      look_at_answer();
    } else {
      good(result_.operation.method + " is idempotent by itself");
    }
    look_at_declaration();
    if (!gaps_.empty()) return verify::fail(joined(gaps_, warnings_));
    if (warnings_.empty()) return verify::pass(joined(goods_, {}));
    return settings_.strict ? verify::fail(joined(warnings_, {}))
                            : verify::warn(joined(warnings_, {}));
  }

 private:
  void gap(std::string text) { gaps_.push_back(std::move(text)); }
  void warning(std::string text) { warnings_.push_back(std::move(text)); }
  void good(std::string text) { goods_.push_back(std::move(text)); }

  static std::string joined(const Names& first, const Names& second) {
    std::string text;
    for (const Names* parts : {&first, &second}) {
      for (const std::string& part : *parts) text += (text.empty() ? "" : "; ") + part;
    }
    return text;
  }

  void look_at_protection() {
    if (!result_.protection) return;
    const Protection& found = *result_.protection;
    const std::string route = "the route \"" + found.match + "\"";
    switch (found.kind) {
      case Protection::Kind::none:
        gap("no route matches " + found.target);
        break;
      case Protection::Kind::off:
        gap(route + " has key = \"off\", for " + found.target);
        break;
      case Protection::Kind::optional:
        warning(route + " protects only requests that bring a key (key = \"optional\")");
        break;
      case Protection::Kind::required:
        good(route + " requires the key");
        break;
    }
    const bool open = found.fail_open && found.kind >= Protection::Kind::optional;
    if (open) warning(route + " lets requests through unprotected while the store is down");
  }

  void look_at_answer() {
    if (!result_.asked) return;
    switch (result_.asked->kind) {
      case Asked::Kind::refused:
        good(result_.asked->what);
        break;
      case Asked::Kind::executed:
        gap(result_.asked->what);
        break;
      case Asked::Kind::unclear:
        warning(result_.asked->what);
        break;
    }
  }

  // Alone it is all the evidence there is; beside better evidence it is for the clients.
  void look_at_declaration() {
    const Protection* found = result_.protection ? &*result_.protection : nullptr;
    const bool refused = result_.asked && result_.asked->kind == Asked::Kind::refused;
    const bool wanted = refused || (found != nullptr && found->kind == Protection::Kind::required);
    switch (result_.declared) {
      case Declared::no:
        if (found != nullptr && found->key_in_body) break;
        if (result_.needs_key && found == nullptr && !refused) {
          gap("the document declares no key");
        } else if (wanted) {
          warning(
              "the document does not declare the key that is required: clients made from it "
              "send none");
        }
        break;
      case Declared::optional:
        if (!result_.needs_key && !wanted) break;
        warning(wanted ? "the document calls the key optional, and it is required"
                       : "the document calls the key optional: without it nothing is protected");
        break;
      case Declared::required:
        good("the document requires " + result_.declared_name);
        break;
    }
    const bool other = found != nullptr && !found->key_header.empty() &&
                       result_.declared != Declared::no &&
                       !http::equals_ignoring_case(found->key_header, result_.declared_name);
    if (other) {
      warning("the document declares " + result_.declared_name + ", the route reads " +
              found->key_header);
    }
  }

  const OperationResult& result_;
  const Settings& settings_;
  Names gaps_;
  Names warnings_;
  Names goods_;
};

}  // namespace

std::string_view to_string(Declared declared) {
  switch (declared) {
    case Declared::no:
      return "no";
    case Declared::optional:
      return "optional";
    case Declared::required:
      return "required";
  }
  return "";
}

bool OperationResult::wants_route() const {
  if (finding.verdict != Verdict::fail) return false;
  return !protection || protection->kind != Protection::Kind::required || protection->fail_open;
}

std::vector<OperationResult> results_of(const Api& api, const Settings& settings,
                                        const gateway::RouteTable* routes) {
  std::vector<OperationResult> results;
  for (const Operation& operation : api.operations) {
    OperationResult result;
    result.operation = operation;
    result.needs_key = contains(settings.methods, operation.method);
    result.excepted = is_excepted(operation, settings);
    if (routes != nullptr)
      result.protection = Coverage(*routes, api).of(operation, settings.base_paths);
    find_declaration(result, settings);
    results.push_back(std::move(result));
  }
  return results;
}

void judge(std::vector<OperationResult>& results, const Settings& settings) {
  for (OperationResult& result : results) result.finding = Judgement(result, settings).finding();
}

int Report::count(Verdict verdict) const {
  return static_cast<int>(std::count_if(
      results.begin(), results.end(),
      [verdict](const OperationResult& each) { return each.finding.verdict == verdict; }));
}

std::string Report::conclusion() const {
  const int gaps = count(Verdict::fail);
  const int warnings = count(Verdict::warning);
  if (results.empty()) return "Nothing to protect: no operation changes anything.";
  if (gaps > 0) {
    return "Not safe to retry: " +
           verify::times(gaps, "operation has a gap", "operations have a gap") + ".";
  }
  std::string text = "No gap found";
  if (warnings > 0) text += ", " + verify::times(warnings, "warning", "warnings");
  return text + ".";
}

}  // namespace oncekey::audit
