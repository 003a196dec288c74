#include "http/head.h"

#include <cstdint>
#include <cstring>

namespace oncekey::http {

namespace {

Refusal refuse(std::string reason, int status = 400) {
  return Refusal{status, std::move(reason)};
}

// Takes one line without its CRLF; HeadScanner has made sure that every line ends in CRLF.
std::string_view take_line(std::string_view& rest) {
  std::size_t end = rest.find("\r\n");
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  return line;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

// Whether any of eight bytes is a control character. Every step keeps to its own byte: nothing is
// carried over to the next one.
bool any_control(std::uint64_t bytes) {
  constexpr std::uint64_t each = 0x0101010101010101;
  constexpr std::uint64_t low_bits = each * 0x7f;
  const std::uint64_t low = bytes & low_bits;
  const std::uint64_t from_0x20 = low + each * (0x80 - 0x20);  // high bit: its low bits are >= 0x20
  const std::uint64_t is_0x7f = low + each;                    // high bit: its low bits are 0x7f
  return ((~from_0x20 | is_0x7f) & ~bytes & ~low_bits) != 0;
}

// RFC 9110 field-value: visible characters, blanks and obs-text.
bool is_field_value(std::string_view value) {
  while (value.size() >= sizeof(std::uint64_t)) {
    std::uint64_t bytes;
    std::memcpy(&bytes, value.data(), sizeof bytes);
    if (any_control(bytes)) break;  // or a tab, which may be there
    value.remove_prefix(sizeof bytes);
  }
  for (char c : value) {
    auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t') || byte == 0x7f) return false;
  }
  return true;
}

bool is_target(std::string_view target) {
  for (char c : target) {
    auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f || c == '#') return false;
  }
  return !target.empty();
}

// Methods are case-sensitive; one that an upstream may read as POST must not slip past as another.
bool is_method(std::string_view method) {
  for (char c : method) {
    if (!((c >= 'A' && c <= 'Z') || c == '-')) return false;
  }
  return !method.empty() && method.size() <= 32;
}

// A host with an optional port, as a Host field or an authority may have it.
bool is_authority(std::string_view text) {
  if (text.empty()) return false;
  std::size_t host_end = text.find(':');
  if (text.front() == '[') {
    std::size_t close = text.find(']');
    if (close == std::string_view::npos) return false;
    for (char c : text.substr(1, close - 1)) {
      bool good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') ||
                  c == ':' || c == '.' || c == '%';
      if (!good) return false;
    }
    host_end = close + 1;
    if (host_end < text.size() && text[host_end] != ':') return false;
  } else {
    for (char c : text.substr(0, host_end)) {
      bool good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  std::strchr("-._~%!$&'()*+,;=", c) != nullptr;
      if (!good || c == '\0') return false;
    }
    if (host_end == 0) return false;
  }
  if (host_end >= text.size()) return true;
  std::string_view port = text.substr(host_end + 1);
  if (port.size() > 5) return false;
  for (char c : port) {
    if (c < '0' || c > '9') return false;
  }
  return true;
}

std::optional<Refusal> parse_version(std::string_view version, int& minor) {
  if (version == "HTTP/1.1") {
    minor = 1;
  } else if (version == "HTTP/1.0") {
    minor = 0;
  } else if (version.size() == 8 && version.starts_with("HTTP/") && version[6] == '.' &&
             version[5] >= '0' && version[5] <= '9' && version[7] >= '0' && version[7] <= '9') {
    return refuse("only HTTP/1.1 and HTTP/1.0 are spoken here", 505);
  } else {
    return refuse("the start line has no valid HTTP version");
  }
  return std::nullopt;
}

std::optional<Refusal> parse_fields(std::string_view rest, const HeadLimits& limits,
                                    std::vector<Field>& fields) {
  while (rest.size() > 2) {
    std::string_view line = take_line(rest);
    if (is_blank(line.front())) return refuse("a header line is folded over several lines");
    std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return refuse("a header line has no colon");
    std::string_view name = line.substr(0, colon);
    const FieldId id = field_id(name);  // those that are known are tokens
    if (id == FieldId::other && !is_token(name)) {
      return refuse("a header name is empty or has a character it may not have");
    }
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && is_blank(value.front())) value.remove_prefix(1);
    while (!value.empty() && is_blank(value.back())) value.remove_suffix(1);
    if (!is_field_value(value)) return refuse("a header value has a control character");
    if (fields.size() >= limits.fields) return refuse("too many header lines", 431);
    fields.push_back(Field{id, name, value});
  }
  return std::nullopt;
}

}  // namespace

