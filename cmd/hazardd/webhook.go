package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/lang"
)

type webhookCmd struct {
	List       webhookListCmd       `cmd:"" help:"List your webhooks; for an admin, all webhooks."`
	Add        webhookAddCmd        `cmd:"" help:"Create a webhook and print its secret."`
	Test       webhookTestCmd       `cmd:"" help:"Send a test message."`
	Set        webhookSetCmd        `cmd:"" help:"Pause or resume a webhook."`
	Deliveries webhookDeliveriesCmd `cmd:"" help:"List the latest deliveries and their results."`
	Redeliver  webhookRedeliverCmd  `cmd:"" help:"Repeat a delivery."`
	Remove     webhookRemoveCmd     `cmd:"" help:"Remove a webhook."`
}

// hookFlags are the flags of all webhook commands.
type hookFlags struct{ serverFlags }

// Validate reports contradicting flags before any password prompt.
func (h *hookFlags) Validate() error { return h.needed() }

// with logs in at the server and calls f.
func (h *hookFlags) with(ctx context.Context, c *console, f func(*client.Client) error) error {
	server, err := h.client(ctx, c, "hazardd-webhook")
	if err != nil {
		return err
	}
	return h.explain(f(server))
}

type webhookListCmd struct{ hookFlags }

// Run lists webhooks.
func (w *webhookListCmd) Run(ctx context.Context, c *console) error {
	return w.with(ctx, c, func(server *client.Client) error {
		list, err := server.Webhooks().List(ctx)
		if err != nil {
			return err
		}
		return c.print(list.Items, func(out io.Writer) error {
			t := newTable("ID", "OWNER", "STATUS", "FORMAT", "WAITING", "ADDRESS", "NAME")
			t.colours[2] = map[string]string{"active": green, "paused": yellow, "disabled": red}
			for _, h := range list.Items {
				t.add(h.ID, h.Owner, h.Status, h.Format, fmt.Sprint(h.Pending), cut(h.URL, 60), cut(h.Name, 30))
			}
			if err := t.write(out, c.colour); err != nil {
				return err
			}
			for _, h := range list.Items {
				if h.Reason != "" {
					c.note("%s is disabled: %s", h.ID, oneLine(h.Reason))
				}
			}
			return nil
		})
	})
}

type webhookAddCmd struct {
	Address string            `arg:"" placeholder:"URL" help:"Address that receives the deliveries."`
	Name    string            `placeholder:"TEXT" help:"Name of the webhook, for people."`
	Format  string            `enum:"standard,slack,text,cloudevents,cloudevents-binary" default:"standard" placeholder:"NAME" help:"Format of the messages: ${enum}."`
	Filter  map[string]string `placeholder:"NAME=VALUE" help:"Search parameter that selects the changes, such as severity=WARNING; may be repeated, or separated by semicolons."`
	Event   []string          `placeholder:"KIND" help:"Kind of change to deliver, such as hazard.created; may be repeated."`
	Lang    tongues           `placeholder:"TAG,…" help:"Preferred languages of the authorities' texts, best first, such as fr-CA,fr."`
	hookFlags
}

// Run creates a webhook.
func (w *webhookAddCmd) Run(ctx context.Context, c *console) error {
	return w.with(ctx, c, func(server *client.Client) error {
		h, err := server.Webhooks().Create(ctx, client.WebhookFields{URL: &w.Address, Name: &w.Name, Format: &w.Format, Filter: w.Filter, Events: w.Event,
			Language: new(lang.Wish(w.Lang).String())})
		if err != nil {
			return err
		}
		return c.print(h, func(out io.Writer) error {
			_, err := fmt.Fprintf(out, "webhook  %s\nsecret   %s\n\nThe secret is shown only once. hazardd webhook test %s sends a test message.\n", h.ID, h.Secret, h.ID)
			return err
		})
	})
}

type webhookTestCmd struct {
	ID string `arg:"" placeholder:"ID" help:"The webhook."`
	hookFlags
}

