package poll

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Documents that an index announces.
const (
	// firstAgain is the delay after the first failure of a document. Each further delay is twice as
	// long, up to the longest delay of a failing feed of the source.
	firstAgain = 5 * time.Second
	// linkAgain is when a document is read again whose index does not say when it changed.
	linkAgain = time.Hour
	// unlistedFor is how long a document is still retried after the index has dropped it: some
	// indexes only hold the latest alerts.
	unlistedFor = time.Hour
	// missingAfter is how long a document may wait before it counts as missing.
	missingAfter = time.Minute
	// maxHosts bounds the recorded hosts of links that are not followed.
	maxHosts = 5
)

// Documents counts the documents that the indexes of a source announce. Missing ones are also
// counted as waiting.
type Documents struct {
	Read    int `json:"read"`    // listed documents that have been read
	Waiting int `json:"waiting"` // still to be read, or to be read again
	Missing int `json:"missing"` // unreadable so far, or waiting for more than a minute
	Refused int `json:"refused"` // at addresses that are not followed
}

// announce queues the documents of an index that need to be read, and forgets those that it no
// longer lists. whole says that the index was read to its end. It reports whether all documents
// were queued.
func (w *worker) announce(f *feed, links []source.Link, whole bool, now hazard.Instant) bool {
	if len(links) == 0 && len(f.kept.Links) == 0 && f.kept.Refused == 0 && f.kept.Left == 0 && !w.st.waitsFor(f.URL) {
		return true
	}
	read := map[string]hazard.Instant{}
	if !whole {
		maps.Copy(read, f.kept.Links)
	}
	entries, refused, hosts := w.src.entries(f.URL, links)
	listed := map[string]bool{}
	waits := map[string]bool{}
	for i := range w.st.Jobs {
		if j := &w.st.Jobs[i]; j.Feed == f.URL {
			waits[j.Link] = true
		}
	}
	var jobs []job
	for _, e := range entries[:min(len(entries), maxLinks)] {
		listed[e.address] = true
		name := e.name()
		until, had := f.kept.Links[name]
		if had {
			read[name] = until
		}
		if had && now < until {
			continue
		}
		if !had && !waits[name] {
			f.kept.LastNews = now
		}
		jobs = append(jobs, job{URL: e.address, Feed: f.URL, Link: name, Dated: e.dated, Had: had, Since: now, Expires: e.expires})
	}
	left := max(0, len(entries)-maxLinks)
	for i := range w.st.Jobs {
		if j := &w.st.Jobs[i]; whole && j.Link != "" && j.Feed == f.URL && !listed[j.URL] && j.Unlisted == 0 {
			j.Unlisted = now
		}
	}
	left += w.st.enqueue(jobs)
	f.kept.Links, f.kept.Refused, f.kept.Hosts, f.kept.Left = read, refused, hosts, left
	return left == 0
}

// entry is the entry of an index for one document. Several entries may link to the same document,
// for example one entry for each area of an alert.
type entry struct {
	address string
	version string         // distinguishes versions of the document
	dated   bool           // version is the time of the last change
	expires hazard.Instant // 0 if unknown
}

// entries returns the documents behind the links of a feed in order, the number of links that are
// not followed, and the first hosts of those.
func (s *Source) entries(feed string, links []source.Link) (all []*entry, refused int, hosts []string) {
	of := map[string]*entry{}
	for _, l := range links {
		address, ok := s.leadsTo(feed, l.URL)
		if !ok {
			refused++
			if host := hostOf(address); len(hosts) < maxHosts && !slices.Contains(hosts, host) {
				hosts = append(hosts, host)
			}
			continue
		}
		updated, expires := "", hazard.Instant(0)
		if l.Updated != nil {
			updated = l.Updated.Digits()
		}
		if l.Expires != nil {
			expires = *l.Expires
		}
		e := of[address]
		if e == nil {
			e = &entry{address: address, dated: true, expires: expires}
			of[address] = e
			all = append(all, e)
		}
		e.version += "\n" + l.ID + "\n" + updated
		e.dated = e.dated && updated != ""
		if e.expires != 0 && expires != 0 {
			e.expires = max(e.expires, expires)
		} else {
			e.expires = 0
		}
	}
	return all, refused, hosts
}