HeadScanner::Found HeadScanner::scan(std::string_view data, std::size_t bytes_max) {
  for (;;) {
    const void* found = position_ < data.size()
                            ? std::memchr(data.data() + position_, '\n', data.size() - position_)
                            : nullptr;
    if (!found) {
      position_ = data.size();
      return data.size() - begin_ > bytes_max ? Found::too_large : Found::incomplete;
    }
    auto line_end = static_cast<std::size_t>(static_cast<const char*>(found) - data.data());
    // The size first: otherwise the answer would depend on how the bytes arrived.
    if (line_end + 1 - begin_ > bytes_max) return Found::too_large;
    if (line_end == line_ || data[line_end - 1] != '\r') return Found::bad_line_end;
    bool empty = line_end == line_ + 1;
    position_ = line_ = line_end + 1;
    if (!empty) continue;
    if (line_end == begin_ + 1) {
      if (++empty_lines_ > leading_empty_lines_max) return Found::bad_line_end;
      begin_ = position_;
      continue;
    }
    end_ = position_;
    return Found::complete;
  }
}

const Field* Head::find(FieldId id) const {
  for (const Field& field : fields) {
    if (field.id == id) return &field;
  }
  return nullptr;
}

std::size_t Head::count(FieldId id) const {
  std::size_t count = 0;
  for (const Field& field : fields) count += field.id == id;
  return count;
}

bool Head::connection_has(std::string_view option) const {
  bool has = false;
  for (const Field& field : fields) {
    if (field.id != FieldId::connection) continue;
    for_each_list_item(field.value, [&](std::string_view item) {
      if (equals_ignoring_case(item, option)) has = true;
    });
  }
  return has;
}

void RequestHead::clear() {
  text.clear();
  fields.clear();
  method = target = path = {};
  minor_version = 1;
}

std::optional<Refusal> RequestHead::parse(std::string_view head_text, const HeadLimits& limits) {
  clear();  // a refused head must not show parts of the one before
  text.assign(head_text);
  std::string_view rest = text;
  if (rest.find('\0') != std::string_view::npos) return refuse("the head has a NUL character");
  std::string_view line = take_line(rest);

  std::size_t first = line.find(' ');
  std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return refuse("the request line is not: method, one space, target, one space, version");
  }
  method = line.substr(0, first);
  target = line.substr(first + 1, last - first - 1);
  if (!is_method(method)) return refuse("the method is not made of capital letters");
  if (auto bad = parse_version(line.substr(last + 1), minor_version)) return bad;
  if (!is_target(target)) return refuse("the request target has a character it may not have");

  if (auto bad = parse_fields(rest, limits, fields)) return bad;

  if (count(FieldId::host) > 1) return refuse("there is more than one Host header");
  const Field* host = find(FieldId::host);
  if (!host && minor_version == 1) return refuse("the Host header is missing");
  if (host && !host->value.empty() && !is_authority(host->value)) {
    return refuse("the Host header is not a host with an optional port");
  }
  if (method == "CONNECT") {
    if (!is_authority(target)) return refuse("the target of CONNECT is not host:port");
  } else if (target.front() != '/' && target != "*") {
    std::size_t scheme_end = target.find("://");
    if (scheme_end == std::string_view::npos ||
        !(equals_ignoring_case(target.substr(0, scheme_end), "http") ||
          equals_ignoring_case(target.substr(0, scheme_end), "https"))) {
      return refuse("the request target is neither a path nor an absolute http URL");
    }
    std::string_view after = target.substr(scheme_end + 3);
    std::size_t path_begin = after.find_first_of("/?");
    std::string_view authority = after.substr(0, path_begin);
    if (!is_authority(authority)) return refuse("the request target's host is not valid");
    if (host && !equals_ignoring_case(authority, host->value)) {
      return refuse("the request target and the Host header name different hosts");
    }
    if (path_begin == std::string_view::npos) {
      target = "/";
    } else if (after[path_begin] == '?') {
      return refuse("the request target has a query but no path");
    } else {
      target = after.substr(path_begin);
    }
  } else if (target == "*" && method != "OPTIONS") {
    return refuse("only OPTIONS may have the target *");
  }
  path = target.substr(0, target.find('?'));
  return std::nullopt;
}

std::optional<Refusal> ResponseHead::parse(std::string_view head_text, const HeadLimits& limits) {
  text.assign(head_text);
  fields.clear();
  std::string_view rest = text;
  std::string_view line = take_line(rest);
  if (line.size() < 12 || line[8] != ' ' || (line.size() > 12 && line[12] != ' ')) {
    return refuse("the status line is malformed");
  }
  if (auto bad = parse_version(line.substr(0, 8), minor_version)) return bad;
  status = 0;
  for (char c : line.substr(9, 3)) {
    if (c < '0' || c > '9') return refuse("the status is not a number");
    status = status * 10 + (c - '0');
  }
  if (status < 100 || status > 599) return refuse("the status is not between 100 and 599");
  reason = line.size() > 13 ? line.substr(13) : std::string_view();
  if (!is_field_value(reason)) return refuse("the reason phrase has a control character");
  return parse_fields(rest, limits, fields);
}

}  // namespace oncekey::http
