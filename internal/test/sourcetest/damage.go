package sourcetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// marks are the syntax characters of the payload formats, whose loss or insertion breaks them.
var marks = []string{`"`, `{`, `}`, `[`, `]`, `,`, `:`, `\`, `},{`, `}}`, `"}`, `<`, `>`, `&`, `/>`, `</`, `<!--`, `<![CDATA[`, `]]>`, `'`, `=`, "\x00", "\n\n", "\xff", "\ufeff", "-", "."}

// damage returns a copy of a record with one to three random faults: bytes lost, doubled or
// replaced, or marks inserted.
func damage(random *rand.Rand, record []byte) []byte {
	out := slices.Clone(record)
	for range 1 + random.IntN(3) {
		if len(out) < 4 {
			break
		}
		i := random.IntN(len(out))
		j := min(i+1+random.IntN(1<<random.IntN(8)), len(out))
		switch random.IntN(4) {
		case 0:
			out = slices.Delete(out, i, j)
		case 1:
			out = slices.Insert(out, j, out[i:j]...)
		case 2:
			out[i] = byte(random.IntN(256))
		default:
			out = slices.Insert(out, i, []byte(marks[random.IntN(len(marks))])...)
		}
	}
	return out
}

// head returns the beginning of a record: the names of its first three members, or of its element.
func head(record []byte) string {
	var names []string
	members := json.NewDecoder(bytes.NewReader(record))
	if first, err := members.Token(); err != nil || first != json.Delim('{') {
		name, _, _ := bytes.Cut(record, []byte(">"))
		return string(name)
	}
	for members.More() && len(names) < 3 {
		name, err := members.Token()
		var value json.RawMessage
		if err != nil || members.Decode(&value) != nil {
			break
		}
		names = append(names, fmt.Sprint(name))
	}
	return strings.Join(names, " ")
}

// The limits of the test for each source.
const (
	damages     = 600
	damageBytes = 64 << 20
)

// damaged damages one random record at a time. Its neighbors must give the same reports as without
// it.
func (s *laws) damaged(t *testing.T) {
	d, _, _, _ := s.sample()
	// Records that begin differently from the first one were merged into the recording by another
	// program, so they are left out.
	d.records = slices.DeleteFunc(d.records, func(r []byte) bool { return s.Record == nil && head(r) != head(d.records[0]) })
	random := rand.New(rand.NewPCG(1, uint64(len(d.records))))
	without := make([]source.Batch, len(d.records)) // the reports of all other records without record i
	for i, r := range d.records {
		rest, err := s.Parse(d.with(slices.Delete(slices.Clone(d.records), i, i+1)...), s.Now(t))
		if err != nil {
			t.Fatal(err)
		}
		own, err := s.Parse(d.with(r), s.Now(t))
		if err != nil {
			t.Fatal(err)
		}
		its := names(own)
		rest.Reports = slices.DeleteFunc(rest.Reports, func(r hazard.Report) bool { return its[name(&r)] })
		without[i] = rest
	}
	faults, tries := 0, min(s.rounds(damages), damageBytes/len(d.with(d.records...)))
	for range tries {
		i := random.IntN(len(d.records))
		record := damage(random, d.records[i])
		got, err := s.Parse(d.replaced(i, record), s.Now(t))
		if lost := missing(without[i], got); len(lost) > 0 {
			if faults++; faults < 4 {
				t.Errorf("the neighbors %q of record %d are lost or changed (%v, rejects %s):\n%q", lost, i, err, reasons(got), record)
			}
		}
	}
	if faults > 0 {
		t.Errorf("%d of %d damages cost neighbors", faults, tries)
	}
}
