package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/format/areafile"
	"github.com/hazardd/hazardd/wire"
)

// editFlags are the flags of the commands that write hazards.
type editFlags struct{ serverFlags }

// Validate reports contradicting flags before any password prompt.
func (f *editFlags) Validate() error { return f.needed() }

// edit logs in at the server, calls do, and prints the hazard that do returns.
func (f *editFlags) edit(ctx context.Context, c *console, done string, do func(*client.Client) (wire.Hazard, error)) error {
	server, err := f.client(ctx, c, "hazardd-edit")
	if err != nil {
		return err
	}
	h, err := do(server)
	if err != nil {
		return f.explain(err)
	}
	return c.print(h, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: hazard %d, %s %s %s\n%s\n", done, h.HazardID, h.SeverityID, h.TypeID, oneLine(h.HazardName), h.UUID)
		return err
	})
}

// position is LATITUDE,LONGITUDE, in degrees.
type position struct{ lat, lon float64 }

func (p *position) UnmarshalText(text []byte) error {
	lat, lon, found := strings.Cut(string(text), ",")
	var err, err2 error
	p.lat, err = strconv.ParseFloat(strings.TrimSpace(lat), 64)
	p.lon, err2 = strconv.ParseFloat(strings.TrimSpace(lon), 64)
	if !found || err != nil || err2 != nil || p.lat < -90 || p.lat > 90 || p.lon < -180 || p.lon > 180 {
		return fmt.Errorf("%q is not LATITUDE,LONGITUDE in degrees, such as 53.55,9.97", text)
	}
	return nil
}

// moment is a time in RFC 3339, or a time from now on, such as +6h.
type moment struct {
	at   time.Time
	from time.Duration
}

func (m *moment) UnmarshalText(text []byte) (err error) {
	if after, relative := strings.CutPrefix(string(text), "+"); relative {
		var l life
		if err := l.UnmarshalText([]byte(after)); err != nil {
			return err
		}
		m.from = time.Duration(l)
		return nil
	}
	if m.at, err = time.Parse(time.RFC3339, string(text)); err != nil {
		return fmt.Errorf("%q is not a time such as 2026-11-27T18:00:00Z, or +6h from now", text)
	}
	return nil
}

// time returns the moment; it is zero if none was given.
func (m moment) time(now time.Time) time.Time {
	if m.from > 0 {
		return now.Add(m.from)
	}
	return m.at
}

// whereFlags say where a hazard is.
type whereFlags struct {
	At   *position `placeholder:"LAT,LON" help:"Position in degrees. Default: a point in the area."`
	Area string    `placeholder:"FILE" help:"File with the area: GeoJSON, KML, GML or a zipped shapefile, in degrees (WGS 84)."`
}

// read returns the position, and the area as GeoJSON.
func (p *whereFlags) read() (at *position, area []byte, err error) {
	if p.Area == "" {
		return p.At, nil, nil
	}
	doc, err := os.ReadFile(p.Area)
	if err != nil {
		return nil, nil, err
	}
	file, err := areafile.Read(doc)
	if err != nil {
		return nil, nil, fmt.Errorf("--area %s: %w", p.Area, err)
	}
	if at = p.At; at == nil {
		lon, lat := file.Whole.Point()
		at = &position{lat: lat, lon: lon}
	}
	return at, []byte(file.Whole.GeoJSON()), nil
}

type reportCmd struct {
	Name        string `arg:"" help:"Name, such as 'Flood - Old Harbour'."`
	Type        string `required:"" placeholder:"TYPE" help:"Type, such as FLOOD."`
	Severity    string `required:"" placeholder:"LEVEL" help:"WARNING, WATCH, ADVISORY or INFORMATION."`
	Description string `placeholder:"TEXT" help:"What is known."`
	Instruction string `placeholder:"TEXT" help:"What people there should do."`
	Category    string `placeholder:"CATEGORY" help:"Category. Default: EVENT; a drill is EXERCISE."`
	Until       moment `placeholder:"TIME" help:"End, as 2026-11-27T18:00:00Z or +6h. It then ends by itself. Default: from its type, and an editor ends it."`
	Org         int64  `placeholder:"ID" help:"Organization that it belongs to. Default: yours."`
	UUID        string `name:"uuid" placeholder:"UUID" help:"UUID of the hazard, which makes it safe to repeat the command."`
	Link        string `placeholder:"URL" help:"Web page about it."`
	whereFlags
	editFlags
}

// Validate reports a missing place before any password prompt.
func (r *reportCmd) Validate() error {
	if r.At == nil && r.Area == "" {
		return errors.New("a place is missing: give --at LAT,LON, or --area FILE")
	}
	return r.editFlags.Validate()
}