// name returns the stored name of a read entry. Each version of the document has its own.
func (e *entry) name() string {
	sum := sha256.Sum256([]byte(e.address + e.version))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// done records that the document of a job was read, or is no longer needed.
func (w *worker) done(j job, now hazard.Instant) {
	f := w.st.Feeds[j.Feed]
	if f != nil && j.Feed == pushFeed {
		f.note(j.Link, now)
		return
	}
	if j.Link == "" || f == nil || j.Unlisted != 0 {
		return
	}
	until := now.Add(linkAgain)
	if j.Dated {
		until = hazard.MaxInstant
	}
	if f.Links == nil {
		f.Links = map[string]hazard.Instant{}
	}
	f.Links[j.Link] = until
}

// giveUp drops documents that failed until they expired, or for too long after the index dropped
// them.
func (w *worker) giveUp(ctx context.Context, now hazard.Instant) {
	var over []job
	w.st.Jobs = slices.DeleteFunc(w.st.Jobs, func(j job) bool {
		if !j.over(now) {
			return false
		}
		over = append(over, j)
		return true
	})
	for _, j := range over {
		w.done(j, now) // remembered as long as the index lists it
		reason := fmt.Sprintf("the index named it at %s, and it could not be read: %s", j.Since, j.Class)
		w.log.Warn("giving up an announced document", "address", w.src.shown(j.URL), "class", j.Class, "announced", j.Since, "tries", j.Tries)
		w.keepError(ctx, w.src.shown(j.URL), reason, "")
	}
	if len(over) > 0 {
		w.save(ctx)
	}
}

// over reports whether a document has failed so far and is not worth another try.
func (j *job) over(now hazard.Instant) bool {
	return j.Link != "" && j.Tries > 0 && (j.Expires != 0 && now >= j.Expires || j.Unlisted != 0 && now >= j.Unlisted.Add(unlistedFor))
}

// missing reports whether an announced document has not been read although there was time.
func (j *job) missing(now hazard.Instant) bool {
	return j.Link != "" && !j.Had && (j.Tries > 0 || now >= j.Since.Add(missingAfter))
}

// ready reports whether a job can run now. A time farther ahead than any delay comes from a wrong
// clock and is ignored.
func (j *job) ready(now hazard.Instant) bool {
	return j.Next <= now || j.Next > now.Add(maxRetryAfter)
}

// lacks returns why a feed is failing although it was read, or nil.
func (s *Source) lacks(f source.Feed, kept *feedState, jobs []job, now hazard.Instant) *lastError {
	missing := kept.Left
	example := ""
	for i := range jobs {
		if j := &jobs[i]; j.Feed == f.URL && j.missing(now) {
			missing++
			if j.Class != "" && example == "" {
				example = fmt.Sprintf("; %s: %s", s.shown(j.URL), j.Class)
			}
		}
	}
	switch {
	case kept.Refused > 0:
		text := fmt.Sprintf("%d documents that the feed names are not read: they are on another host", kept.Refused)
		if !s.Private {
			text += fmt.Sprintf(" (%s); if that is as it should be, add it to the setting hosts of the source", strings.Join(kept.Hosts, ", "))
		}
		return &lastError{Class: ClassElsewhere, Text: text, At: kept.LastPoll}
	case missing > 0:
		return &lastError{Class: ClassMissing, Text: fmt.Sprintf("%d documents that the feed names could not be read so far%s", missing, example), At: kept.LastPoll}
	}
	return nil
}

// documents counts the documents of a source.
func (st *state) documents(now hazard.Instant) Documents {
	var d Documents
	for _, f := range st.Feeds {
		d.Read += len(f.Links)
		d.Refused += f.Refused
		d.Waiting += f.Left
		d.Missing += f.Left
	}
	for i := range st.Jobs {
		if j := &st.Jobs[i]; j.Link != "" {
			d.Waiting++
			if j.missing(now) {
				d.Missing++
			}
		}
	}
	return d
}

// leadsTo returns the address of a document in a feed, and whether it may be followed. A link to
// http becomes https on a host that only allows https.
func (s *Source) leadsTo(feed, link string) (address string, ok bool) {
	base, err := url.Parse(feed)
	if err != nil {
		return link, false
	}
	u, err := base.Parse(link)
	if err != nil {
		return link, false
	}
	u.Fragment = ""
	if address = u.String(); s.follows(address) {
		return address, true
	}
	if u.Scheme == "http" && u.Port() == "" {
		u.Scheme = "https"
	}
	return u.String(), s.follows(u.String())
}

// hostOf returns the host of an address.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "(no host)"
	}
	return hazard.CleanLine(u.Host)
}
