// The mistakes that the practice shop can be told to make, one at a time.
#pragma once

#include <ostream>
#include <string_view>

namespace oncekey::test {

#define ONCEKEY_FLAWS(X)                                                           \
  X(none)                                                                          \
  X(no_memory_at_all)         /* executes every retry */                           \
  X(check_then_act)           /* looks first, and reserves a moment later */       \
  X(runs_beside_the_first)    /* a duplicate of a running request runs, too */     \
  X(remembers_per_node)       /* each node has its own memory */                   \
  X(forgets_when_client_left) /* a client that left takes its key along */         \
  X(stuck_when_client_left)   /* or leaves it in progress for ever */              \
  X(executes_half_a_body)                                                          \
  X(mismatch_replays)       /* no fingerprint */                                   \
  X(body_in_lookup_key)     /* another body is another key */                      \
  X(mismatch_after_the_end) /* compares only with what is finished */              \
  X(ignores_path)                                                                  \
  X(ignores_query)                                                                 \
  X(ignores_method)                                                                \
  X(one_scope_for_all)       /* tenants share their keys */                        \
  X(mismatch_across_tenants) /* the other tenant is told that the key is taken */  \
  X(replays_before_login)                                                          \
  X(loses_status)                                                                  \
  X(loses_headers)                                                                 \
  X(changes_body)                                                                  \
  X(marks_everything_replayed)                                                     \
  X(expires_in_the_past)                                                           \
  X(keeps_server_errors)                                                           \
  X(forgets_at_once)                                                               \
  X(duplicates_silently) /* after expiry it runs again, and answers as a replay */ \
  X(compares_bytes)      /* of JSON bodies */                                      \
  X(merges_large_integers)                                                         \
  X(merges_types)                                                                  \
  X(truncates_keys)                                                                \
  X(folds_key_case)                                                                \
  X(cuts_keys_at_semicolon)                                                        \
  X(cuts_long_keys)                                                                \
  X(takes_empty_keys)                                                              \
  X(takes_any_bytes)                                                               \
  X(takes_first_key_line)                                                          \
  X(quotes_are_part_of_the_key)                                                    \
  X(takes_missing_keys)                                                            \
  X(no_retry_after)                                                                \
  X(wrong_problem_status)                                                          \
  X(get_needs_a_key)                                                               \
  X(delete_needs_a_key)                                                            \
  X(policy_is_no_json)                                                             \
  X(no_keys) /* an ordinary service that knows nothing of keys */

enum class Flaw {
#define ONCEKEY_FLAW(name) name,
  ONCEKEY_FLAWS(ONCEKEY_FLAW)
#undef ONCEKEY_FLAW
};

inline std::string_view name_of(Flaw flaw) {
  switch (flaw) {
#define ONCEKEY_FLAW(name) \
  case Flaw::name:         \
    return #name;
    ONCEKEY_FLAWS(ONCEKEY_FLAW)
#undef ONCEKEY_FLAW
  }
  return "";
}

inline void PrintTo(Flaw flaw, std::ostream* out) {
  *out << name_of(flaw);
}

}  // namespace oncekey::test
