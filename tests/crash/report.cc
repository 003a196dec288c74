#include <sstream>

#include "crash/campaign.h"

namespace oncekey::test {

std::string CampaignReport::text() const {
  std::ostringstream out;
  out << "seed " << seed << ", " << kills << " kills\n"
      << "  requests             " << requests << " for " << keys << " keys, " << connections_lost
      << " without a complete answer\n"
      << "  upstream             " << arrivals << " arrivals, " << executions << " executions\n"
      << "  acknowledged         " << acknowledged << " keys\n"
      << "  at the end           " << replayed_at_end << " replayed (" << unacknowledged_replays
      << " of them never acknowledged before), " << unknown_at_end << " unknown, "
      << executed_at_end << " run for the first time\n"
      << "  violations           " << violations.size() << "\n";
  constexpr std::size_t shown_max = 20;
  for (std::size_t i = 0; i < violations.size() && i < shown_max; ++i) {
    out << "    " << violations[i] << "\n";
  }
  return out.str();
}

}  // namespace oncekey::test
