// A record as operators see it. In lists the stored answer's headers and body stay out, and the
// body always unless it is asked for: they are the client's business, and may hold secrets.
#pragma once

#include <span>
#include <string_view>

#include "boundary/json_writer.h"
#include "oncekey/record.h"

namespace oncekey::admin {

void write_record(JsonWriter& json, const Record& record);
// `is_probed`: somebody looks for the outcome of an unknown record by itself.
void write_record_with_answer(JsonWriter& json, const Record& record, bool is_probed,
                              bool with_body);

// A member whose names are the headers'; lines of one name are joined as RFC 9110 has it.
void write_headers(JsonWriter& json, std::span<const Header> headers);

// A member with these bytes: as text, or as NAME_base64 when they are not well-formed UTF-8.
void write_bytes(JsonWriter& json, std::string_view name, std::string_view bytes);

}  // namespace oncekey::admin
