// What `oncekey check` finds out about a store that several nodes share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "boundary/json_writer.h"
#include "store/facts.h"
#include "store/store_url.h"

namespace oncekey::cli {

// One server; a tiered store has two.
struct StoreFinding {
  std::string url;  // without its password
  std::vector<store::Fact> facts;
  std::string failure;  // "": the server answered

  bool good() const;
};

// Connects to every server of the store. Empty for a store that belongs to one process.
std::vector<StoreFinding> look_at_store(const store::StoreUrl& url);

std::string to_text(const StoreFinding& finding);
void write_json(JsonWriter& writer, const StoreFinding& finding);

}  // namespace oncekey::cli
