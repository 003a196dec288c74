// The OpenAPI 3.1 document of a table of endpoints. What they answer is described in schemas.json.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "admin/endpoint.h"

namespace oncekey::admin {

std::string openapi_document(const std::vector<Endpoint>& endpoints, std::string_view title);

}  // namespace oncekey::admin
