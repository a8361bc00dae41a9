package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/client"
)

type subscriptionCmd struct {
	List   subscriptionListCmd   `cmd:"" help:"List your subscriptions; for an admin, all subscriptions."`
	Add    subscriptionAddCmd    `cmd:"" help:"Add a subscription to hazards."`
	Remove subscriptionRemoveCmd `cmd:"" help:"Remove a subscription, with its addresses and waiting messages."`
}

// subscriptionFlags are the flags of all subscription commands.
type subscriptionFlags struct{ serverFlags }

// Validate reports contradicting flags before any password prompt.
func (f *subscriptionFlags) Validate() error { return f.needed() }

// with logs in at the server and calls do.
func (f *subscriptionFlags) with(ctx context.Context, c *console, do func(*client.Client) error) error {
	server, err := f.client(ctx, c, "hazardd-subscription")
	if err != nil {
		return err
	}
	return f.explain(do(server))
}

type subscriptionListCmd struct{ subscriptionFlags }

// Run lists subscriptions.
func (l *subscriptionListCmd) Run(ctx context.Context, c *console) error {
	return l.with(ctx, c, func(server *client.Client) error {
		list := []client.Subscription{}
		for s, err := range server.Subscriptions(ctx) {
			if err != nil {
				return err
			}
			list = append(list, s)
		}
		return c.print(list, func(out io.Writer) error {
			t := newTable("ID", "OWNER", "CHANNEL", "TO", "STATUS", "WAITING", "WHERE", "NAME")
			t.colours[4] = map[string]string{"active": green, "unconfirmed": yellow, "paused": yellow, "suspended": red}
			var suspended []string
			for _, s := range list {
				for _, ch := range s.Channels {
					status := ch.Status
					if status == "active" {
						status = s.Status
					}
					if ch.Reason != "" {
						suspended = append(suspended, fmt.Sprintf("%s, channel %s, is suspended: %s", s.ID, ch.ID, oneLine(ch.Reason)))
					}
					t.add(s.ID, s.Owner, channelName(ch), cut(oneLine(ch.To), 40), status, fmt.Sprint(s.Waiting), cut(wherePrinted(s.Where), 40), cut(oneLine(s.Name), 30))
				}
			}
			if err := t.write(out, c.colour); err != nil {
				return err
			}
			for _, line := range suspended {
				c.note("%s", line)
			}
			return nil
		})
	})
}

// channelName returns the name of a channel as the command line takes it.
func channelName(ch client.Channel) string {
	if ch.Template != "" {
		return ch.Template
	}
	return ch.Kind
}

// wherePrinted describes the places of a subscription on one line.
func wherePrinted(w *client.SubscriptionWhere) string {
	if w == nil {
		return "everywhere"
	}
	var parts []string
	for _, p := range w.Points {
		at := fmt.Sprintf("%g,%g", p.Lon, p.Lat)
		if p.Name != "" {
			at = oneLine(p.Name)
		}
		parts = append(parts, fmt.Sprintf("%g km around %s", p.Radius, at))
	}
	if len(w.Areas) > 0 {
		parts = append(parts, "an area")
	}
	if w.Assets != nil {
		parts = append(parts, fmt.Sprintf("assets of %s within %g km", oneLine(w.Assets.Organization), w.Assets.Within))
	}
	return strings.Join(append(parts, w.Regions...), "; ")
}

type subscriptionAddCmd struct {
	Channel   string   `arg:"" placeholder:"CHANNEL" help:"email, webpush, or the name of an HTTP channel of the server."`
	Address   string   `arg:"" placeholder:"ADDRESS" help:"Email address, or another address that the channel accepts."`
	Name      string   `placeholder:"TEXT" help:"Name of the subscription, for people."`
	Point     []nearby `sep:"none" placeholder:"LON,LAT,KM[,NAME]" help:"Place and radius within which hazards matter; may be repeated."`
	Region    []string `placeholder:"CODE" help:"Country by ISO 3166-1, such as KE; may be repeated."`
	Assets    assets   `placeholder:"ORG[,KM]" help:"Acronym of an organization of the user, whose assets matter, and the radius around a hazard. Default: assets inside its area."`
	Area      string   `type:"existingfile" placeholder:"FILE" help:"File with an area, as a GeoJSON geometry."`
	Type      []string `placeholder:"TYPE" help:"Type of hazard, such as FLOOD; may be repeated. Default: all."`
	Category  []string `placeholder:"CATEGORY" help:"Category, such as EVENT; may be repeated. Default: all."`
	Severity  string   `placeholder:"LEVEL" help:"Lowest severity, such as WATCH. Default: all."`
	Measure   string   `placeholder:"NAME:LOW..HIGH" help:"Measurements that a hazard must have, as in a search, such as magnitude:6.."`
	People    int64    `placeholder:"N" help:"Lowest number of people in the hazard's area."`
	Drills    bool     `help:"Include drills."`
	Language  string   `placeholder:"LIST" help:"Languages of the messages, such as de or pt-BR,en."`
	TimeZone  string   `placeholder:"ZONE" help:"Time zone, such as Europe/Berlin. Default: UTC."`
	Quiet     quiet    `placeholder:"FROM-TO" help:"Times of day without messages, such as 22:00-07:00."`
	Except    string   `placeholder:"LEVEL" help:"Lowest severity of messages that are sent in quiet times too. Default: WARNING."`
	Digest    string   `enum:"none,daily,weekly" default:"none" placeholder:"none|daily|weekly" help:"Combine the messages: daily at 08:00, or weekly on Mondays."`
	Confirmed bool     `help:"Use the address without asking its owner for confirmation (admin)."`
	subscriptionFlags
}

