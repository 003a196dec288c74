// Figures in Prometheus's text format, for those that others count.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace oncekey::gateway {

// `labels` with their braces; "": none. HELP and TYPE stand before the first of a name.
inline void append_figure_value(std::string& out, std::string_view name, std::string_view labels,
                                std::uint64_t value) {
  out.append(name).append(labels).append(" ").append(std::to_string(value)).append("\n");
}

inline void append_figure_head(std::string& out, std::string_view name, std::string_view type,
                               std::string_view help) {
  out.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name);
  out.append(" ").append(type).append("\n");
}

inline void append_figure(std::string& out, std::string_view name, std::string_view type,
                          std::string_view help, std::uint64_t value) {
  append_figure_head(out, name, type, help);
  append_figure_value(out, name, "", value);
}

}  // namespace oncekey::gateway
