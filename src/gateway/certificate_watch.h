// Looks whether the files of [tls] have changed, and has new connections use what is in them now.
#pragma once

#include "gateway/generation.h"
#include "gateway/log.h"
#include "oncekey/role.h"

namespace oncekey::gateway {

class CertificateWatch {
 public:
  // `generations` outlives it. Says which certificate is in use.
  CertificateWatch(const Generations& generations, Log& log);

 private:
  void look();

  const Generations& generations_;
  Log& log_;
  Role role_;
};

}  // namespace oncekey::gateway
