package encoded

import (
	"hash/maphash"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
)

const (
	// mostEditions is of how many lists differences are known, and mostTags of how many texts of each.
	mostEditions = 64
	mostTags     = 2_000
)

var seed = maphash.MakeSeed()

// entry is one entry of a list: where it is in the text, and the checksum of its bytes.
type entry struct {
	id       int64
	from, to int
	sum      uint64
}

// editions knows of lists when each entry came, changed and went. It compares texts, so whatever an
// entry depends on counts. It is safe for concurrent use.
type editions struct {
	mu   sync.Mutex
	kept map[key]*edition
}

// edition is a list as it is, and what was before. Versions count its texts that differ.
type edition struct {
	tag     string
	version int
	tags    map[string]int // the last version with that text
	order   []int64
	entries map[int64]versioned
	gone    map[int64]int
}

type versioned struct {
	sum     uint64
	version int
}

// difference is what has changed in a list since one of its texts.
type difference struct {
	tag     string
	changed []int // indexes
	gone    []int64
}

// next takes over a list as it is, and returns what has changed in it since the text with
// the tag since; nil if that is not known, or if it is more than a quarter of the list.
func (e *editions) next(k key, body *Body, since string) *difference {
	tag := strings.Trim(body.ETag(Identity)[0], `"`)
	e.mu.Lock()
	defer e.mu.Unlock()
	d := e.kept[k]
	if d == nil {
		d = &edition{tags: map[string]int{}, entries: map[int64]versioned{}, gone: map[int64]int{}}
		if e.kept == nil {
			e.kept = map[key]*edition{}
		}
		for other := range e.kept {
			if len(e.kept) < mostEditions {
				break
			}
			delete(e.kept, other)
		}
		e.kept[k] = d
	}
	if tag != d.tag {
		d.take(tag, body.entries)
	}
	return d.since(since)
}

// plain returns an entity tag without its quotes and its coding.
func plain(tag string) string {
	tag = strings.Trim(strings.TrimPrefix(tag, "W/"), `"`)
	for c := Gzip; c < encodings; c++ {
		tag = strings.TrimSuffix(tag, "-"+c.String())
	}
	return tag
}

func (d *edition) take(tag string, entries []entry) {
	d.version++
	place := make(map[int64]int, len(d.order))
	for i, id := range d.order {
		place[id] = i
	}
	now := make(map[int64]versioned, len(entries))
	order := make([]int64, len(entries))
	var same, places []int // what has not changed: where it is, and where it was
	for i, one := range entries {
		order[i] = one.id
		now[one.id] = versioned{one.sum, d.version}
		if before, ok := d.entries[one.id]; ok && before.sum == one.sum {
			same, places = append(same, i), append(places, place[one.id])
		}
		delete(d.gone, one.id)
	}
	// What has moved past others counts as changed: the rest keeps its order.
	for _, i := range rising(places) {
		id := order[same[i]]
		now[id] = d.entries[id]
	}
	for id := range d.entries {
		if _, ok := now[id]; !ok {
			d.gone[id] = d.version
		}
	}
	d.tag, d.order, d.entries = tag, order, now
	d.tags[tag] = d.version
	if len(d.tags) > mostTags {
		d.forget(d.version - mostTags/2)
	}
}

// forget drops what was before a version.
func (d *edition) forget(before int) {
	for tag, version := range d.tags {
		if version < before {
			delete(d.tags, tag)
		}
	}
	for id, version := range d.gone {
		if version < before {
			delete(d.gone, id)
		}
	}
}

func (d *edition) since(tag string) *difference {
	version, ok := d.tags[tag]
	if !ok {
		return nil
	}
	out := &difference{tag: d.tag}
	for i, id := range d.order {
		if d.entries[id].version > version {
			out.changed = append(out.changed, i)
		}
	}
	if len(out.changed) > 8+len(d.order)/4 {
		return nil
	}
	for id, at := range d.gone {
		if at > version {
			out.gone = append(out.gone, id)
		}
	}
	slices.Sort(out.gone)
	return out
}

// text returns the difference in JSON. The body is that of the list as it is.
func (d *difference) text(body *Body) []byte {
	list := body.Bytes(Identity)
	out := append([]byte(`{"tag":`), encode(d.tag)...)
	out = strconv.AppendInt(append(out, `,"total":`...), int64(len(body.entries)), 10)
	out = append(append(out, `,"gone":`...), encode(append([]int64{}, d.gone...))...)
	out = append(out, `,"changed":[`...)
	for n, i := range d.changed {
		if n > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(append(out, `{"index":`...), int64(i), 10)
		out = append(append(out, `,"hazard":`...), list[body.entries[i].from:body.entries[i].to]...)
		out = append(out, '}')
	}
	return append(out, "]}"...)
}

// rising returns the indexes of a longest rising part of different numbers.
func rising(list []int) []int {
	var ends []int // the index of the least end of a rising part of each length
	before := make([]int, len(list))
	for i, n := range list {
		at := sort.Search(len(ends), func(j int) bool { return list[ends[j]] >= n })
		before[i] = -1
		if at > 0 {
			before[i] = ends[at-1]
		}
		ends = append(ends[:at], append([]int{i}, ends[min(at+1, len(ends)):]...)...)
	}
	out := make([]int, len(ends))
	if len(ends) > 0 {
		for i, at := len(ends)-1, ends[len(ends)-1]; i >= 0; i, at = i-1, before[at] {
			out[i] = at
		}
	}
	return out
}
