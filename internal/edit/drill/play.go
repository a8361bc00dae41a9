package drill

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/clock"
	"github.com/hazardd/hazardd/wire"
)

// Server is the part of a service's client that a drill needs. What it answers is durable.
type Server interface {
	CreateHazard(ctx context.Context, h client.NewHazard) (wire.Hazard, error)
	Hazard(ctx context.Context, id string, opts ...client.CallOption) (client.Record[wire.Hazard], error)
	PatchHazard(ctx context.Context, id string, f client.Fields, opts ...client.CallOption) (wire.Hazard, error)
	CreateProduct(ctx context.Context, hazard string, p client.NewProduct) (wire.Product, error)
	CreateFile(ctx context.Context, hazard string, p client.NewProduct, name string, content io.Reader) (wire.Product, error)
	PatchProduct(ctx context.Context, product string, f client.Fields, opts ...client.CallOption) (wire.Product, error)
	ActiveByCategory(ctx context.Context, category string, opts ...client.CallOption) (client.List[wire.Hazard], error)
}

// Event is what a drill has just done.
type Event struct {
	Step
	// At is when it was due, from the beginning of the drill at speed 1.
	At time.Duration
	// UUID is the hazard's; empty for Say.
	UUID string
	// Skipped tells why it could not be done: whoever takes part in the drill has altered what it is about. Empty: it was done.
	Skipped string
}

// Status is how far a drill is.
type Status struct {
	Elapsed, Length time.Duration // at speed 1
	Next            *Step         // nil: none
	NextIn          time.Duration // in the time of the clock on the wall
	Active          int           // hazards under way
}

// Player plays scenarios. Told and Tick are called by the goroutine that plays.
type Player struct {
	Server Server
	// Speed is how many times faster than in its file the drill runs; above 0.
	Speed float64
	// Keep leaves the hazards under way when the drill is over or is interrupted. They end by themselves a day later.
	Keep bool
	Run  Run
	Told func(Event)
	Tick func(Status) // once a second while it waits; nil: never
	// Waits is told once of each step that a second person has to approve. The drill stands still until somebody has decided, or the draft has lapsed.
	Waits func(*client.DraftedError)
}

// The times of a drill.
const (
	// leftFor is how long a hazard outlives a drill whose program was killed: time to start it again, no time to be forgotten.
	leftFor = time.Hour
	keptFor = 24 * time.Hour
	// patience is how long the server may be away, a restart say, before the drill is given up.
	patience  = 2 * time.Minute
	firstWait = 500 * time.Millisecond
	longWait  = 10 * time.Second
	// endTime is how long the ending of an interrupted drill may take.
	endTime = 30 * time.Second
	// askAgain is how often it is asked whether somebody has approved a step.
	askAgain = 2 * time.Second
)

// NewRun is another run at each call.
func NewRun() Run {
	var r Run
	_, _ = rand.Read(r[:]) // never fails
	return r
}

// errNotOurs stops a drill at once: it was about to touch what is not of a drill.
var errNotOurs = errors.New("is not a hazard of this drill")

// Play plays a scenario from its beginning. It returns when all steps are done and, unless Keep is set, the hazards that were left have
// ended; or when ctx ends or a step fails, likewise. An error that is not of ctx says which line of the scenario failed.
func (p *Player) Play(ctx context.Context, s *Scenario) error {
	d := &playing{Player: p, s: s, start: time.Now(), uuids: map[string]string{}, names: map[string]string{}, products: map[string]wire.Product{}}
	err := d.play(ctx)
	if p.Keep {
		return err
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	return errors.Join(err, d.endAll(ending))
}

// playing is a scenario that is being played.
type playing struct {
	*Player
	s        *Scenario
	start    time.Time
	active   []string // words of the hazards under way, in the order in which they began
	uuids    map[string]string
	names    map[string]string       // as they are now
	products map[string]wire.Product // by their words
}

func (d *playing) play(ctx context.Context) error {
	for i := range d.s.Steps {
		step := &d.s.Steps[i]
		if err := d.wait(ctx, step); err != nil {
			return err
		}
		event := Event{Step: *step, At: step.At}
		err := d.persist(ctx, func() (err error) {
			event.UUID, event.Skipped, err = d.do(ctx, step)
			return err
		})
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("line %d: %s %s: %w", step.Line, step.Do, step.Hazard, err)
		}
		d.Told(event)
	}
	return nil
}

// wait returns when the step is due.
func (d *playing) wait(ctx context.Context, step *Step) error {
	due := d.start.Add(time.Duration(float64(step.At) / d.Speed))
	for {
		now := time.Now()
		left := due.Sub(now)
		if d.Tick != nil {
			elapsed := min(time.Duration(float64(now.Sub(d.start))*d.Speed), step.At)
			d.Tick(Status{Elapsed: elapsed, Length: d.s.Length(), Next: step, NextIn: max(0, left), Active: len(d.active)})
			left = min(left, time.Second)
		}
		if left <= 0 {
			return ctx.Err()
		}
		if err := clock.Sleep(ctx, left); err != nil {
			return err
		}
	}
}

