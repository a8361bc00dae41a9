package encoded

import "testing"

func TestAUserHoldsABoundedNumberOfOlderLists(t *testing.T) {
	r := Readers{Most: DefaultLimits.Reading}
	list := func() *Body { return NewBody(make([]byte, 10<<20), false) }
	var read []*Body
	for range 6 {
		body := list()
		for range 100 { // the same list is stored once for many requests
			if err := r.Begin("red", body); err != nil {
				t.Fatal(err)
			}
		}
		read = append(read, body)
	}
	if err := r.Begin("red", list()); refusal(err) != "list-bytes-user" {
		t.Errorf("the seventh list of 10 MiB: %v, want a refusal", err)
	}
	if err := r.Begin("red", read[0]); err != nil {
		t.Errorf("a list that the user reads already: %v", err)
	}
	r.End("red", read[0])
	if err := r.Begin("red", NewBody(make([]byte, 1000), false)); err != nil {
		t.Errorf("a small list: %v", err)
	}
	other := list()
	if err := r.Begin("blue", other); err != nil {
		t.Errorf("another user: %v", err)
	}
	r.End("blue", other)
	for _, body := range read {
		for range 100 {
			r.End("red", body)
		}
	}
	whole := NewBody(make([]byte, DefaultLimits.Reading+1), false)
	if err := r.Begin("red", whole); err != nil {
		t.Errorf("a single list larger than everything that a user may use: %v", err)
	}
	r.End("red", whole)
	if len(r.reads) != 0 || len(r.bytes) != 0 {
		t.Errorf("when all is read, %d readings of %d users are noted", len(r.reads), len(r.bytes))
	}
}
