#include "crash/report.h"

#include <algorithm>
#include <iomanip>
#include <set>
#include <sstream>

namespace oncekey::test {

std::size_t CampaignReport::disturbances() const {
  std::size_t count = 0;
  for (const auto& [blow, times] : resumed) count += times.size();
  return count;
}

std::vector<std::string> CampaignReport::violations() const {
  std::vector<std::string> all;
  for (const Finding& finding : findings) {
    if (finding.kind == Finding::Kind::fault || loss_is_violation) all.push_back(finding.what);
  }
  return all;
}

std::vector<std::string> CampaignReport::lost_keys() const {
  std::set<std::string> lost;
  for (const Finding& finding : findings) {
    if (finding.kind == Finding::Kind::loss) lost.insert(finding.key);
  }
  return {lost.begin(), lost.end()};
}

std::string CampaignReport::text() const {
  std::ostringstream out;
  out << "store " << store << ", seed " << seed << ", " << disturbances() << " disturbances\n";
  for (auto [blow, times] : resumed) {
    std::sort(times.begin(), times.end());
    out << "  " << std::left << std::setw(26) << name_of(blow) << std::right << std::setw(4)
        << times.size() << " times, served again " << times[times.size() / 2].count()
        << " ms later (median), " << times.back().count() << " ms (longest)\n";
  }
  std::size_t percent = load.requests == 0 ? 0 : 100 * load.duplicates / load.requests;
  out << "  requests             " << load.requests << " for " << keys << " keys, "
      << load.duplicates << " duplicates (" << percent << " %)\n"
      << "  answers              " << load.refused << " times 503, " << load.connections_lost
      << " incomplete, slowest " << load.slowest.count() << " ms\n"
      << "  upstream             " << arrivals << " arrivals, " << executions << " executions\n"
      << "  acknowledged         " << acknowledged << " keys\n"
      << "  at the end           " << replayed_at_end << " replayed (" << unacknowledged_replays
      << " of them never acknowledged before), " << unknown_at_end() << " unknown, "
      << executed_at_end << " run for the first time\n"
      << "  unknown because      " << unknown_of_upstream << " had no answer of the upstream, "
      << unknown_of_kill << " lost their gateway, " << unknown_of_outage << " lost the store\n";
  if (poisoned > 0) out << "  poisoned             " << poisoned << " entries of the cache\n";
  if (!loss_is_violation) {
    out << "  lost                 " << lost_keys().size() << " keys; " << executed_twice
        << " executed twice\n";
  }
  std::vector<std::string> broken = violations();
  out << "  violations           " << broken.size() << "\n";
  constexpr std::size_t shown_max = 20;
  for (std::size_t i = 0; i < broken.size() && i < shown_max; ++i) {
    out << "    " << broken[i] << "\n";
  }
  return out.str();
}

}  // namespace oncekey::test
