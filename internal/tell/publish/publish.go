// Package publish finds and writes the CAP messages of the organizations that publish their hazards
// (package publisher).
//
// A message depends only on the change log, the profiles and the contents of files. It is stored
// only in caches. The list of changes that are messages is in memory; it is built from the log on
// first use, and extended from there. A redaction rebuilds the list of its hazard; a replaced
// history rebuilds all. The package is safe for concurrent use.
package publish

import (
	"context"
	"crypto/sha1" //nolint:gosec // CAP 1.2, section 3.2.3: a digest is SHA-1
	"encoding/hex"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/format/publisher"
	"github.com/hazardd/hazardd/internal/geo/lru"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// Signer signs messages. The same message must always give the same bytes, because it is signed
// again each time it is rebuilt.
type Signer interface {
	Sign(document []byte) ([]byte, error)
}

// Limits of memory, in bytes.
const (
	maxMessages = 16 << 20 // of cached messages
	maxEntries  = 8 << 20  // of cached entries of indexes
	maxDigests  = 1 << 20
	// maxDigested is the size of the largest file for which a message has a digest. The digest
	// needs the whole file to be read.
	maxDigested = 64 << 20
	// changesAtOnce is how many changes are read at once.
	changesAtOnce = 500
)

// Publisher lists and writes the messages. Create it with New.
type Publisher struct {
	store  *store.Store
	signer Signer // nil: messages are not signed

	mu      sync.Mutex
	last    int64 // the change up to which chains are complete; guarded by mu, like the fields below
	forks   int64
	chains  map[int64]*chain // by hazard
	changed bool             // since view was built
	view    *View
	views   int64 // number of views built

	documents, entries *lru.Cache[string, []byte]
	digests            *lru.Cache[string, string]
}

type chain struct {
	publisher.Chain
	last int64 // number of the hazard's last change, which voids its cached documents
}

// View is the list of published messages as of a change. It is immutable.
type View struct {
	Settings publisher.Settings
	Messages []publisher.Message // the published messages, in the order of publication
	// Key changes whenever the list or the content of messages may have changed.
	Key  string
	of   map[int64][]publisher.Message // the published messages of a hazard
	last map[int64]int64
}

// New returns a Publisher. Messages are signed by signer, or not at all if it is nil.
func New(s *store.Store, signer Signer) *Publisher {
	return &Publisher{store: s, signer: signer, forks: -1, documents: lru.New[string, []byte](maxMessages), entries: lru.New[string, []byte](maxEntries),
		digests: lru.New[string, string](maxDigests)}
}

// At returns the view as of change n, or as of a later change that was requested before.
func (p *Publisher) At(ctx context.Context, n int64) (*View, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	settings, err := p.store.Publishing.Settings(ctx)
	if err != nil {
		return nil, err
	}
	if len(settings) == 0 { // as on most servers; then nothing needs to be read
		return &View{Settings: settings}, nil
	}
	forks, err := p.store.Log.Forks(ctx)
	if err != nil {
		return nil, err
	}
	if forks != p.forks {
		p.forks, p.last, p.chains, p.view = forks, 0, map[int64]*chain{}, nil
		p.documents, p.entries = lru.New[string, []byte](maxMessages), lru.New[string, []byte](maxEntries)
	}
	if err := p.follow(ctx, n); err != nil {
		return nil, err
	}
	if p.view == nil || p.changed || !reflect.DeepEqual(p.view.Settings, settings) {
		p.view, p.changed = p.newView(settings), false
	}
	return p.view, nil
}

// follow extends the chains up to change n. The caller holds p.mu.
func (p *Publisher) follow(ctx context.Context, n int64) error {
	if n <= p.last {
		return nil
	}
	err := p.store.Log.OwnChanges(ctx, p.last, n, func(c *hazard.Change) error {
		if err := p.add(ctx, c); err != nil {
			return err
		}
		p.last = c.Number
		return nil
	})
	if err == nil {
		p.last = n
	}
	return err
}

func (p *Publisher) add(ctx context.Context, c *hazard.Change) error {
	p.changed = true
	known := p.chains[c.HazardID]
	if known == nil {
		known = &chain{}
		p.chains[c.HazardID] = known
	}
	if !c.Redacts() {
		known.Add(c)
		known.last = c.Number
		return nil
	}
	again := &chain{last: c.Number} // all earlier states may have been rewritten
	for after := int64(0); after < c.Number; {
		changes, err := p.store.Log.HazardChanges(ctx, c.HazardID, after, changesAtOnce)
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			break
		}
		for i := range changes {
			if changes[i].Number <= c.Number {
				again.Add(&changes[i])
			}
			after = changes[i].Number
		}
	}
	p.chains[c.HazardID] = again
	return nil
}

