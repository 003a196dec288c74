// How each kind of setting is read, checked and printed; config_settings.cc names the settings.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "gateway/config_settings.h"
#include "gateway/config_units.h"

namespace oncekey::gateway {

using SettingCheck = std::optional<SettingProblem> (*)(std::string_view);
template <class Enum>
using Names = std::span<const std::pair<Enum, std::string_view>>;

inline SettingProblem wrong_type(std::string_view expected, const SettingValue& value) {
  static constexpr std::string_view names[] = {"a boolean", "an integer", "a string", "a list"};
  return {
      "expected " + std::string(expected) + ", found " + std::string(names[value.index()]), {}, {}};
}

// `at` leads from the target to the member, for const and non-const targets alike.
template <class Target, class At>
Setting<Target> text_setting(std::string_view name, At at, SettingCheck check) {
  return {name, ValueKind::text,
          [at, check](Target& target, const SettingValue& value) -> std::optional<SettingProblem> {
            const std::string* text = std::get_if<std::string>(&value);
            if (text == nullptr) return wrong_type("a string", value);
            if (auto problem = check(*text)) return problem;
            at(target) = *text;
            return std::nullopt;
          },
          [at](const Target& target) -> SettingValue { return at(target); }};
}

template <class Target, class At>
Setting<Target> texts_setting(std::string_view name, At at, SettingCheck check) {
  return {name, ValueKind::texts,
          [at, check](Target& target, const SettingValue& value) -> std::optional<SettingProblem> {
            const auto* texts = std::get_if<std::vector<std::string>>(&value);
            if (texts == nullptr) return wrong_type("a list of strings", value);
            for (std::size_t i = 0; i < texts->size(); ++i) {
              if (auto problem = check((*texts)[i])) {
                problem->element = i;
                return problem;
              }
            }
            at(target) = *texts;
            return std::nullopt;
          },
          [at](const Target& target) -> SettingValue { return at(target); }};
}

template <class Target, class At>
Setting<Target> boolean_setting(std::string_view name, At at) {
  return {name, ValueKind::boolean,
          [at](Target& target, const SettingValue& value) -> std::optional<SettingProblem> {
            const bool* truth = std::get_if<bool>(&value);
            if (truth == nullptr) return wrong_type("true or false", value);
            at(target) = *truth;
            return std::nullopt;
          },
          [at](const Target& target) -> SettingValue { return at(target); }};
}

template <class Target, class At>
Setting<Target> integer_setting(std::string_view name, At at, std::int64_t min, std::int64_t max) {
  return {
      name, ValueKind::integer,
      [at, min, max](Target& target, const SettingValue& value) -> std::optional<SettingProblem> {
        const std::int64_t* number = std::get_if<std::int64_t>(&value);
        if (number == nullptr) return wrong_type("an integer", value);
        if (*number < min || *number > max) {
          return SettingProblem{std::to_string(*number) + " is out of range: " +
                                    std::to_string(min) + " to " + std::to_string(max),
                                {},
                                {}};
        }
        using Member = std::remove_reference_t<decltype(at(target))>;
        at(target) = static_cast<Member>(*number);
        return std::nullopt;
      },
      [at](const Target& target) -> SettingValue { return static_cast<std::int64_t>(at(target)); }};
}

template <class Target, class At>
Setting<Target> duration_setting(std::string_view name, At at, DurationMs min, DurationMs max) {
  return {
      name, ValueKind::duration,
      [at, min, max](Target& target, const SettingValue& value) -> std::optional<SettingProblem> {
        if (const std::int64_t* number = std::get_if<std::int64_t>(&value)) {
          return SettingProblem{"a duration needs a unit",
                                "\"" + std::to_string(*number) +
                                    "s\" for seconds; units are "
                                    "ms, s, m, h, d",
                                {}};
        }
        const std::string* text = std::get_if<std::string>(&value);
        if (text == nullptr) return wrong_type("a duration such as \"30s\"", value);
        const std::optional<DurationMs> duration = parse_duration(*text);
        if (!duration) {
          return SettingProblem{"\"" + *text + "\" is not a duration",
                                "a whole number and ms, s, m, h or d, such as \"30s\"",
                                {}};
        }
        if (*duration < min || *duration > max) {
          return SettingProblem{"\"" + *text + "\" is out of range: " + format_duration(min) +
                                    " to " + format_duration(max),
                                {},
                                {}};
        }
        at(target) = *duration;
        return std::nullopt;
      },
      [at](const Target& target) -> SettingValue { return format_duration(at(target)); }};
}

template <class Target, class At>
Setting<Target> size_setting(std::string_view name, At at, std::uint64_t min, std::uint64_t max) {
  return {
      name, ValueKind::size,
      [at, min, max](Target& target, const SettingValue& value) -> std::optional<SettingProblem> {
        std::string text;
        if (const std::int64_t* number = std::get_if<std::int64_t>(&value)) {
          text = std::to_string(*number);
        } else if (const std::string* written = std::get_if<std::string>(&value)) {
          text = *written;
        } else {
          return wrong_type("a size such as \"64KiB\"", value);
        }
        const std::optional<std::uint64_t> size = parse_size(text);
        if (!size) {
          return SettingProblem{"\"" + text + "\" is not a size",
                                "bytes as a whole number, or with B, KiB, MiB or GiB, such as "
                                "\"64KiB\"",
                                {}};
        }
        if (*size < min || *size > max) {
          return SettingProblem{
              "\"" + text + "\" is out of range: " + format_size(min) + " to " + format_size(max),
              {},
              {}};
        }
        at(target) = static_cast<std::size_t>(*size);
        return std::nullopt;
      },
      [at](const Target& target) -> SettingValue { return format_size(at(target)); }};
}

// `later`: names that are planned but not in this version.
template <class Target, class Enum, class At>
Setting<Target> choice_setting(std::string_view name, At at, Names<Enum> names,
                               std::string_view later = {}) {
  return {name, ValueKind::choice,
          [at, names, later](Target& target,
                             const SettingValue& value) -> std::optional<SettingProblem> {
            std::string all;
            std::vector<std::string_view> known;
            for (const auto& [choice, text] : names) {
              all += (all.empty() ? "\"" : ", \"") + std::string(text) + "\"";
              known.push_back(text);
            }
            const std::string* text = std::get_if<std::string>(&value);
            if (text == nullptr) return wrong_type("one of " + all, value);
            for (const auto& [choice, known_text] : names) {
              if (known_text != *text) continue;
              at(target) = choice;
              return std::nullopt;
            }
            const std::string padded = " " + std::string(later) + " ";
            if (!text->empty() && padded.find(" " + *text + " ") != std::string::npos) {
              return SettingProblem{
                  "\"" + *text + "\" is not supported in this version", "one of " + all, {}};
            }
            const std::string near = nearest_name(*text, known);
            return SettingProblem{"\"" + *text + "\" is not one of " + all,
                                  near.empty() ? "" : "did you mean \"" + near + "\"?",
                                  {}};
          },
          [at, names](const Target& target) -> SettingValue {
            for (const auto& [choice, text] : names) {
              if (choice == at(target)) return std::string(text);
            }
            return std::string();
          }};
}

}  // namespace oncekey::gateway
