#include "support/http_message.h"

#include <strings.h>

#include <algorithm>
#include <charconv>

namespace oncekey::test {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<std::uint64_t> number(std::string_view text, int base) {
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::uint64_t checksum(std::string_view bytes, std::uint64_t start) {
  for (unsigned char byte : bytes) start = (start ^ byte) * 1099511628211ULL;
  return start;
}

std::optional<std::string_view> HttpMessage::find(std::string_view name) const {
  for (const Header& field : headers) {
    if (same_name(field.name, name)) return field.value;
  }
  return std::nullopt;
}

std::string HttpMessage::header(std::string_view name) const {
  return std::string(find(name).value_or(""));
}

std::size_t HttpMessage::count(std::string_view name) const {
  return static_cast<std::size_t>(std::count_if(
      headers.begin(), headers.end(), [&](const Header& f) { return same_name(f.name, name); }));
}

bool HttpMessage::has_token(std::string_view name, std::string_view token) const {
  for (const Header& field : headers) {
    if (!same_name(field.name, name)) continue;
    std::string_view rest = field.value;
    while (!rest.empty()) {
      std::size_t comma = std::min(rest.find(','), rest.size());
      if (same_name(trimmed(rest.substr(0, comma)), token)) return true;
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return false;
}

int MessageReader::status() const {
  if (kind_ == Kind::request || message_.start_line.size() < 12) return 0;
  return static_cast<int>(number(message_.start_line.substr(9, 3), 10).value_or(0));
}

bool MessageReader::takes_lines() const {
  return stage_ == Stage::start || stage_ == Stage::headers || stage_ == Stage::chunk_size ||
         stage_ == Stage::chunk_end || stage_ == Stage::trailers;
}

std::size_t MessageReader::feed(std::string_view bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size() && stage_ != Stage::done && stage_ != Stage::broken) {
    std::string_view rest = bytes.substr(taken);
    if (takes_lines()) {
      std::size_t end = rest.find('\n');
      line_.append(rest.substr(0, end));
      if (end == std::string_view::npos) return bytes.size();
      taken += end + 1;
      // Only CRLF ends a line: what the gateway sends is held to the letter.
      if (line_.empty() || line_.back() != '\r') {
        stage_ = Stage::broken;
        break;
      }
      line_.pop_back();
      line_done();
      line_.clear();
      continue;
    }
    std::string_view part =
        stage_ == Stage::to_end ? rest : rest.substr(0, std::min(remaining_, rest.size()));
    add_body(part);
    taken += part.size();
    remaining_ -= stage_ == Stage::to_end ? 0 : part.size();
    if (remaining_ == 0 && stage_ == Stage::sized) stage_ = Stage::done;
    if (remaining_ == 0 && stage_ == Stage::chunk_data) stage_ = Stage::chunk_end;
  }
  return taken;
}

void MessageReader::end_of_stream() {
  if (stage_ == Stage::to_end) stage_ = Stage::done;
  if (stage_ != Stage::done) stage_ = Stage::broken;
}

void MessageReader::line_done() {
  switch (stage_) {
    case Stage::start:
      message_.start_line = line_;
      stage_ = Stage::headers;
      return;
    case Stage::headers:
      if (line_.empty()) {
        head_complete();
      } else if (!add_field(line_, message_.headers)) {
        stage_ = Stage::broken;
      }
      return;
    case Stage::chunk_size: {
      auto size = number(trimmed(std::string_view(line_).substr(0, line_.find(';'))), 16);
      remaining_ = size.value_or(0);
      stage_ = !size ? Stage::broken : *size == 0 ? Stage::trailers : Stage::chunk_data;
      return;
    }
    case Stage::chunk_end:
      stage_ = line_.empty() ? Stage::chunk_size : Stage::broken;
      return;
    case Stage::trailers:
      if (line_.empty()) {
        stage_ = Stage::done;
      } else if (!add_field(line_, message_.trailers)) {
        stage_ = Stage::broken;
      }
      return;
    default:
      stage_ = Stage::broken;
  }
}

void MessageReader::head_complete() {
  int code = status();
  bool response = kind_ != Kind::request;
  if (response &&
      (kind_ == Kind::response_to_head || code / 100 == 1 || code == 204 || code == 304)) {
    stage_ = Stage::done;
  } else if (message_.has_token("Transfer-Encoding", "chunked")) {
    stage_ = Stage::chunk_size;
  } else if (auto length = message_.find("Content-Length")) {
    auto size = number(*length, 10);
    remaining_ = size.value_or(0);
    stage_ = !size ? Stage::broken : *size == 0 ? Stage::done : Stage::sized;
  } else {
    stage_ = response ? Stage::to_end : Stage::done;
  }
  message_.body_checksum = checksum("");
}

void MessageReader::add_body(std::string_view bytes) {
  message_.body_size += bytes.size();
  message_.body_checksum = checksum(bytes, message_.body_checksum);
  std::size_t room = body_kept_max_ - std::min(body_kept_max_, message_.body.size());
  message_.body.append(bytes.substr(0, room));
}

bool MessageReader::add_field(std::string_view line, std::vector<Header>& fields) {
  std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  fields.push_back(
      {std::string(line.substr(0, colon)), std::string(trimmed(line.substr(colon + 1)))});
  return true;
}

}  // namespace oncekey::test