func (p *Publisher) newView(settings publisher.Settings) *View {
	p.views++
	v := &View{Settings: settings, Key: strconv.FormatInt(p.views, 10), of: map[int64][]publisher.Message{}, last: map[int64]int64{}}
	for id, c := range p.chains {
		v.last[id] = c.last
		v.of[id] = publisher.Published(c.Messages, settings)
		v.Messages = append(v.Messages, v.of[id]...)
	}
	slices.SortFunc(v.Messages, publisher.ComparePublished)
	return v
}

// Of lists the published messages of an organization in the order of publication, or of all organizations if org is
// 0.
func (v *View) Of(org int64) []publisher.Message {
	if org == 0 {
		return v.Messages
	}
	var own []publisher.Message
	for _, m := range v.Messages {
		if m.Org == org {
			own = append(own, m)
		}
	}
	return own
}

// Changed returns when the last message of an organization was sent; org 0 means all of them. It is 0
// if there is none.
func (v *View) Changed(org int64) (at hazard.Instant) {
	for _, m := range v.Messages {
		if org == 0 || m.Org == org {
			at = max(at, m.Sent)
		}
	}
	return at
}

// Find returns the message with an identifier, and its hazard. It returns hazard.ErrNotFound if
// there is none.
func (p *Publisher) Find(ctx context.Context, v *View, identifier string) (publisher.Message, *hazard.Hazard, error) {
	none := fmt.Errorf("%w: no message %.80q", hazard.ErrNotFound, identifier)
	n, ok := format.NumberOf(identifier)
	i := slices.IndexFunc(v.Messages, func(m publisher.Message) bool { return m.Number == n })
	if !ok || i < 0 {
		return publisher.Message{}, nil, none
	}
	m := v.Messages[i]
	h, err := p.store.Log.HazardAsOf(ctx, m.Hazard, m.Number)
	if err != nil {
		return m, nil, err
	}
	if format.Identifier(m.Profile, h.UUID, m.Number) != identifier {
		return m, nil, none
	}
	return m, h, nil
}

// message returns the content of a message. Its addresses begin with base. Unless whole is set, it
// has no areas, files and references.
func (p *Publisher) message(ctx context.Context, v *View, m publisher.Message, h *hazard.Hazard, base string, whole bool) (*format.Message, error) {
	out := &format.Message{Message: m, Hazard: h.ExpireAt(m.Sent), Base: base}
	if !whole {
		return out, nil
	}
	var err error
	if out.Areas, err = p.store.Log.Areas(ctx, h.Areas); err != nil {
		return nil, err
	}
	for _, e := range v.of[m.Hazard] {
		if e.First != m.First || e.Number >= m.Number {
			continue
		}
		out.References = append(out.References, format.Reference{Sender: e.Profile.Sender, Identifier: format.Identifier(e.Profile, h.UUID, e.Number), Sent: e.Sent})
	}
	products, err := p.store.Log.ProductsAsOf(ctx, m.Hazard, m.Number)
	if err == nil {
		err = p.store.Log.JudgeByPresent(ctx, products)
	}
	if err != nil {
		return nil, err
	}
	for _, f := range products {
		if f.File == nil || f.File.Digest == "" || f.Hidden || !f.Open() {
			continue
		}
		sum, err := p.digest(ctx, f.File)
		if err != nil {
			return nil, err
		}
		out.Files = append(out.Files, format.File{Title: f.Title, MediaType: f.File.MediaType, Size: f.File.Size, SHA1: sum, Address: base + "/products/" + strconv.FormatInt(f.ID, 10) + "/file?version=" + strconv.FormatInt(f.Version, 10)})
	}
	return out, nil
}

