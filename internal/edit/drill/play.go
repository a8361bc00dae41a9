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

// Server is the part of client.Editor that a drill uses. Acknowledged writes are durable.
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
	// At is when it was due, from the start of the drill at speed 1.
	At time.Duration
	// UUID is the hazard's; it is empty for Say.
	UUID string
	// Skipped says why the step was not possible, because a participant had changed the hazard. It
	// is empty if the step was done.
	Skipped string
}

// Status is the progress of a drill.
type Status struct {
	Elapsed, Length time.Duration // at speed 1
	Next            *Step         // nil if none is left
	NextIn          time.Duration // by the wall clock
	Active          int           // number of active hazards
}

// Player plays scenarios. It calls Told and Tick on the goroutine that plays.
type Player struct {
	Server Server
	// Speed is how many times faster than written the drill runs. It must be above 0.
	Speed float64
	// Keep leaves the hazards active after the drill, or when it is interrupted. They expire a day
	// later.
	Keep bool
	Run  Run
	Told func(Event)
	Tick func(Status) // called once a second while waiting; nil means never
	// Waits is called once for each step that a second person must approve. The drill pauses until
	// the draft is decided or has lapsed.
	Waits func(*client.DraftedError)
}

// The times of a drill.
const (
	// leftFor is how long hazards outlive a drill whose program was killed: long enough to restart
	// it, and short enough not to be forgotten.
	leftFor = time.Hour
	keptFor = 24 * time.Hour
	// patience is how long the server may be unreachable, such as during a restart, before the
	// drill is aborted.
	patience  = 2 * time.Minute
	firstWait = 500 * time.Millisecond
	longWait  = 10 * time.Second
	// endTime is how long ending an interrupted drill may take.
	endTime = 30 * time.Second
	// askAgain is the interval for checking whether a step was approved.
	askAgain = 2 * time.Second
)

// NewRun returns a new random Run.
func NewRun() Run {
	var r Run
	_, _ = rand.Read(r[:]) // never fails
	return r
}

// errNotOurs aborts a drill that was about to change a hazard that is not part of it.
var errNotOurs = errors.New("is not a hazard of this drill")

// Play plays a scenario from its start. It returns when all steps are done, when ctx ends, or when
// a step fails. Unless Keep is set, it first ends the remaining hazards. An error other than ctx's
// names the line of the scenario that failed.
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

// playing is the state of a running drill.
type playing struct {
	*Player
	s        *Scenario
	start    time.Time
	active   []string // keys of the active hazards, oldest first
	uuids    map[string]string
	names    map[string]string       // current names
	products map[string]wire.Product // by key
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

// persist retries f while the server is unreachable. Everything that f writes has a UUID, so
// nothing is written twice.
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

// away reports whether err means that the server may soon be reachable again.
func away(err error) bool {
	_, network := errors.AsType[net.Error](err)
	broken, cut := errors.AsType[*client.AnswerError](err)
	return network || cut && broken.Cut || errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrLimited) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// do plays one step. It returns the hazard's UUID, and the reason if the step was skipped.
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

// ours returns an error unless h has the UUID id and is a drill.
func ours(h wire.Hazard, id string) error {
	if h.UUID != id || h.CategoryID != string(hazard.Exercise) {
		return fmt.Errorf("%s, of category %s, %w", h.UUID, h.CategoryID, errNotOurs)
	}
	return nil
}

// tries is how often a hazard is read again when others change it at the same time.
const tries = 5

// alter changes an active hazard of a drill in the state in which it was read, so no change of
// others is overwritten.
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

// underWay reads a hazard. If it has ended, the step is skipped. If it is not a drill, underWay
// returns an error.
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

// refused returns the reason for skipping a step if others have changed the hazard, and otherwise
// an error.
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

// endAll ends the active hazards.
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

// ErrLeft means that hazards of a drill could not be ended. They expire an hour after the drill.
var ErrLeft = errors.New("some hazards of the drill have not ended")

func (d *playing) elapsed() time.Duration {
	return min(time.Duration(float64(time.Since(d.start))*d.Speed), d.s.Length())
}

// Left lists the active hazards that earlier runs of the scenario have created.
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

// End ends the active hazards that runs of the scenario have created, including a run in progress.
// It calls told for each.
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
