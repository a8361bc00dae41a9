package encoded

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/store/view"
	"github.com/hazardd/hazardd/wire"
)

// Lists encodes the lists of a view, once for each filter, form, audience, choice of languages and
// names of people (View.Named), for as long as the view is current. Readers that request the same list at once wait for the first
// of them. It is safe for concurrent use.
type Lists struct {
	base    string
	shared  int64
	present atomic.Pointer[generation]
	mu      sync.Mutex // guards replacing present, and large
	large   map[key]large
	files   files

	editions editions
}

// NewLists returns Lists for a service with the public address base, without a trailing slash. It keeps
// at most shared bytes.
func NewLists(base string, shared int64) *Lists {
	return &Lists{base: base, shared: shared, files: files{most: int(shared * perFile / 2)}}
}

// large is what is remembered of a form that was too large for memory.
type large struct {
	hazards int
	files   bool // for a file, too
}

// generation holds what was encoded of one view.
type generation struct {
	view   *view.View
	bodies cache

	sets func() *lang.Sets // the languages of its hazards

	mu      sync.Mutex // guards records
	records map[said]record
}

// said identifies one text of a hazard by its number; -1 means the stored one.
type said struct {
	hazard *hazard.Hazard
	text   int
}

// record is the JSON object of a hazard that is told to have so many products.
type record struct {
	products int
	text     []byte
}

// of returns the generation of v. For a view that was replaced, it returns one that is not kept,
// for the reader that still has it.
func (l *Lists) of(v *view.View) *generation {
	v = v.Base()
	if g := l.present.Load(); g != nil && g.view == v {
		return g
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.present.Load()
	if before != nil && before.view == v {
		return before
	}
	g := &generation{view: v, bodies: cache{most: int(l.shared)}, records: map[said]record{},
		sets: sync.OnceValue(func() *lang.Sets { return lang.SetsOf(v.Hazards(view.Filter{}, nil)) })}
	if before == nil {
		l.present.Store(g)
		return g
	}
	// A hazard that did not change is not encoded again: a view shares it with the one before.
	before.mu.Lock()
	defer before.mu.Unlock()
	for s, r := range before.records {
		if h, ok := v.Hazard(s.hazard.ID); ok && h == s.hazard {
			g.records[s] = r
		}
	}
	if before.view.Number() <= v.Number() && before.view.At() <= v.At() {
		l.present.Store(g)
		before.bodies.drop()
	}
	return g
}

// Active returns the JSON array of the active hazards that match f, in the standard order, as a
// member of orgs sees them. Each is in the language that fits wish best.
func (l *Lists) Active(v *view.View, f view.Filter, orgs []int64, wish lang.Wish) *Body {
	g := l.of(v)
	k := g.key(key{filter: f, audience: v.Audience(orgs), names: v.Names()}, &wish)
	if body := g.bodies.find(k); body != nil {
		return body
	}
	body, err := g.bodies.get(k, func() (*Body, error) {
		return NewBody(g.active(v, l.base, f, orgs, wish.Reader()), k.audience != ""), nil
	})
	if err != nil {
		panic(err) // the function above returns none
	}
	return body
}

// key adds to a key which texts wish selects in the view. It clears a wish that selects only stored
// texts.
func (g *generation) key(k key, wish *lang.Wish) key {
	if wish.None() {
		return k
	}
	if k.languages = g.sets().Key(*wish); k.languages == "" {
		*wish = lang.Wish{}
	}
	return k
}

func (g *generation) active(v *view.View, base string, f view.Filter, orgs []int64, reader *lang.Reader) []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	size := 2
	var texts [][]byte
	for h, products := range v.Hazards(f, orgs) {
		s := said{h, reader.Text(h)}
		r, ok := g.records[s]
		if !ok || r.products != products {
			r = record{products, encode(wire.FromHazard(reader.Of(h), products, base))}
			// What most readers see is kept for the next view.
			if !ok || v.ProductTotal(h.ID, nil) == products {
				g.records[s] = r
			}
		}
		texts = append(texts, r.text)
		size += len(r.text) + 1
	}
	out := append(make([]byte, 0, size), '[')
	for i, text := range texts {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, text...)
	}
	return append(out, ']')
}

// Form returns a list in another form than Active: what encode writes for the hazards of the view,
// each in the language that fits wish best. After an error, the next reader tries again. A list that is larger
// than a third of what is kept is in a file; tag is its ETag then, and names all that it depends on. The error
// is ErrLarge if it is too large for that as well.
func (l *Lists) Form(v *view.View, form, tag string, f view.Filter, orgs []int64, wish lang.Wish, encode func(io.Writer, iter.Seq2[*hazard.Hazard, int]) error) (*Body, error) {
	g := l.of(v)
	k := g.key(key{form: form, filter: f, audience: v.Audience(orgs), names: v.Names()}, &wish)
	return g.bodies.get(k, func() (*Body, error) {
		return l.bounded(k, tag, v.Hazards(f, orgs), func(out io.Writer) error {
			return encode(out, wish.Reader().All(v.Hazards(f, orgs)))
		})
	})
}