// nearby is a point and a radius.
type nearby client.SubscriptionPoint

// UnmarshalText parses LON,LAT,KM[,NAME].
func (p *nearby) UnmarshalText(text []byte) error {
	parts := strings.SplitN(string(text), ",", 4)
	numbers := [3]float64{}
	for i := range numbers {
		var err error
		if i >= len(parts) {
			err = strconv.ErrSyntax
		} else {
			numbers[i], err = strconv.ParseFloat(strings.TrimSpace(parts[i]), 64)
		}
		if err != nil {
			return fmt.Errorf("%q is not LON,LAT,KM[,NAME], such as 36.82,-1.29,50,home", text)
		}
	}
	*p = nearby{Lon: numbers[0], Lat: numbers[1], Radius: numbers[2]}
	if len(parts) == 4 {
		p.Name = strings.TrimSpace(parts[3])
	}
	return nil
}

// assets are the assets of an organization.
type assets client.SubscriptionAssets

// UnmarshalText parses ORG[,KM].
func (a *assets) UnmarshalText(text []byte) (err error) {
	org, km, far := strings.Cut(string(text), ",")
	*a = assets{Organization: strings.TrimSpace(org)}
	if far {
		a.Within, err = strconv.ParseFloat(strings.TrimSpace(km), 64)
	}
	if err != nil || a.Organization == "" {
		return fmt.Errorf("%q is not ORG[,KM], such as RED,25", text)
	}
	return nil
}

// quiet is a time of day without messages.
type quiet client.Quiet

// UnmarshalText parses FROM-TO.
func (q *quiet) UnmarshalText(text []byte) error {
	from, to, ok := strings.Cut(string(text), "-")
	if !ok {
		return fmt.Errorf("%q is not FROM-TO, such as 22:00-07:00", text)
	}
	q.From, q.To = from, to
	return nil
}

// Validate reports flags that have no effect.
func (a *subscriptionAddCmd) Validate() error {
	if a.Except != "" && a.Quiet == (quiet{}) {
		return fmt.Errorf("--except applies to quiet times; give --quiet too")
	}
	return a.needed()
}

// Run creates a subscription.
func (a *subscriptionAddCmd) Run(ctx context.Context, c *console) error {
	fields, err := a.fields()
	if err != nil {
		return err
	}
	return a.with(ctx, c, func(server *client.Client) error {
		s, err := server.CreateSubscription(ctx, fields)
		if err != nil {
			return err
		}
		return c.print(s, func(out io.Writer) error {
			next := "Messages are sent for changes from now on."
			if s.Channels[0].Status == "unconfirmed" {
				next = "The owner of the address gets an email to confirm it. Messages begin once the link in it is opened; it is valid for 48 hours."
			}
			_, err := fmt.Fprintf(out, "subscription  %s\nwhere         %s\n\n%s\n", s.ID, wherePrinted(s.Where), next)
			return err
		})
	})
}

// fields converts the flags to the fields of a subscription.
func (a *subscriptionAddCmd) fields() (f client.SubscriptionFields, err error) {
	ch := client.Channel{Kind: a.Channel, To: a.Address}
	if a.Channel != "email" && a.Channel != "webpush" {
		ch.Kind, ch.Template = "http", a.Channel
	}
	f = client.SubscriptionFields{Channels: []client.Channel{ch}, Types: a.Type, Categories: a.Category, Digest: &a.Digest}
	for value, field := range map[*string]**string{&a.Name: &f.Name, &a.Severity: &f.Severity, &a.Measure: &f.Measure, &a.Language: &f.Language, &a.TimeZone: &f.Zone} {
		if *value != "" {
			*field = value
		}
	}
	if a.People != 0 {
		f.People = &a.People
	}
	if a.Drills {
		f.Drills = &a.Drills
	}
	if a.Confirmed {
		f.Confirmed = &a.Confirmed
	}
	if a.Quiet != (quiet{}) {
		f.Quiet = &client.Quiet{From: a.Quiet.From, To: a.Quiet.To, Except: a.Except}
	}
	where := client.SubscriptionWhere{Regions: a.Region}
	for _, p := range a.Point {
		where.Points = append(where.Points, client.SubscriptionPoint(p))
	}
	if a.Assets.Organization != "" {
		where.Assets = (*client.SubscriptionAssets)(&a.Assets)
	}
	if a.Area != "" {
		text, err := os.ReadFile(a.Area)
		if err != nil {
			return f, err
		}
		if where.Areas = text; !where.Areas.IsValid() {
			return f, fmt.Errorf("--area: %s does not hold JSON: expected a GeoJSON geometry", a.Area)
		}
	}
	if len(where.Points) > 0 || len(where.Regions) > 0 || len(where.Areas) > 0 || where.Assets != nil {
		f.Where = &where
	}
	return f, nil
}

type subscriptionRemoveCmd struct {
	ID string `arg:"" placeholder:"ID" help:"ID of the subscription, from hazardd subscription list."`
	subscriptionFlags
}

// Run removes a subscription.
func (r *subscriptionRemoveCmd) Run(ctx context.Context, c *console) error {
	return r.with(ctx, c, func(server *client.Client) error {
		if err := server.DeleteSubscription(ctx, r.ID); err != nil {
			return err
		}
		return c.print(map[string]string{"removed": r.ID}, func(out io.Writer) error {
			_, err := fmt.Fprintf(out, "%s is removed, with its addresses\n", r.ID)
			return err
		})
	})
}
