#include "gateway/policy_page.h"

#include "boundary/html.h"
#include "gateway/config_units.h"
#include "gateway/policy_html.h"

namespace oncekey::gateway {
namespace {

std::string tag(std::string_view name, std::string_view inner_html) {
  return "<" + std::string(name) + ">" + std::string(inner_html) + "</" + std::string(name) + ">";
}

std::string code(std::string_view text) {
  return tag("code", escape_html(text));
}

std::string link(std::string_view code_name) {
  return "<a href=\"#" + escape_html(code_name) + "\">" + escape_html(code_name) + "</a>";
}

std::string row(std::string_view name, const std::string& inner_html) {
  return "<dt>" + escape_html(name) + "</dt><dd>" + inner_html + "</dd>\n";
}

std::string key_sentence(const RouteConfig& route) {
  if (route.key == KeyUse::off) return "Not used. Requests pass as they are.";
  std::string text =
      route.key == KeyUse::required ? "Required, in the header " : "Optional, in the header ";
  text += code(route.key_header);
  if (!route.key_pointer.empty()) {
    text += ", or in the JSON body at " + code(route.key_pointer);
  }
  text += ". ";
  text += route.key_policy.syntax == KeySyntax::strict
              ? "A string in double quotes (RFC 8941), "
              : "A string, in double quotes (RFC 8941) or bare, ";
  text += std::to_string(route.key_policy.length_min) + " to " +
          std::to_string(route.key_policy.length_max) + " ASCII characters.";
  if (route.key_policy.personal_data == PersonalData::refuse) {
    text += " Nothing that looks like an e-mail address, a card or a phone number.";
  }
  if (route.key == KeyUse::optional) text += " Without one, a retry may run again.";
  return text;
}

std::string retention_sentence(const RouteConfig& route) {
  std::string text = "The first answer is replayed for " +
                     tag("strong", escape_html(format_duration_in_words(route.retention_ms))) +
                     ". ";
  if (route.on_expired == OnExpired::forget) {
    return text + "After that the key is unknown again and a request with it runs anew.";
  }
  return text + "For " + escape_html(format_duration_in_words(route.tombstone_ms)) +
         " after that, the key is refused: " + link("result_expired") + ".";
}

std::string in_flight_sentence(const RouteConfig& route) {
  if (route.on_inflight == OnInflight::conflict) {
    return "A duplicate is refused at once: " + link("request_in_flight") + ".";
  }
  return "A duplicate waits up to " + escape_html(format_duration_in_words(route.wait_timeout_ms)) +
         " and gets the first answer; then " + link("request_in_flight") + ".";
}

std::string failure_sentence(const RouteConfig& route) {
  switch (route.on_5xx) {
    case On5xx::retry:
      return "500, 501 and 503 are not kept: a retry runs again. 502, 504 or no answer: " +
             link("outcome_unknown") + ".";
    case On5xx::replay:
      return "Kept and replayed like any other answer. No answer: " + link("outcome_unknown") + ".";
    case On5xx::unknown:
      return "Every 5xx answer and no answer at all: " + link("outcome_unknown") + ".";
  }
  return {};
}

std::string age_sentence(const RouteConfig& route) {
  return "A request is executed for " + escape_html(format_duration_in_words(route.max_age_ms)) +
         " after it was first sent, as " + code(route.age_header) +
         (route.age_required ? " says" : " says where it is sent") +
         "; retries repeat its value. After that: " + link("request_outside_window") + ".";
}

std::string later_sentence(const RouteConfig& route) {
  return (route.async == AsyncUse::always ? std::string("Always")
                                          : "With " + code("Prefer: respond-async")) +
         ": 202, and the answer at " + code("/.well-known/idempotency/keys/{key}/answer") + ".";
}

std::string status_cell(const RouteConfig& route, AnswerCase answer_case, std::string_view name) {
  return tag("td", std::to_string(answer_status(answer_case, route.profile, route.statuses))) +
         tag("td", link(name));
}

std::string status_table(const RouteConfig& route) {
  const auto line = [&](std::string_view text, AnswerCase answer_case, std::string_view name) {
    return "<tr><td>" + escape_html(text) + "</td>" + status_cell(route, answer_case, name) +
           "</tr>\n";
  };
  return "<table><tr><th>case</th><th>status</th><th>code</th></tr>\n" +
         line("key missing", AnswerCase::key_missing, "idempotency_key_missing") +
         line("key malformed", AnswerCase::key_invalid, "idempotency_key_invalid") +
         line("same key, other request", AnswerCase::mismatch, "idempotency_key_reused") +
         line("first request still running", AnswerCase::in_flight, "request_in_flight") +
         line("outcome not known yet", AnswerCase::outcome_unknown, "outcome_unknown") +
         line("answer no longer kept", AnswerCase::result_expired, "result_expired") +
         line("store not available", AnswerCase::store_unavailable, "store_unavailable") +
         "</table>\n";
}

std::string route_section(const RouteConfig& route) {
  std::string methods;
  for (const std::string& method : route.methods) {
    methods += (methods.empty() ? "" : ", ") + method;
  }
  const std::string path = route.path == "*" ? "every path" : route.path;
  std::string out = "<section class=\"route\"><h3><span class=\"methods\">" + escape_html(methods) +
                    "</span> " + escape_html(path) + "</h3>\n<dl>\n" +
                    row("Key", key_sentence(route));
  if (route.key != KeyUse::off) {
    out += row("Retry", "Same answer, marked " + code(replay_marker(route.profile)) + ".") +
           row("Kept", retention_sentence(route)) + row("Running", in_flight_sentence(route)) +
           row("5xx", failure_sentence(route)) +
           row("Body", "At most " + escape_html(format_size(route.body_limit)) + ".") +
           row("Errors", route.profile == Profile::ietf ? "Problem documents (RFC 9457)."
                                                        : "Stripe's error object.");
  }
  if (route.key != KeyUse::off && route.fail_open) {
    out += row("Outage",
               "While keys cannot be looked up, requests run without protection and a "
               "retry runs again. Their answers say " +
                   code("Idempotency-Protected: false") + ".");
  }
  if (route.key != KeyUse::off && route.max_age_ms > 0) out += row("Age", age_sentence(route));
  if (route.key != KeyUse::off && route.async != AsyncUse::off) {
    out += row("Later", later_sentence(route));
  }
  out += "</dl>\n";
  if (route.key != KeyUse::off) out += status_table(route);
  return out + "</section>\n";
}

std::string error_section(const PolicyError& error) {
  std::string statuses = std::to_string(error.status);
  if (error.stripe_status != error.status) {
    statuses += ", stripe profile " + std::to_string(error.stripe_status);
  }
  return "<section class=\"error\" id=\"" + escape_html(error.code) + "\"><h3>" + code(error.code) +
         " <span class=\"status\">" + statuses + "</span></h3>\n<p>" +
         tag("strong", escape_html(error.title) + ".") + " " + escape_html(error.advice) +
         "</p>\n<p class=\"flags\">Retry with the same key: " +
         tag("b", error.retryable ? "yes" : "no") +
         ". With a new key: " + tag("b", error.safe_new_key ? "safe" : "not safe") +
         ".</p></section>\n";
}

void fill(std::string& page, std::string_view mark, const std::string& inner_html) {
  const std::size_t at = page.find(mark);
  if (at != page.npos) page.replace(at, mark.size(), inner_html);
}

}  // namespace

std::string policy_page(const std::vector<RouteConfig>& routes,
                        const std::vector<PolicyError>& errors) {
  std::string route_sections;
  for (const RouteConfig& route : routes) route_sections += route_section(route);
  std::string error_sections;
  for (const PolicyError& error : errors) error_sections += error_section(error);
  std::string page(policy_frame);
  // The errors first: their text is ours, while a route's could hold the other mark.
  fill(page, "<!--errors-->", error_sections);
  fill(page, "<!--routes-->", route_sections);
  return page;
}

}  // namespace oncekey::gateway
