// The parameters of an operation: headers it declares, and what fills its URL.
#pragma once

#include "audit/api.h"
#include "audit/references.h"

namespace oncekey::audit {

class ParameterReader {
 public:
  // Both must outlive it.
  ParameterReader(const References& references, Problems& problems)
      : references_(references), problems_(problems) {}

  // Adds the parameters of a path item or an operation; one that is there already is replaced.
  void read(const Value& of, Operation& into) const;

 private:
  void read_one(const Value& parameter, Operation& into) const;
  UrlParameter url_parameter(const Value& parameter) const;

  const References& references_;
  Problems& problems_;
};

// A path may have {parameters} that nobody has described.
void make_up_missing(Operation& operation);

}  // namespace oncekey::audit
