#include "admin/node_api.h"

#include "admin/openapi.h"
#include "boundary/json_writer.h"
#include "gateway/config_describe.h"

namespace oncekey::admin {
namespace {

constexpr std::int64_t audit_limit_default = 100;
constexpr std::int64_t audit_limit_max = 1'000;

}  // namespace

std::string_view version() {
  return ONCEKEY_VERSION;
}

Endpoint settings_endpoint(std::function<const gateway::Config&()> config) {
  return {"GET",
          "/v1/settings",
          Access::read,
          "showSettings",
          "The settings in force, defaults included, without secrets.",
          {},
          "Settings",
          [config = std::move(config)](const Call&) {
            Reply reply;
            reply.body = gateway::describe_json(config()) + "\n";
            return reply;
          }};
}

Endpoint audit_endpoint(AuditLog& audit) {
  return {"GET",
          "/v1/audit",
          Access::read,
          "listAudit",
          "The last changes, the newest first, from the end of the audit file.",
          {{.name = "limit",
            .kind = FieldKind::integer,
            .about = "at most so many; 100 when left out",
            .min = 1,
            .max = audit_limit_max}},
          "AuditList",
          [&audit](const Call& call) {
            const auto limit =
                static_cast<std::size_t>(call.arguments.number("limit", audit_limit_default));
            Reply reply;
            JsonWriter json(reply.body);
            json.begin_object();
            json.member("file", audit.path());
            json.key("entries");
            json.begin_array();
            for (const std::string& entry : audit.last(limit)) json.raw(entry);
            json.end_array();
            json.end_object();
            reply.body.push_back('\n');
            return reply;
          }};
}

Endpoint openapi_endpoint(const std::vector<Endpoint>& others, std::string_view title) {
  Endpoint endpoint{"GET",
                    "/openapi.json",
                    Access::read,
                    "openapi",
                    "This document: everything that the port answers.",
                    {},
                    "OpenApi",
                    {}};
  std::vector<Endpoint> all = others;
  all.push_back(endpoint);
  endpoint.run = [text = openapi_document(all, title)](const Call&) {
    Reply reply;
    reply.body = text;
    return reply;
  };
  return endpoint;
}

}  // namespace oncekey::admin