// bounded returns what encode writes for a list, unless that is too large, or was for one that is no longer. It
// is too large for memory if it has no tag for a file.
func (l *Lists) bounded(k key, tag string, list iter.Seq2[*hazard.Hazard, int], encode func(io.Writer) error) (*Body, error) {
	n := 0
	for range list {
		n++
	}
	out := buffer{most: int(l.shared / 3)}
	if tag != "" {
		out.files = &l.files
	}
	switch before, was := l.wasLarge(k, n); {
	case was && (before.files || tag == ""):
		return nil, ErrLarge
	case was:
		out.most = 0
	}
	if err := encode(&out); err != nil {
		if errors.Is(err, ErrLarge) {
			l.noteLarge(k, large{n, out.bytes > l.files.most/2})
		}
		out.discard()
		return nil, err
	}
	if out.file != nil {
		l.noteLarge(k, large{hazards: n})
		return l.files.body(out.file, out.bytes, tag, k.audience != ""), nil
	}
	return NewBody(out.text(), k.audience != ""), nil
}

// maxLarge bounds how many large forms are remembered.
const maxLarge = 64

// noteLarge records that a form of n hazards was too large, so that nobody encodes that of the next
// view in vain before streaming it.
func (l *Lists) noteLarge(k key, what large) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.large) >= maxLarge || l.large == nil {
		l.large = map[key]large{}
	}
	l.large[k] = what
}

// wasLarge returns what is remembered of the form, if it was too large with n hazards or fewer. With fewer than
// before it may fit.
func (l *Lists) wasLarge(k key, n int) (before large, was bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, was = l.large[k]
	if was && n < before.hazards {
		delete(l.large, k)
	}
	return before, was && n >= before.hazards
}

// Entries returns a list as a JSON array of what encode adds: entries with a number of their own, in
// an order of their own. form is what the entries depend on besides the hazards, and day what changes
// with time alone. With since, the tag of an earlier text of the list, it is what has changed since as a JSON object:
// the tag of the list as it is, the total of its entries, the numbers that are gone, and what is new
// or different, each with its index. It is nil if since is not known any more, or if the whole list costs little more.
// The error is as Form's.
func (l *Lists) Entries(v *view.View, form, day string, f view.Filter, orgs []int64, wish lang.Wish, since string, encode func(add func(id int64, entry []byte) error, list iter.Seq2[*hazard.Hazard, int]) error) (*Body, error) {
	g := l.of(v)
	k := key{form: form, filter: f, audience: v.Audience(orgs), names: v.Names(), languages: fmt.Sprint(wish.Tags())}
	edition := k
	k.form, k.languages = form+day, ""
	k = g.key(k, &wish)
	body, err := g.bodies.get(k, func() (*Body, error) {
		var entries []entry
		body, err := l.bounded(k, "", v.Hazards(f, orgs), func(out io.Writer) error {
			at, separator := 0, "["
			err := encode(func(id int64, one []byte) error {
				_, _ = io.WriteString(out, separator) // the next one fails if this does
				_, err := out.Write(one)
				at += len(separator)
				entries = append(entries, entry{id: id, from: at, to: at + len(one), sum: maphash.Bytes(seed, one)})
				at, separator = at+len(one), ","
				return err
			}, wish.Reader().All(v.Hazards(f, orgs)))
			if err == nil && len(entries) == 0 {
				_, err = io.WriteString(out, "[")
			}
			if err == nil {
				_, err = io.WriteString(out, "]")
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		body.entries = entries
		return body, nil
	})
	if err != nil {
		return nil, err
	}
	since = plain(since)
	d := l.editions.next(edition, body, since)
	if since == "" {
		return body, nil
	}
	if d == nil {
		return nil, nil
	}
	k.form = fmt.Sprintf("%s since %s", k.form, since)
	return g.bodies.get(k, func() (*Body, error) { return NewBody(d.text(body), k.audience != ""), nil })
}

// Languages returns the languages of wish in which some hazard of the view has texts, in the
// authorities' spelling; at most 8.
func (l *Lists) Languages(v *view.View, wish lang.Wish) []string {
	if wish.None() {
		return nil
	}
	return l.of(v).sets().Met(wish)
}

// manyProducts is the size of products, in bytes of data, from which their list is not kept.
const manyProducts = 1 << 20

// Products returns the JSON array of those products of an active hazard that a member of orgs may
// see. The caller has read products from v. The error is ErrLarge if they are larger than 1 MiB
// together.
func (l *Lists) Products(v *view.View, id int64, orgs []int64, products []*hazard.Product) (*Body, error) {
	size := 0
	for _, p := range products {
		size += len(p.Data)
	}
	if size > manyProducts {
		return nil, ErrLarge
	}
	return l.of(v).bodies.get(key{products: id, audience: v.Audience(orgs), names: v.Names()}, func() (*Body, error) {
		list := make([]wire.Product, len(products))
		for i, p := range products {
			list[i] = wire.FromProduct(p, l.base)
		}
		return NewBody(encode(list), slices.ContainsFunc(products, (*hazard.Product).Restricted)), nil
	})
}

func encode(record any) []byte {
	text, err := json.Marshal(record)
	if err != nil {
		panic(err) // strings are valid UTF-8 and numbers finite since they were stored
	}
	return text
}