// digest returns the SHA-1 of a file; empty for a large one.
func (p *Publisher) digest(ctx context.Context, f *hazard.File) (string, error) {
	if f.Size > maxDigested {
		return "", nil
	}
	if sum, ok := p.digests.Get(f.Digest); ok {
		return sum, nil
	}
	content, err := p.store.Files.Open(ctx, f.Digest)
	if err != nil {
		return "", err
	}
	defer content.Close()
	hash := sha1.New() //nolint:gosec // see above
	if _, err := io.Copy(hash, content); err != nil {
		return "", err
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	p.digests.Put(f.Digest, sum, 2*len(sum)+64)
	return sum, nil
}

// perKept is the approximate memory that a cached document needs besides its text, in bytes.
const perKept = 200

// Document returns the XML of the message with an identifier. Addresses of files begin with base.
func (p *Publisher) Document(ctx context.Context, v *View, identifier, base string) ([]byte, error) {
	m, h, err := p.Find(ctx, v, identifier)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprint(m.Number, " ", v.last[m.Hazard], " ", base, " ", m.Kind, " ", m.First, " ", m.Status)
	if text, ok := p.documents.Get(key); ok {
		return text, nil
	}
	whole, err := p.message(ctx, v, m, h, base, true)
	if err != nil {
		return nil, err
	}
	text, err := format.WriteMessage(whole)
	if err == nil && p.signer != nil {
		text, err = p.signer.Sign(text)
	}
	if err != nil {
		return nil, fmt.Errorf("message %s: %w", identifier, err)
	}
	p.documents.Put(key, text, len(text)+perKept)
	return text, nil
}

// Form is the format of an index.
type Form string

// The forms.
const (
	Atom Form = "atom"
	RSS  Form = "rss"
)

// Address returns the path of a message, relative to the address of the service.
func Address(identifier string) string { return "/cap/" + identifier + ".xml" }

// Entry returns the entry of a message in an index. Its addresses begin with base.
func (p *Publisher) Entry(ctx context.Context, v *View, m publisher.Message, f Form, base string) ([]byte, error) {
	key := fmt.Sprint(f, " ", m.Number, " ", v.last[m.Hazard], " ", base, " ", m.Kind, " ", m.Status)
	if text, ok := p.entries.Get(key); ok {
		return text, nil
	}
	h, err := p.store.Log.HazardAsOf(ctx, m.Hazard, m.Number)
	if err != nil {
		return nil, err
	}
	some, err := p.message(ctx, v, m, h, base, false)
	if err != nil {
		return nil, err
	}
	e := some.Entry(base + Address(format.Identifier(some.Profile, h.UUID, m.Number)))
	write := e.AtomEntry
	if f == RSS {
		write = e.RSSEntry
	}
	text, err := write()
	if err == nil {
		p.entries.Put(key, text, len(text)+perKept)
	}
	return text, err
}

// Limits of an index.
const (
	// archiveSize is the number of messages in an archive. The messages of an archive never change.
	archiveSize = 250
	// maxIndex is the maximum size of an index in bytes. Readers refuse larger ones (Google at 900
	// kB).
	maxIndex = 900_000
	// room is the maximum size of an index without its entries.
	room = 20_000
)

// Index returns the feed of messages (archive -1), or one of its archives. It returns
// hazard.ErrNotFound if there is no archive with that number. address returns the addresses of the
// feed (-1) and of the archives. The feed contains the newest messages: those not yet in an
// archive, and as many whole archives as fit.
func (p *Publisher) Index(ctx context.Context, v *View, org int64, title string, f Form, archive int, base string, address func(archive int) string) ([]byte, error) {
	all := v.Of(org)
	archives := len(all) / archiveSize
	x := &format.Index{Self: address(archive), ID: address(-1), Title: title, Author: title}
	if archive >= archives {
		return nil, fmt.Errorf("%w: there are only %d archives, numbered from 0", hazard.ErrNotFound, archives)
	}
	first, end := archive, len(all)
	if archive >= 0 {
		end, x.Current = (archive+1)*archiveSize, address(-1)
		if archive+1 < archives {
			x.Newer = address(archive + 1)
		}
	}
	var entries [][]byte
	size := 0
	add := func(from, to int) error {
		for _, m := range slices.Backward(all[from:to]) {
			e, err := p.Entry(ctx, v, m, f, base)
			if err != nil {
				return err
			}
			entries, size = append(entries, e), size+len(e)+1
		}
		return nil
	}
	if archive < 0 {
		first = archives
		if err := add(archives*archiveSize, len(all)); err != nil {
			return nil, err
		}
		for ; first > 0; first-- {
			was := len(entries)
			if err := add((first-1)*archiveSize, first*archiveSize); err != nil {
				return nil, err
			}
			if size > maxIndex-room { // it does not fit
				entries = entries[:was]
				break
			}
		}
	} else if err := add(first*archiveSize, end); err != nil {
		return nil, err
	}
	if first > 0 {
		x.Older = address(first - 1)
	}
	if end > 0 {
		x.Updated = all[end-1].Sent
	}
	if f == RSS {
		return x.RSS(entries), nil
	}
	return x.Atom(entries), nil
}