// Run creates a hazard.
func (r *reportCmd) Run(ctx context.Context, c *console) error {
	at, area, err := r.read()
	if err != nil {
		return err
	}
	end := r.Until.time(c.now())
	return r.edit(ctx, c, "reported", func(server *client.Client) (wire.Hazard, error) {
		return server.Editor().CreateHazard(ctx, client.NewHazard{UUID: r.UUID, HazardName: r.Name, TypeID: r.Type, SeverityID: r.Severity, CategoryID: r.Category, Description: r.Description,
			Instruction: r.Instruction, Latitude: at.lat, Longitude: at.lon, Area: area, End: end, AutoExpire: !end.IsZero(), OrgID: r.Org, SncURL: r.Link})
	})
}

type correctCmd struct {
	Hazard      string  `arg:"" help:"Hazard: its number or uuid."`
	Name        *string `placeholder:"NAME" help:"New name."`
	Type        *string `placeholder:"TYPE" help:"New type."`
	Severity    *string `placeholder:"LEVEL" help:"New level."`
	Description *string `placeholder:"TEXT" help:"New description."`
	Instruction *string `placeholder:"TEXT" help:"New instruction."`
	Until       *moment `placeholder:"TIME" help:"New end, as 2026-11-27T18:00:00Z or +6h. It then ends by itself."`
	IfMatch     string  `placeholder:"ETAG" help:"Change it only if this is its ETag, so that nobody else has changed it."`
	whereFlags
	editFlags
}

// fields returns the members that change.
func (k *correctCmd) fields(now time.Time) (client.Fields, error) {
	fields := client.Fields{}
	for member, text := range map[string]*string{"hazard_Name": k.Name, "type_ID": k.Type, "severity_ID": k.Severity, "description": k.Description, "instruction": k.Instruction} {
		if text != nil {
			fields[member] = *text
		}
	}
	if k.Until != nil {
		fields["end_Date"], fields["autoexpire"] = client.Digits(k.Until.time(now)), "Y"
	}
	at, area, err := k.read()
	if at != nil {
		fields["latitude"], fields["longitude"] = at.lat, at.lon
	}
	if area != nil {
		fields["area"] = rawJSON(area)
	}
	return fields, err
}

// rawJSON is JSON that is written as it is.
type rawJSON []byte

// MarshalJSON returns the text.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

// Run changes a hazard.
func (k *correctCmd) Run(ctx context.Context, c *console) error {
	fields, err := k.fields(c.now())
	if err != nil {
		return err
	}
	if len(fields) == 0 {
		return errors.New("nothing to change: give --severity, --name, --type, --description, --instruction, --until, --at or --area")
	}
	return k.edit(ctx, c, "corrected", func(server *client.Client) (wire.Hazard, error) {
		return server.Editor().PatchHazard(ctx, k.Hazard, fields, client.IfMatch(k.IfMatch))
	})
}

type endCmd struct {
	Hazard  string `arg:"" help:"Hazard: its number or uuid."`
	False   string `placeholder:"REASON" help:"It was a false alarm, and why. All who were told of it are told that it was false."`
	IfMatch string `placeholder:"ETAG" help:"End it only if this is its ETag, so that nobody else has changed it."`
	editFlags
}

// Run ends a hazard.
func (e *endCmd) Run(ctx context.Context, c *console) error {
	if e.False != "" {
		return e.edit(ctx, c, "taken back", func(server *client.Client) (wire.Hazard, error) {
			return server.Editor().Retract(ctx, e.Hazard, e.False, client.IfMatch(e.IfMatch))
		})
	}
	return e.edit(ctx, c, "ended", func(server *client.Client) (wire.Hazard, error) {
		return server.Editor().PatchHazard(ctx, e.Hazard, client.Fields{"status": "E"}, client.IfMatch(e.IfMatch))
	})
}

type mergeCmd struct {
	Hazard string `arg:"" help:"Hazard that ends: its number or uuid."`
	Into   string `arg:"" help:"Hazard that it is merged into."`
	editFlags
}

// Run merges a hazard into another.
func (m *mergeCmd) Run(ctx context.Context, c *console) error {
	return m.edit(ctx, c, "merged", func(server *client.Client) (wire.Hazard, error) {
		return server.Editor().Merge(ctx, m.Hazard, m.Into)
	})
}

type undoCmd struct {
	Hazard string `arg:"" help:"Hazard: its number or uuid."`
	Change int64  `arg:"" optional:"" help:"Number of the change. Default: the last end, retraction, merge or split by a user."`
	editFlags
}

// Run takes back a change.
func (u *undoCmd) Run(ctx context.Context, c *console) error {
	return u.edit(ctx, c, "taken back", func(server *client.Client) (wire.Hazard, error) {
		change := u.Change
		if change == 0 {
			for one, err := range server.HazardChanges(ctx, u.Hazard, 0) {
				if err != nil {
					return wire.Hazard{}, err
				}
				if one.User != "" && (one.Reason != "" || one.Retracted) {
					change = one.Number
				}
			}
		}
		if change == 0 {
			return wire.Hazard{}, fmt.Errorf("hazard %s has no end, retraction or merge by a user, expected one, or the number of a change", u.Hazard)
		}
		return server.Editor().Undo(ctx, u.Hazard, change)
	})
}
