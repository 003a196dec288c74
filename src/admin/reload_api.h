// GET and POST /v1/reload: what became of the last reload of the configuration, and another one.
#pragma once

#include <vector>

#include "admin/endpoint.h"
#include "admin/journal.h"
#include "gateway/service.h"

namespace oncekey::admin {

class ReloadApi {
 public:
  ReloadApi(gateway::Service& service, Journal journal) : service_(service), journal_(journal) {}

  // The endpoints refer to this object.
  std::vector<Endpoint> endpoints();

 private:
  Reply last() const;
  Reply reload(const Call& call);

  gateway::Service& service_;
  Journal journal_;
};

}  // namespace oncekey::admin
