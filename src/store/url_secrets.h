// The passwords in a store's URL, and keeping them out of what is printed.
//
// A password with / ? # @ or + that is not percent-encoded is read in different ways: libpq ends it
// at the first @, we at the last, and a / moves it into the database's name. So what may be a part
// of a password is taken for one here, whoever is right.
#pragma once

#include <string>
#include <string_view>

namespace oncekey::store {

// The same URL with its passwords replaced by ***, for logs and people. What is no URL comes back
// as it is.
std::string without_passwords(std::string_view url);

// Every reader of this URL finds the same password in it, or none.
bool password_is_plain(std::string_view url);

// What somebody else says about the URL, without the pieces of a password that is not plain. (A
// plain one is never taken for a host or an option, which are what is repeated.)
std::string without_pieces_of_password(std::string_view url, std::string text);

// Follows a "…the password…".
inline constexpr std::string_view how_to_write_a_password =
    "percent-encode / ? # @ + & and % in it (%40 for @)";

}  // namespace oncekey::store