// Run sends a test message.
func (w *webhookTestCmd) Run(ctx context.Context, c *console) error {
	return w.with(ctx, c, func(server *client.Client) error {
		done, err := server.Webhooks().Test(ctx, w.ID)
		if err != nil {
			return err
		}
		what := done.Error
		if done.Status != 0 {
			what = strings.TrimSpace(fmt.Sprintf("answered %d", done.Status))
		}
		if err := c.print(done, func(out io.Writer) error {
			if !done.Delivered {
				return nil
			}
			_, err := fmt.Fprintf(out, "delivered: %s within %d ms\n", what, done.Took)
			return err
		}); err != nil || done.Delivered {
			return err
		}
		return fmt.Errorf("the test message was not accepted: %s, after %d ms", what, done.Took)
	})
}

type webhookSetCmd struct {
	ID     string `arg:"" placeholder:"ID" help:"The webhook."`
	Status string `arg:"" enum:"active,paused" placeholder:"active|paused" help:"New status of the webhook."`
	hookFlags
}

// Run pauses or resumes a webhook.
func (w *webhookSetCmd) Run(ctx context.Context, c *console) error {
	return w.with(ctx, c, func(server *client.Client) error {
		h, err := server.Webhooks().Patch(ctx, w.ID, client.WebhookFields{Status: &w.Status})
		if err != nil {
			return err
		}
		return c.print(h, func(out io.Writer) error {
			_, err := fmt.Fprintf(out, "%s is %s; %d deliveries wait\n", h.ID, h.Status, h.Pending)
			return err
		})
	})
}

type webhookDeliveriesCmd struct {
	ID    string `arg:"" placeholder:"ID" help:"The webhook."`
	State string `enum:",pending,delivered,failed,dropped" default:"" placeholder:"pending|delivered|failed|dropped" help:"Only those in this state."`
	Limit int    `default:"20" placeholder:"N" help:"How many, the latest first."`
	hookFlags
}

// Run lists deliveries.
func (w *webhookDeliveriesCmd) Run(ctx context.Context, c *console) error {
	return w.with(ctx, c, func(server *client.Client) error {
		list := []client.Delivery{}
		for d, err := range server.Webhooks().Deliveries(ctx, w.ID, w.State) {
			if err != nil {
				return err
			}
			if list = append(list, d); len(list) >= w.Limit {
				break
			}
		}
		return c.print(list, func(out io.Writer) error {
			t := newTable("NUMBER", "CHANGE", "HAZARD", "STATE", "ATTEMPTS", "ANSWER", "ERROR", "MS", "LAST", "NEXT")
			t.colours[3] = map[string]string{"delivered": green, "pending": yellow, "failed": red, "dropped": dim}
			for _, d := range list {
				answer := ""
				if d.Status != 0 {
					answer = fmt.Sprint(d.Status)
				}
				t.add(fmt.Sprint(d.ID), fmt.Sprint(d.Change), fmt.Sprint(d.HazardID), d.State, fmt.Sprint(d.Attempts), answer, d.Error, fmt.Sprint(d.Took), d.Last, d.Next)
			}
			return t.write(out, c.colour)
		})
	})
}

type webhookRedeliverCmd struct {
	ID       string `arg:"" placeholder:"ID" help:"The webhook."`
	Delivery int64  `arg:"" placeholder:"NUMBER" help:"Number of the delivery, from hazardd webhook deliveries."`
	hookFlags
}

// Run repeats a delivery.
func (w *webhookRedeliverCmd) Run(ctx context.Context, c *console) error {
	return w.with(ctx, c, func(server *client.Client) error {
		d, err := server.Webhooks().Redeliver(ctx, w.ID, w.Delivery)
		if err != nil {
			return err
		}
		return c.print(d, func(out io.Writer) error {
			_, err := fmt.Fprintf(out, "delivery %d repeats change %d\n", d.ID, d.Change)
			return err
		})
	})
}

type webhookRemoveCmd struct {
	ID string `arg:"" placeholder:"ID" help:"The webhook."`
	hookFlags
}

// Run removes a webhook.
func (w *webhookRemoveCmd) Run(ctx context.Context, c *console) error {
	return w.with(ctx, c, func(server *client.Client) error {
		if err := server.Webhooks().Delete(ctx, w.ID); err != nil {
			return err
		}
		return c.print(map[string]string{"removed": w.ID}, func(out io.Writer) error {
			_, err := fmt.Fprintf(out, "%s is removed\n", w.ID)
			return err
		})
	})
}
