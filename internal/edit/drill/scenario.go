package drill

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Scenario is a checked drill, ready to be played.
type Scenario struct {
	// Name identifies the scenario. End cannot distinguish two scenarios with the same name.
	Name        string
	Title       string
	Description string
	// Steps are in the order in which they are played, by At.
	Steps []Step
	// Notes list what is played differently than written.
	Notes []Fault
}

// Length returns when the last step is due, from the start, at speed 1.
func (s *Scenario) Length() time.Duration { return s.Steps[len(s.Steps)-1].At }

// Hazards returns the keys of the hazards, in the order in which they begin.
func (s *Scenario) Hazards() []string {
	var keys []string
	for _, step := range s.Steps {
		if step.Begin != nil {
			keys = append(keys, step.Hazard)
		}
	}
	return keys
}

// Deed is the kind of a step.
type Deed string

// These are the kinds of steps. Say writes nothing: it is for the leader of the drill.
const (
	Begin  Deed = "begin"
	Update Deed = "update"
	Add    Deed = "add"
	Revise Deed = "revise"
	Finish Deed = "end"
	Say    Deed = "say"
)

var deeds = []Deed{Begin, Update, Add, Revise, Finish, Say}

// Step is one event of the drill.
type Step struct {
	Line int // in the file, from 1
	At   time.Duration
	Do   Deed
	// Hazard is the key of the hazard; it is empty for Say.
	Hazard string
	// Product is the key of the product: for Revise, and for Add if a later step uses it.
	Product string
	// Say is shown to the leader of the drill.
	Say string

	Begin   *Hazard        // for Begin
	Fields  map[string]any // for Update and Revise, by the names of the base interface
	Add     *Product       // for Add
	Subject string         // name or title of the hazard or product, for display
	number  int            // number of the step
}

// Hazard is a hazard to create, already marked as a drill.
type Hazard struct {
	Name, Description, Type, Severity, Link string
	Latitude, Longitude                     float64
	Area                                    []byte // a GeoJSON geometry; nil means none
}

// Product is a product to create, already marked as a drill.
type Product struct {
	Title, Type, Data, Comment string
	Folder                     string // key of its folder; empty means none
	Where                      string // WKT
	File                       *File  // for a file product
}

// File is the file of a product.
type File struct {
	Name    string
	Content []byte
}

// Run identifies one run of a scenario.
type Run [6]byte

// uuid returns the UUID of an object in a run, which the words identify. It has version 8 (RFC
// 9562, section 5.8), and consists of the run and a hash of run, scenario and words. So the hazards
// of a scenario are recognized without stored data.
func (r Run) uuid(s *Scenario, words ...string) uuid.UUID {
	name := slices.Clone(r[:])
	for _, w := range append([]string{s.Name}, words...) {
		name = binary.AppendUvarint(name, uint64(len(w)))
		name = append(name, w...)
	}
	sum := sha256.Sum256(name)
	var id uuid.UUID
	copy(id[:], r[:])
	copy(id[len(r):], sum[:])
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id
}

// recognize returns the key of the hazard with this UUID in a run of the scenario, and whether
// there is one.
func (s *Scenario) recognize(id uuid.UUID) (string, bool) {
	var r Run
	copy(r[:], id[:])
	for _, key := range s.Hazards() {
		if r.uuid(s, "hazard", key) == id {
			return key, true
		}
	}
	return "", false
}

// The prefixes that mark names, file names and texts of a drill.
const (
	mark     = "EXERCISE"
	fileMark = mark + "-"
	textMark = mark + " " + mark + " " + mark + " - this is a drill, nothing of it is real."
)

func marked(name string) string {
	if strings.HasPrefix(name, mark+" ") {
		return name
	}
	return mark + " - " + name
}

func markedText(text string) string {
	if text == "" {
		return textMark
	}
	return textMark + "\n\n" + text
}

// Clock formats a time from the start of a drill as in a scenario: +01:05:00.
func Clock(d time.Duration) string {
	s := int64(d / time.Second)
	return fmt.Sprintf("+%02d:%02d:%02d", s/3600, s/60%60, s%60)
}
