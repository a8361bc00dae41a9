package channel

import (
	"regexp"
	"strings"
)

// telephone is a number by E.164, whatever service sends to it.
var telephone = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)

// dotless are the providers that ignore dots before the @, with the name of the provider's inboxes.
var dotless = map[string]string{"gmail.com": "gmail.com", "googlemail.com": "gmail.com"}

// Inbox returns what addresses of one inbox have in common, as far as it can be known: letters of
// either case, a tag after "+", dots at providers that ignore them, and a dot at the end of the domain
// make no other inbox. It is for counting only: messages go to the address as it was given.
func Inbox(a Address) string {
	if telephone.MatchString(a.To) {
		return "telephone\x00" + a.To
	}
	if a.Kind != Email {
		return a.Kind + "\x00" + a.Template + "\x00" + a.To
	}
	to := strings.ToLower(strings.TrimSpace(a.To))
	at := strings.LastIndexByte(to, '@')
	if at < 0 {
		return a.Kind + "\x00" + to
	}
	local, domain := strings.Trim(to[:at], `"`), strings.TrimSuffix(to[at+1:], ".")
	if before, _, tagged := strings.Cut(local, "+"); tagged && before != "" {
		local = before
	}
	if one, ok := dotless[domain]; ok {
		local, domain = strings.ReplaceAll(local, ".", ""), one
	}
	return a.Kind + "\x00" + local + "@" + domain
}
