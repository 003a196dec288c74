// Does a key look like something about a person? A guess: it errs towards "no", and never says
// "yes" to a UUID or to a long random hexadecimal string.
#pragma once

#include <string_view>

namespace oncekey {

enum class PersonalDataKind { none, email_address, card_number, phone_number };

PersonalDataKind find_personal_data(std::string_view text);

}  // namespace oncekey
