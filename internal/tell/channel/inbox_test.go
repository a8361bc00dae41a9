package channel_test

import (
	"testing"

	"github.com/hazardd/hazardd/internal/tell/channel"
)

func TestInboxesOfOnePersonAreOne(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"eve@example.org", "Eve@Example.ORG", true},
		{"eve@example.org", "eve+x@example.org", true},
		{"eve@example.org", "eve@example.org.", true},
		{"e.v.e@gmail.com", "eve+news@googlemail.com", true},
		{"e.ve@example.org", "eve@example.org", false},
		{"+x@example.org", "+y@example.org", false},
		{"eve@example.org", "eva@example.org", false},
	} {
		a, b := channel.Inbox(channel.Address{Kind: channel.Email, To: tt.a}), channel.Inbox(channel.Address{Kind: channel.Email, To: tt.b})
		if (a == b) != tt.same {
			t.Errorf("%s and %s: %q and %q", tt.a, tt.b, a, b)
		}
	}
	if channel.Inbox(channel.Address{Kind: channel.HTTP, Template: "sms", To: "+15551234567"}) != channel.Inbox(channel.Address{Kind: channel.HTTP, Template: "signal", To: "+15551234567"}) {
		t.Error("a telephone number is one, whatever service sends to it")
	}
	if channel.Inbox(channel.Address{Kind: channel.HTTP, To: "A"}) == channel.Inbox(channel.Address{Kind: channel.HTTP, To: "a"}) {
		t.Error("a chat is none of an inbox")
	}
}
