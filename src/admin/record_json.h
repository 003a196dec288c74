// A record as operators see it. The stored answer's body and headers stay out: they are the
// client's business, and may hold secrets.
#pragma once

#include "boundary/json_writer.h"
#include "oncekey/record.h"

namespace oncekey::admin {

void write_record(JsonWriter& json, const Record& record);

}  // namespace oncekey::admin
