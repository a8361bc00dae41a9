package encoded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/view"
)

const base = "https://hazardd.example"

// start is when the views of these tests are opened.
const start hazard.Instant = 1_700_000_000_000

// fixed is a log with one state, to which nothing is added.
type fixed struct{ state store.Snapshot }

func (f *fixed) Snapshot(context.Context) (*store.Snapshot, error) { return &f.state, nil }

func (f *fixed) Since(context.Context, int64, int) ([]hazard.Change, error) { return nil, nil }

func (f *fixed) Wait(ctx context.Context, _ int64) error { <-ctx.Done(); return ctx.Err() }

func (f *fixed) ProductsAsOf(context.Context, int64, int64) ([]*hazard.Product, error) {
	return nil, nil
}

func flood(id int64, end hazard.Instant) *hazard.Hazard {
	return &hazard.Hazard{ID: id, UUID: uuid.NewSHA1(uuid.NameSpaceOID, []byte{byte(id)}), Name: fmt.Sprintf("Flood %d", id), Type: hazard.Flood, Severity: hazard.Warning,
		Category: hazard.Event, Status: hazard.Active, AutoExpire: true, End: end, OrgID: -1}
}

func note(id, hazardID int64, orgs ...int64) *hazard.Product {
	return &hazard.Product{ID: id, HazardID: hazardID, Title: "Note", Type: hazard.TextProduct, Data: strings.Repeat("text ", 400), OrgIDs: orgs, OrgID: -1}
}

