// Looking at keys: the list, one record, what happened to it.
#pragma once

#include <vector>

#include "admin/endpoint.h"
#include "admin/key_records.h"

namespace oncekey::admin {

class KeysApi {
 public:
  explicit KeysApi(KeyRecords records) : records_(std::move(records)) {}

  // The endpoints refer to this object.
  std::vector<Endpoint> endpoints();

 private:
  Reply list(const Call& call) const;
  Reply one(const Call& call) const;
  Reply show_timeline(const Call& call) const;

  KeyRecords records_;
};

}  // namespace oncekey::admin
