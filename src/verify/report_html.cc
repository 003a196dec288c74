#include "verify/report_html.h"
#include "verify/report.h"

namespace oncekey::verify {
namespace {

std::string element(std::string_view tag, std::string_view classes, std::string_view inner) {
  std::string open(tag);
  if (!classes.empty()) open += " class=\"" + std::string(classes) + "\"";
  return "<" + open + ">" + std::string(inner) + "</" + std::string(tag) + ">";
}

std::string row(std::string_view name, std::string_view text) {
  return element("dt", "", name) + element("dd", "", escape_markup(text)) + "\n";
}

std::string exchange_rows(const CheckResult& result) {
  std::string rows;
  for (const Exchange& exchange : result.trace) {
    std::string sent = element("div", "what", escape_markup(exchange.request.what)) +
                       element("code", "", escape_markup(request_line(exchange.request)));
    if (!exchange.request.body.empty()) {
      sent += element("pre", "", escape_markup(excerpt(exchange.request.body)));
    }
    std::string came = element("code", "", escape_markup(in_short(exchange.answer)));
    for (const char* name : {"Retry-After", "Idempotency-Expires", "Content-Type", "Location"}) {
      const std::string value = exchange.answer.header(name);
      if (!value.empty()) {
        came += element("div", "field", escape_markup(std::string(name) + ": " + value));
      }
    }
    if (!exchange.note.empty()) {
      came += element("div", "", escape_markup(exchange.note));
    } else if (!exchange.answer.body.empty()) {
      came += element("pre", "", escape_markup(excerpt(exchange.answer.body)));
    }
    rows += element("tr", "", element("td", "", sent) + element("td", "", came)) + "\n";
  }
  if (rows.empty()) return "";
  return "<table><thead><tr><th>Sent</th><th>Came back</th></tr></thead><tbody>" + rows +
         "</tbody></table>";
}

std::string card(const CheckResult& result) {
  const Verdict verdict = result.finding.verdict;
  const bool open = verdict == Verdict::fail || verdict == Verdict::warning;
  const std::string name(to_string(verdict));
  std::string text =
      "<details class=\"" + name + "\" id=\"" + std::string(result.check.id) + "\"" +
      (open ? " open" : "") + "><summary>" + element("span", "verdict", name) +
      element("span", "promise", escape_markup(result.check.promise)) +
      element("span", "id",
              escape_markup(result.check.id) + (result.check.question.empty() ? "" : " · ") +
                  escape_markup(result.check.question)) +
      "</summary><dl>";
  text += row("Sent", result.check.sends);
  text += row(verdict == Verdict::skipped ? "Not checked" : "Came back", result.finding.what);
  text += row(open ? "For a user" : "Why it matters", result.check.meaning);
  return text + "</dl>" + exchange_rows(result) + "</details>\n";
}

std::string tile(Verdict verdict, int count) {
  return element("div", "tile " + std::string(to_string(verdict)),
                 element("b", "", std::to_string(count)) + element("span", "", to_string(verdict)));
}

// The broken promises, first thing on the page.
std::string broken_list(const Report& report) {
  std::string items;
  for (const CheckResult& result : report.results) {
    if (result.finding.verdict != Verdict::fail) continue;
    items += "<li><a href=\"#" + std::string(result.check.id) + "\">" +
             escape_markup(result.check.id) + "</a> " + escape_markup(result.finding.what) +
             "</li>\n";
  }
  return items.empty() ? "" : element("ul", "broken", items);
}

void replace(std::string& text, std::string_view mark, const std::string& value) {
  const std::size_t at = text.find(mark);
  if (at != std::string::npos) text.replace(at, mark.size(), value);
}

}  // namespace

std::string to_html(const Report& report) {
  std::string cards;
  std::string_view group;
  for (const CheckResult& result : report.results) {
    if (result.check.group != group) {
      group = result.check.group;
      cards += element("h2", "", escape_markup(group)) + "\n";
    }
    cards += card(result);
  }
  std::string tiles;
  for (const Verdict verdict : {Verdict::pass, Verdict::fail, Verdict::warning, Verdict::skipped}) {
    tiles += tile(verdict, report.count(verdict));
  }
  const bool broken = report.count(Verdict::fail) > 0 || !report.unusable.empty();
  std::string page(report_frame);
  // The last first: what is filled in may hold anything, also a mark.
  replace(page, "<!--cards-->", cards);
  replace(page, "<!--facts-->",
          escape_markup(report.started + " · profile " + report.profile + " · " +
                        std::to_string(report.requests) + " requests of at most " +
                        std::to_string(report.requests_max) + " · " +
                        std::to_string(report.took_ms) + " ms"));
  replace(page, "<!--tiles-->", tiles);
  replace(page, "<!--broken-->", broken_list(report));
  replace(page, "<!--conclusion-->",
          element("p", broken ? "conclusion broken" : "conclusion",
                  escape_markup(report.conclusion())));
  replace(page, "<!--subject-->", escape_markup(report.method + " " + report.url));
  return page;
}

}  // namespace oncekey::verify