func open(t testing.TB, number int64, hazards []*hazard.Hazard, products ...*hazard.Product) *view.Live {
	t.Helper()
	snap := store.Snapshot{Number: number, Hazards: hazards, Products: products}
	l, err := view.Open(t.Context(), &fixed{snap}, slog.New(slog.DiscardHandler), func() hazard.Instant { return start })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// with returns the view after h was written.
func with(t *testing.T, l *view.Live, h *hazard.Hazard) *view.View {
	t.Helper()
	if err := l.Apply(t.Context(), []hazard.Change{{Number: l.Number() + 1, Kind: hazard.HazardCreated, HazardID: h.ID, Hazard: h}}, start); err != nil {
		t.Fatal(err)
	}
	return l.View(start)
}

// listing writes its input as text, and counts its calls.
type listing struct {
	calls atomic.Int32
	fails error
}

func (l *listing) encode(out io.Writer, list iter.Seq2[*hazard.Hazard, int]) error {
	l.calls.Add(1)
	if l.fails != nil {
		return l.fails
	}
	for h, products := range list {
		if _, err := fmt.Fprintf(out, "%d:%d ", h.ID, products); err != nil {
			return err
		}
	}
	return nil
}

func TestAFormIsMadeOnceForEachViewAndAudience(t *testing.T) {
	present := open(t, 3, []*hazard.Hazard{flood(1, start.Add(time.Hour)), flood(2, start.Add(time.Minute))}, note(1, 1, 7))
	lists, form := NewLists(base, DefaultLimits.Shared), &listing{}
	shown := present.View(start)
	get := func(f view.Filter, orgs ...int64) *Body {
		t.Helper()
		body, err := lists.Form(shown, "csv", "", f, orgs, lang.Wish{}, form.encode)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	want := func(b *Body, text string, restricted bool, calls int32) {
		t.Helper()
		if got := string(b.Bytes(Identity)); got != text || b.Restricted != restricted || form.calls.Load() != calls {
			t.Errorf("%q restricted %v, made %d times, want %q %v, %d times", got, b.Restricted, form.calls.Load(), text, restricted, calls)
		}
	}
	want(get(view.Filter{}), "1:0 2:0 ", false, 1)
	want(get(view.Filter{}, 8), "1:0 2:0 ", false, 1) // an irrelevant membership
	want(get(view.Filter{}, 7), "1:1 2:0 ", true, 2)
	want(get(view.Filter{Severity: hazard.Termination}), "", false, 3)
	shown = present.View(start.Add(time.Minute))
	want(get(view.Filter{}), "1:0 ", false, 4) // the second has ended

	form.fails = errors.New("the store is away")
	if _, err := lists.Form(shown, "kml", "", view.Filter{}, nil, lang.Wish{}, form.encode); !errors.Is(err, form.fails) {
		t.Errorf("%v, want %v", err, form.fails)
	}
	form.fails = nil
	if body, err := lists.Form(shown, "kml", "", view.Filter{}, nil, lang.Wish{}, form.encode); err != nil || string(body.Bytes(Identity)) != "1:0 " {
		t.Errorf("after a failure: %v", err)
	}
	before := form.calls.Load()
	var readers sync.WaitGroup
	for range 20 {
		readers.Go(func() {
			if _, err := lists.Form(shown, "atom", "", view.Filter{}, nil, lang.Wish{}, form.encode); err != nil {
				t.Error(err)
			}
		})
	}
	readers.Wait()
	if n := form.calls.Load() - before; n != 1 {
		t.Errorf("20 readers at once had it made %d times", n)
	}
}

func TestAnUnchangedHazardIsNotEncodedAgain(t *testing.T) {
	present := open(t, 3, []*hazard.Hazard{flood(1, start.Add(time.Hour)), flood(2, start.Add(time.Minute))}, note(1, 1, 7))
	lists := NewLists(base, DefaultLimits.Shared)
	first := present.View(start)
	lists.Active(first, view.Filter{}, []int64{7}, lang.Wish{}) // readers with more rights do not decide what is cached
	lists.Active(first, view.Filter{}, nil, lang.Wish{})
	h, _ := first.Hazard(1)
	text := lists.of(first).records[said{h, -1}].text
	second := present.View(start.Add(time.Minute))
	if body := string(lists.Active(second, view.Filter{}, nil, lang.Wish{}).Bytes(Identity)); body != "["+string(text)+"]" {
		t.Errorf("after the end of the second hazard: %s, want only the first: %s", body, text)
	}
	if again := lists.of(second).records[said{h, -1}].text; &again[0] != &text[0] {
		t.Error("a hazard that did not change was encoded again")
	}
	if n := len(lists.of(second).records); n != 1 {
		t.Errorf("%d records of one hazard are in memory", n)
	}
	if member := string(lists.Active(second, view.Filter{}, []int64{7}, lang.Wish{}).Bytes(Identity)); !strings.Contains(member, `"product_total":"1"`) || strings.Contains(string(text), `"product_total":"1"`) {
		t.Errorf("a member gets %s, others %s", member, text)
	}
}

func TestAReaderOfAnOlderViewDoesNotReplaceTheBodiesOfTheLatest(t *testing.T) {
	present := open(t, 3, []*hazard.Hazard{flood(1, start.Add(time.Hour)), flood(2, start.Add(time.Minute))})
	lists := NewLists(base, DefaultLimits.Shared)
	old, latest := present.View(start), present.View(start.Add(time.Minute))
	want := lists.Active(latest, view.Filter{}, nil, lang.Wish{})
	if body := string(lists.Active(old, view.Filter{}, nil, lang.Wish{}).Bytes(Identity)); !strings.Contains(body, "Flood 2") {
		t.Errorf("a reader with the older view gets %s", body)
	}
	if lists.Active(latest, view.Filter{}, nil, lang.Wish{}) != want {
		t.Error("the list of the latest view was encoded again")
	}
}

func TestBodiesOfAViewAreBounded(t *testing.T) {
	const hazards, most = 20, 100_000
	var list []*hazard.Hazard
	var products []*hazard.Product
	for id := range int64(hazards) {
		list = append(list, flood(id+1, start.Add(time.Hour)))
		for i := range int64(4) { // of 10 kB
			products = append(products, note(id*10+i, id+1))
		}
	}
	shown, lists := open(t, 3, list, products...).View(start), NewLists(base, DefaultLimits.Shared)
	c := &lists.of(shown).bodies
	c.most = most
	whole := lists.Active(shown, view.Filter{}, nil, lang.Wish{})
	for id := range int64(hazards) {
		of, _ := shown.Products(id+1, nil)
		if body, err := lists.Products(shown, id+1, nil, of); err != nil || len(body.Bytes(Identity)) < 8000 {
			t.Fatalf("products of hazard %d: %v", id+1, err)
		}
		if lists.Active(shown, view.Filter{}, nil, lang.Wish{}) != whole {
			t.Fatal("the most requested list was dropped")
		}
	}
	sum := 0
	for e := c.order.Front(); e != nil; e = e.Next() {
		sum += e.Value.(*slot).body.Load().size()
	}
	if sum != c.bytes || sum > most || len(c.slots) != c.order.Len() || c.order.Len() < 3 {
		t.Errorf("%d bodies of %d bytes are in memory (counted: %d), at most %d may be", c.order.Len(), sum, c.bytes, most)
	}
}

func TestWhatIsTooLargeToBeKeptIsMadeOnlyOnce(t *testing.T) {
	many := note(1, 1)
	many.Data = strings.Repeat("x", manyProducts+1)
	shown, lists := open(t, 3, []*hazard.Hazard{flood(1, start.Add(time.Hour))}, many).View(start), NewLists(base, DefaultLimits.Shared)
	calls := 0
	for range 3 {
		if _, err := lists.Form(shown, "kml", "", view.Filter{}, nil, lang.Wish{}, func(out io.Writer, _ iter.Seq2[*hazard.Hazard, int]) error {
			calls++
			for part := make([]byte, 1<<20); ; {
				if _, err := out.Write(part); err != nil {
					return fmt.Errorf("hazard 1: %w", err)
				}
			}
		}); !errors.Is(err, ErrLarge) {
			t.Errorf("a form without end: %v, want ErrLarge", err)
		}
	}
	if calls != 1 {
		t.Errorf("it was made %d times", calls)
	}
	products, _ := shown.Products(1, nil)
	if _, err := lists.Products(shown, 1, nil, products); !errors.Is(err, ErrLarge) {
		t.Errorf("products of more than 1 MiB: %v, want ErrLarge", err)
	}
}

// A list that is too large for memory lies in a file: it is made once for each view and audience, read whole by
// many at once, and the file is closed when nobody has it.
func TestALargeFormIsKeptInAFile(t *testing.T) {
	present := open(t, 3, []*hazard.Hazard{flood(1, start.Add(time.Hour)), flood(2, start.Add(time.Minute))}, note(1, 1, 7))
	shown, lists, made := present.View(start), NewLists(base, 600_000), 0
	get := func(tag string, orgs ...int64) (*Body, error) {
		return lists.Form(shown, "kml", tag, view.Filter{}, orgs, lang.Wish{}, func(out io.Writer, list iter.Seq2[*hazard.Hazard, int]) error {
			made++
			for h, products := range list {
				if _, err := out.Write(bytes.Repeat([]byte{byte('a' + h.ID + int64(10*products))}, 150_001)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	want := func(tag, text string, restricted bool, calls int, orgs ...int64) {
		t.Helper()
		body, err := get(tag, orgs...)
		if err != nil || !body.InFile() || !body.Open() {
			t.Fatal("it is not in a file", err)
		}
		defer body.Close()
		var all string
		for _, one := range text {
			all += strings.Repeat(string(one), 150_001)
		}
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				var got strings.Builder
				if n, err := body.WriteTo(&got); err != nil || got.String() != all || body.Length(Identity)[0] != strconv.FormatInt(n, 10) {
					t.Errorf("%d bytes, %v", n, err)
				}
			})
		}
		readers.Wait()
		if body.ETag(Identity)[0] != tag || body.Restricted != restricted || made != calls {
			t.Errorf("%v, restricted %v, made %d times, want %d", body.ETag(Identity), body.Restricted, made, calls)
		}
	}
	want("one", "bc", false, 1)
	want("one", "bc", false, 1)
	want("two", "lc", true, 2, 7)
	want("one", "bc", false, 2)
	shown = with(t, present, flood(3, start.Add(time.Hour)))
	want("three", "bcd", false, 3)
	slow, err := get("three")
	if err != nil || !slow.Open() {
		t.Fatal(err)
	}
	shown = present.View(start.Add(2 * time.Hour)) // all have ended
	if body, err := get("four"); err != nil || body.InFile() {
		t.Errorf("an empty list: %v", err)
	}
	if n, err := slow.WriteTo(io.Discard); n != 3*150_001 || err != nil {
		t.Errorf("a slow reader of the view before: %d bytes, %v", n, err)
	}
	slow.Close()
	if held := lists.files.held.Load(); held != 0 || slow.Open() {
		t.Errorf("%d bytes are still in files", held)
	}
}

// writing writes the hazards of a list.
type writing func(write func([]byte) error, list iter.Seq2[*hazard.Hazard, int]) error

// A list that was too large is not encoded in vain after the next change, unless it has become shorter.
func TestAFormThatWasTooLargeIsStreamedAtOnce(t *testing.T) {
	for name, get := range map[string]func(*Lists, *view.View, writing) error{
		"form": func(l *Lists, v *view.View, encode writing) error {
			_, err := l.Form(v, "kml", "", view.Filter{}, nil, lang.Wish{}, func(out io.Writer, list iter.Seq2[*hazard.Hazard, int]) error {
				return encode(func(text []byte) error { _, err := out.Write(text); return err }, list)
			})
			return err
		},
		"entries": func(l *Lists, v *view.View, encode writing) error {
			_, err := l.Entries(v, "summary", "1", view.Filter{}, nil, lang.Wish{}, "", func(add func(int64, []byte) error, list iter.Seq2[*hazard.Hazard, int]) error {
				return encode(func(text []byte) error { return add(1, text) }, list)
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { streamedAtOnce(t, get) })
	}
}

func streamedAtOnce(t *testing.T, get func(*Lists, *view.View, writing) error) {
	present, lists := open(t, 3, []*hazard.Hazard{flood(1, start.Add(time.Hour)), flood(2, start.Add(time.Minute))}), NewLists(base, DefaultLimits.Shared)
	made := 0
	encode := func(write func([]byte) error, list iter.Seq2[*hazard.Hazard, int]) error {
		made++
		for range list {
			if err := write(make([]byte, DefaultLimits.Shared/5)); err != nil {
				return err
			}
		}
		return nil
	}
	for i, tt := range []struct {
		of    *view.View
		large bool
		made  int
	}{
		{present.View(start), true, 1},
		{with(t, present, flood(1, start.Add(2*time.Hour))), true, 1},
		{present.View(start.Add(time.Minute)), false, 2},
		{with(t, present, flood(2, start.Add(time.Hour))), true, 3},
	} {
		if err := get(lists, tt.of, encode); errors.Is(err, ErrLarge) != tt.large || made != tt.made {
			t.Errorf("view %d: %v, encoded %d times, want %d", i, err, made, tt.made)
		}
	}
}

// A kept body has no more memory than it has bytes, whatever the sizes of what is written.
func TestABodyHasNoMemoryInVain(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		b := buffer{most: 2 << 20}
		var want []byte
		for range r.IntN(200) {
			part := bytes.Repeat([]byte{byte(r.IntN(256))}, r.IntN(1<<r.IntN(17)))
			if _, err := b.Write(part); err != nil {
				if len(want)+len(part) <= b.most || len(b.parts) > 0 {
					t.Fatalf("%d bytes after %d: %v", len(part), len(want), err)
				}
				want = nil
				break
			}
			want = append(want, part...)
		}
		if got := b.text(); !bytes.Equal(got, want) || cap(got) > len(got)+len(got)/8+4096 {
			t.Fatalf("%d bytes in %d, want %d", len(got), cap(got), len(want))
		}
	}
}

func TestABodyIsCopiedOutOfMuchMoreMemory(t *testing.T) {
	text := make([]byte, 1<<20, 2<<20)
	for i := range text {
		text[i] = byte(i * i >> 7)
	}
	body := NewBody(text, false)
	for e := range encodings {
		if got := body.Bytes(e); cap(got)-len(got) > leastSpare+len(got)/8 || e == Identity && !bytes.Equal(got, text) {
			t.Errorf("%d bytes in %s lie in %d", len(got), e, cap(got))
		}
	}
}

func TestAWildcardMeansGzip(t *testing.T) {
	for accept, want := range map[string]Encoding{"*": Gzip, "*;q=0.1": Gzip, "*;q=0": Identity, "gzip;q=0, *": Identity, "identity, *;q=0.5": Identity, "br, *": Brotli, "zstd;q=0, *": Gzip} {
		if got := Prefer([]string{accept}); got != want {
			t.Errorf("Accept-Encoding: %s gets %q, want %q", accept, got, want)
		}
	}
}
