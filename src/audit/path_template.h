// Paths with {parameters}.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace oncekey::audit {

// Each {name} replaced by what `value_of` says.
std::string filled(std::string_view path,
                   const std::function<std::string(std::string_view)>& value_of);

std::vector<std::string_view> segments_of(std::string_view path);

bool has_parameter(std::string_view segment);

// As a route writes it: segments with a parameter become *. "/payments/{id}/capture" →
// "/payments/*/capture".
std::string as_route_path(std::string_view path);

// Whether the template stands for this path, too.
bool covers(std::string_view path_template, std::string_view path);

// Everything but letters, digits and -._~ as %XX.
std::string percent_encoded(std::string_view text);

}  // namespace oncekey::audit