// persist does f again as long as the server is away. All that f writes carries a uuid, so that nothing is written twice.
func (d *playing) persist(ctx context.Context, f func() error) error {
	begun, told := time.Now(), ""
	for wait := firstWait; ; wait = min(2*wait, longWait) {
		err := f()
		if drafted, ok := errors.AsType[*client.DraftedError](err); ok {
			if drafted.Draft.ID != told {
				told = drafted.Draft.ID
				d.Waits(drafted)
			}
			if err := clock.Sleep(ctx, askAgain); err != nil {
				return err
			}
			begun, wait = time.Now(), firstWait
			continue
		}
		if err == nil || ctx.Err() != nil || !away(err) || time.Since(begun) > patience {
			return err
		}
		if problem, ok := errors.AsType[*client.Problem](err); ok {
			wait = max(wait, min(problem.RetryAfter, longWait))
		}
		if err := clock.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// away tells whether the error is of a server that may soon be there again.
func away(err error) bool {
	_, network := errors.AsType[net.Error](err)
	broken, cut := errors.AsType[*client.AnswerError](err)
	return network || cut && broken.Cut || errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrLimited) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// do does what a step says, once. It returns the hazard's uuid, and why it could not be done if that is a matter of the drill.
func (d *playing) do(ctx context.Context, step *Step) (id, skipped string, err error) {
	switch step.Do {
	case Begin:
		return d.begin(ctx, step)
	case Update:
		id, d.names[step.Hazard] = d.uuids[step.Hazard], step.Subject
		skipped, err = alter(ctx, d.Server, id, step.Fields)
	case Add:
		id = d.uuids[step.Hazard]
		skipped, err = d.add(ctx, id, step)
	case Revise:
		id = d.uuids[step.Hazard]
		skipped, err = d.revise(ctx, id, step)
	case Finish:
		id = d.uuids[step.Hazard]
		if skipped, err = alter(ctx, d.Server, id, client.Fields{"status": "E"}); err == nil {
			d.forget(step.Hazard)
		}
	case Say:
	}
	return id, skipped, err
}

func (d *playing) forget(key string) {
	for i, k := range d.active {
		if k == key {
			d.active = append(d.active[:i], d.active[i+1:]...)
			return
		}
	}
}

func (d *playing) begin(ctx context.Context, step *Step) (id, skipped string, err error) {
	id = d.Run.uuid(d.s, "hazard", step.Hazard).String()
	if d.uuids[step.Hazard] == "" { // before it is asked for: it may be made though no answer comes
		d.uuids[step.Hazard] = id
		d.active = append(d.active, step.Hazard)
		d.names[step.Hazard] = step.Subject
	}
	b := step.Begin
	end := d.start.Add(time.Duration(float64(d.s.Length())/d.Speed) + leftFor)
	if d.Keep {
		end = end.Add(keptFor - leftFor)
	}
	h, err := d.Server.CreateHazard(ctx, client.NewHazard{
		UUID: id, HazardName: b.Name, Description: b.Description, TypeID: b.Type, SeverityID: b.Severity, CategoryID: string(hazard.Exercise),
		Latitude: b.Latitude, Longitude: b.Longitude, Area: b.Area, SncURL: b.Link, CommentText: "Drill: " + d.s.Title,
		AutoExpire: true, End: end.Truncate(time.Millisecond), // if this program is killed it ends all the same
	})
	if errors.Is(err, client.ErrConflict) { // a second person has refused it
		return id, err.Error(), nil
	}
	if err != nil {
		return id, "", err
	}
	return id, "", ours(h, id)
}

// ours is an error unless the hazard is the one of the uuid, and of a drill.
func ours(h wire.Hazard, id string) error {
	if h.UUID != id || h.CategoryID != string(hazard.Exercise) {
		return fmt.Errorf("%s, of category %s, %w", h.UUID, h.CategoryID, errNotOurs)
	}
	return nil
}

// tries is how often a hazard is read anew that others alter at the same time.
const tries = 5

// alter alters a hazard if it is of a drill and under way, as it was read: nothing of it is overwritten unseen.
func alter(ctx context.Context, server Server, id string, f client.Fields) (skipped string, err error) {
	for range tries {
		var etag string
		if etag, skipped, err = underWay(ctx, server, id); err != nil || skipped != "" {
			return skipped, err
		}
		if _, err = server.PatchHazard(ctx, id, f, client.IfMatch(etag)); !errors.Is(err, client.ErrStale) {
			return refused(err)
		}
	}
	return "", err
}

// underWay reads a hazard. It is skipped if it has ended, and an error if it is none of a drill.
func underWay(ctx context.Context, server Server, id string) (etag, skipped string, err error) {
	h, err := server.Hazard(ctx, id)
	switch {
	case errors.Is(err, client.ErrNotFound):
		return "", "it is not there", nil
	case err != nil:
		return "", "", err
	}
	if err := ours(h.Item, id); err != nil {
		return "", "", err
	}
	if h.Item.Status != string(hazard.Active) {
		return "", "it has been ended already", nil
	}
	return h.ETag, "", nil
}

// refused tells what the state of the drill does not allow, because others have altered it, from what is an error.
func refused(err error) (skipped string, _ error) {
	if errors.Is(err, client.ErrConflict) || errors.Is(err, client.ErrNotFound) {
		return err.Error(), nil
	}
	return "", err
}

func (d *playing) add(ctx context.Context, id string, step *Step) (skipped string, err error) {
	if _, skipped, err = underWay(ctx, d.Server, id); err != nil || skipped != "" {
		return skipped, err
	}
	p := step.Add
	n := client.NewProduct{
		UUID: d.Run.uuid(d.s, "product", fmt.Sprint(step.number)).String(), Title: p.Title, ProductType: p.Type, Data: p.Data, CommentText: p.Comment, GeoLocations: p.Where,
	}
	if p.Folder != "" {
		folder, ok := d.products[p.Folder]
		if !ok {
			return fmt.Sprintf("the folder %s is not there", p.Folder), nil
		}
		n.ParentID = folder.ProductID
	}
	var made wire.Product
	if p.File != nil {
		made, err = d.Server.CreateFile(ctx, id, n, p.File.Name, bytes.NewReader(p.File.Content))
	} else {
		made, err = d.Server.CreateProduct(ctx, id, n)
	}
	if err != nil {
		return refused(err)
	}
	if step.Product != "" {
		d.products[step.Product] = made
	}
	return "", nil
}

func (d *playing) revise(ctx context.Context, id string, step *Step) (skipped string, err error) {
	if _, skipped, err = underWay(ctx, d.Server, id); err != nil || skipped != "" {
		return skipped, err
	}
	p, ok := d.products[step.Product]
	if !ok {
		return fmt.Sprintf("the product %s is not there", step.Product), nil
	}
	_, err = d.Server.PatchProduct(ctx, p.UUID, step.Fields)
	return refused(err)
}

// endAll ends the hazards under way.
func (d *playing) endAll(ctx context.Context) error {
	var errs []error
	for _, key := range append([]string(nil), d.active...) {
		id := d.uuids[key]
		var skipped string
		err := d.persist(ctx, func() (err error) {
			skipped, err = alter(ctx, d.Server, id, client.Fields{"status": "E"})
			return err
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("end %s: %w", key, err))
			continue
		}
		d.forget(key)
		if skipped == "" {
			d.Told(Event{Step: Step{Do: Finish, Hazard: key, Subject: d.names[key]}, At: d.elapsed(), UUID: id})
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("%w: %w", ErrLeft, errors.Join(errs...))
	}
	return nil
}

// ErrLeft means that hazards of a drill could not be ended. They end by themselves an hour after
// the drill.
var ErrLeft = errors.New("hazards of the drill are left")

func (d *playing) elapsed() time.Duration {
	return min(time.Duration(float64(time.Since(d.start))*d.Speed), d.s.Length())
}

// Left lists the active hazards that earlier runs of the scenario began.
func Left(ctx context.Context, server Server, s *Scenario) ([]wire.Hazard, error) {
	list, err := server.ActiveByCategory(ctx, string(hazard.Exercise))
	if err != nil {
		return nil, err
	}
	var left []wire.Hazard
	for _, h := range list.Items {
		if id, err := uuid.Parse(h.UUID); err == nil && h.CategoryID == string(hazard.Exercise) {
			if _, ok := s.recognize(id); ok {
				left = append(left, h)
			}
		}
	}
	return left, nil
}

// End ends the active hazards that runs of the scenario began, also those of one that is being played now. told is called for each.
func End(ctx context.Context, server Server, s *Scenario, told func(Event)) error {
	left, err := Left(ctx, server, s)
	if err != nil {
		return err
	}
	for _, h := range left {
		id := uuid.MustParse(h.UUID) // Left has parsed it
		key, _ := s.recognize(id)
		skipped, err := alter(ctx, server, h.UUID, client.Fields{"status": "E"})
		if err != nil {
			return fmt.Errorf("end %s: %w", key, err)
		}
		told(Event{Step: Step{Do: Finish, Hazard: key, Subject: h.HazardName}, UUID: h.UUID, Skipped: skipped})
	}
	return nil
}
