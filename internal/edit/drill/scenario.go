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

// Scenario is a drill that has been checked: it can be played as it is.
type Scenario struct {
	// Name tells the hazards of this scenario from those of others: two of one name cannot be told apart by End.
	Name        string
	Title       string
	Description string
	// Steps are in the order in which they are played. At does not decrease.
	Steps []Step
	// Notes tell what is played otherwise than the file says.
	Notes []Fault
}

// Length is when the last step is played, from the beginning, at speed 1.
func (s *Scenario) Length() time.Duration { return s.Steps[len(s.Steps)-1].At }

// Hazards are the words by which the scenario names its hazards, in the order in which they begin.
func (s *Scenario) Hazards() []string {
	var keys []string
	for _, step := range s.Steps {
		if step.Begin != nil {
			keys = append(keys, step.Hazard)
		}
	}
	return keys
}

// Deed is what a step does.
type Deed string

// The deeds. A step that only says something writes nothing: it is for who leads the drill.
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
	Line int // of the file, from 1
	At   time.Duration
	Do   Deed
	// Hazard is the hazard's word, empty for Say.
	Hazard string
	// Product is the product's word: of Revise, and of Add if a later step names it.
	Product string
	// Say is told to who leads the drill.
	Say string

	Begin   *Hazard        // of Begin
	Fields  map[string]any // of Update and Revise, by the names of the base interface
	Add     *Product       // of Add
	Subject string         // the name or title of what the step is about, as it is shown
	number  int            // among the steps
}

// Hazard is a hazard to be begun, with its marks of a drill.
type Hazard struct {
	Name, Description, Type, Severity, Link string
	Latitude, Longitude                     float64
	Area                                    []byte // a GeoJSON geometry; nil: none
}

// Product is a product to be added, with its marks of a drill.
type Product struct {
	Title, Type, Data, Comment string
	Folder                     string // the word of the folder that it stands in; empty: none
	Where                      string // WKT
	File                       *File  // of a file product
}

// File is the file of a product.
type File struct {
	Name    string
	Content []byte
}

// Run tells one playing of a scenario from the others.
type Run [6]byte

// uuid is that of a thing of a run, by the words that name it: an UUID of version 8 (RFC 9562 section 5.8) that begins with the run, and goes on with the hash of run, scenario and words.
// So the hazards of a scenario can be recognized among others without anything else being kept.
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

// recognize is the word of the hazard that a run of the scenario gave the uuid to, and whether there is one.
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

// The marks of a drill: in front of names, of file names and of texts.
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

// Clock writes a time from the beginning of a drill as a scenario does: +01:05:00.
func Clock(d time.Duration) string {
	s := int64(d / time.Second)
	return fmt.Sprintf("+%02d:%02d:%02d", s/3600, s/60%60, s%60)
}
