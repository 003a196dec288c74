// The routes of a gateway, and pausing them.
#pragma once

#include <vector>

#include "admin/endpoint.h"
#include "admin/journal.h"
#include "boundary/json_writer.h"
#include "gateway/service.h"

namespace oncekey::admin {

class RoutesApi {
 public:
  RoutesApi(gateway::Service& service, Journal journal) : service_(service), journal_(journal) {}

  // The endpoints refer to this object.
  std::vector<Endpoint> endpoints();

 private:
  Reply list(const Call& call) const;
  Reply pause(const Call& call);
  Reply resume(const Call& call);

  gateway::Service& service_;
  Journal journal_;
};

// The pause as JSON: route, reason, by, since, until.
void write_pause(JsonWriter& json, const gateway::RoutePause& pause);

}  // namespace oncekey::admin
