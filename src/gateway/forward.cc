#include "gateway/forward.h"

#include "gateway/tenant.h"
#include "http/decimal.h"

namespace oncekey::gateway {

using http::Field;
using http::FieldId;

namespace {

void append_line(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

// Host and what the tenant was read from are not the sender's to take away: without them the
// upstream would see another request than the one that was reserved.
bool may_be_named(const Field& field, const ForwardContext& context) {
  return field.id != FieldId::host && field.id != FieldId::authorization &&
         !http::equals_ignoring_case(field.name, tenant_header(context.config.tenant)) &&
         !http::equals_ignoring_case(field.name, context.config.tenant.principal_header);
}

bool named_by_connection(const http::Head& head, const Field& field) {
  return head.find(FieldId::connection) != nullptr && head.connection_has(field.name);
}

// Fields that only this gateway may write.
bool is_ours(const Field& field, const ForwardContext& context) {
  switch (field.id) {
    case FieldId::content_length:
    case FieldId::expect:  // answered here
    case FieldId::idempotency_attempt:
    case FieldId::traceparent:
      return true;
    case FieldId::forwarded:
    case FieldId::x_forwarded_for:
    case FieldId::x_forwarded_host:
    case FieldId::x_forwarded_proto:
      return context.config.forwarded;
    default:
      return context.key && http::equals_ignoring_case(field.name, context.key->header);
  }
}

// Names that only a trusted proxy may give: from anybody else they would look like its own.
class Withheld {
 public:
  Withheld(const TenantConfig& tenant, std::string_view peer)
      : header_(tenant.from == TenantFrom::header ? tenant.header : std::string_view()),
        principal_header_(tenant.principal_header),
        any_((!header_.empty() || !principal_header_.empty()) && !tenant.trusted.contain(peer)) {}

  bool has(const Field& field) const {
    return any_ && (http::equals_ignoring_case(field.name, header_) ||
                    http::equals_ignoring_case(field.name, principal_header_));
  }

 private:
  std::string_view header_;
  std::string_view principal_header_;
  bool any_;
};

std::string_view value_of(const http::Head& head, FieldId id) {
  const Field* field = head.find(id);
  return field ? field->value : std::string_view();
}

// A node in Forwarded: IPv6 addresses are bracketed and quoted.
void append_node(std::string& out, std::string_view peer) {
  if (peer.find(':') == std::string_view::npos) {
    out.append(peer);
  } else {
    out.append("\"[").append(peer).append("]\"");
  }
}

void append_forwarded(std::string& out, const http::Exchange& exchange, const Config& config) {
  const http::RequestHead& head = exchange.head();
  std::string_view host = value_of(head, FieldId::host);
  auto chain = [&](FieldId id) {
    if (!config.trust_forwarded) return;
    for (const Field& field : head.fields) {
      if (field.id == id && !field.value.empty()) out.append(field.value).append(", ");
    }
  };
  out.append("Forwarded: ");
  chain(FieldId::forwarded);
  out.append("for=");
  append_node(out, exchange.peer());
  if (!host.empty()) {
    bool quoted = !http::is_token(host);
    out.append(quoted ? ";host=\"" : ";host=").append(host).append(quoted ? "\"" : "");
  }
  const std::string_view protocol = exchange.secure() ? "https" : "http";
  out.append(";proto=").append(protocol).append("\r\nX-Forwarded-For: ");
  chain(FieldId::x_forwarded_for);
  out.append(exchange.peer()).append("\r\n");
  auto first_or = [&](FieldId id, std::string_view name, std::string_view own) {
    std::string_view theirs = config.trust_forwarded ? value_of(head, id) : std::string_view();
    std::string_view value = theirs.empty() ? own : theirs;
    if (!value.empty()) append_line(out, name, value);
  };
  first_or(FieldId::x_forwarded_host, "X-Forwarded-Host", host);
  first_or(FieldId::x_forwarded_proto, "X-Forwarded-Proto", protocol);
}

void append_framing(std::string& out, const http::Framing& framing) {
  switch (framing.kind) {
    case http::Framing::Kind::none:
    case http::Framing::Kind::until_close:
      return;
    case http::Framing::Kind::sized:
      out.append("Content-Length: ");
      http::append_decimal(out, framing.length);
      out.append("\r\n");
      return;
    case http::Framing::Kind::chunked:
      out.append("Transfer-Encoding: chunked\r\n");
      return;
  }
}

}  // namespace

void write_upstream_head(std::string& out, const http::Exchange& exchange,
                         const http::Framing& framing, const ForwardContext& context) {
  const http::RequestHead& head = exchange.head();
  out.clear();
  out.reserve(head.text.size() + 512);
  std::string_view base = head.target == "*" ? std::string_view() : context.base_path;
  out.append(head.method).append(" ").append(base).append(head.target);
  out.append(" HTTP/1.1\r\n");
  if (!head.find(FieldId::host)) out.append("Host: \r\n");
  const Withheld withheld(context.config.tenant, exchange.peer());
  for (const Field& field : head.fields) {
    if (withheld.has(field)) continue;
    bool upgrading = context.upgrade && field.id == FieldId::upgrade;
    if (is_ours(field, context) || (http::is_hop_by_hop(field.id) && !upgrading) ||
        (may_be_named(field, context) && named_by_connection(head, field))) {
      if (!upgrading) continue;
    }
    append_line(out, field.name, field.value);
  }
  if (context.upgrade) out.append("Connection: Upgrade\r\n");
  if (context.key) {
    append_line(out, context.key->header, context.key->value);
    out.append("Idempotency-Attempt: ");
    http::append_decimal(out, context.key->attempt);
    out.append("\r\n");
  }
  append_line(out, "traceparent", context.traceparent);
  if (context.config.forwarded) append_forwarded(out, exchange, context.config);
  append_framing(out, framing);
  out.append("\r\n");
}

void append_relayed_fields(std::string& out, const http::ResponseHead& head,
                           std::string_view key_header) {
  auto says_of_key = [&](const Field& field) {
    return field.id == FieldId::idempotency_expires ||
           http::equals_ignoring_case(field.name, key_header) ||
           http::equals_ignoring_case(field.name, replay_marker(Profile::ietf)) ||
           http::equals_ignoring_case(field.name, replay_marker(Profile::stripe));
  };
  for (const Field& field : head.fields) {
    if (http::is_hop_by_hop(field.id) || field.id == FieldId::content_length ||
        field.id == FieldId::idempotency_outcome || named_by_connection(head, field) ||
        (!key_header.empty() && says_of_key(field))) {
      continue;
    }
    append_line(out, field.name, field.value);
  }
}

}  // namespace oncekey::gateway
