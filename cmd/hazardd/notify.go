package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/tell/channel"
)

type notifyCmd struct {
	Status notifyStatusCmd `cmd:"" help:"Show the state of notifications: subscribers, waiting messages and results (admin)."`
	Test   notifyTestCmd   `cmd:"" help:"Send a test message with the server's settings, and show the result."`
}

type notifyStatusCmd struct{ subscriptionFlags }

// Run shows the state of notifications.
func (n *notifyStatusCmd) Run(ctx context.Context, c *console) error {
	return n.with(ctx, c, func(server *client.Client) error {
		st, err := server.SubscriptionsState(ctx)
		if err != nil {
			return err
		}
		return c.print(st, func(out io.Writer) error {
			if _, err := fmt.Fprintf(out, "%d subscriptions; %d messages wait; changes up to %d are told, %d are not yet\n\n", st.Subscriptions, st.Waiting, st.Change, st.Behind); err != nil {
				return err
			}
			t := newTable("CHANNEL", "ACTIVE", "PAUSED", "UNCONFIRMED", "SUSPENDED", "WAITING", "SENT 24H", "FAILED 24H", "DELAY MEAN", "DELAY MAX")
			for _, ch := range st.Channels {
				mean, most := "", ""
				if ch.Sent > 0 {
					mean, most = milliseconds(ch.DelayMean), milliseconds(ch.DelayMax)
				}
				t.add(ch.Channel, fmt.Sprint(ch.Active), fmt.Sprint(ch.Paused), fmt.Sprint(ch.Unconfirmed), fmt.Sprint(ch.Suspended), fmt.Sprint(ch.Waiting), fmt.Sprint(ch.Sent),
					fmt.Sprint(ch.Failed), mean, most)
			}
			if err := t.write(out, c.colour); err != nil || len(st.Lanes) == 0 && len(st.Suspended) == 0 {
				return err
			}
			if len(st.Lanes) > 0 {
				fmt.Fprintln(out)
				t := newTable("WAITS FOR", "MESSAGES", "OLDEST", "ATTEMPTS")
				for _, l := range st.Lanes {
					t.add(l.Lane, fmt.Sprint(l.Waiting), l.Oldest, fmt.Sprint(l.Attempts))
				}
				if err := t.write(out, c.colour); err != nil {
					return err
				}
			}
			if len(st.Suspended) > 0 {
				fmt.Fprintln(out)
				t := newTable("SUSPENDED", "OWNER", "CHANNEL", "TO", "REASON")
				for _, s := range st.Suspended {
					t.add(s.Subscription, s.Owner, s.Channel, s.To, cut(oneLine(s.Reason), 60))
				}
				return t.write(out, c.colour)
			}
			return nil
		})
	})
}

func milliseconds(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d > time.Minute {
		d = d.Round(time.Second)
	}
	return d.String()
}

type notifyTestCmd struct {
	Channel      string    `arg:"" placeholder:"CHANNEL" help:"email, webpush, or the name of a file in the folder of --channels."`
	Address      string    `arg:"" placeholder:"ADDRESS" help:"Email address, or another address that the channel accepts."`
	Language     tongues   `placeholder:"LIST" help:"Languages of the message, such as de or pt-BR,en. Default: English."`
	WebhookAllow []network `placeholder:"RANGE" help:"Non-public addresses that webhooks and channels may reach, with http too and on every port."`
	channelFlags
}

// Run sends a test message.
func (n *notifyTestCmd) Run(ctx context.Context, c *console, g *globals) error {
	cfg := app.Config{Settings: app.Settings{DataDir: g.Data, Database: g.Database}}
	n.channelFlags.set(&cfg)
	for _, r := range n.WebhookAllow {
		cfg.WebhookAllow = append(cfg.WebhookAllow, netip.Prefix(r))
	}
	done, err := app.TestChannel(ctx, cfg, n.Channel, n.Address, lang.Wish(n.Language), c.now())
	if errors.Is(err, channel.ErrDisabled) {
		return fmt.Errorf("%s: %w: %s", n.Channel, err, enabling(n.Channel, n.Channels))
	}
	if err != nil {
		return err
	}
	if err := c.print(done, func(out io.Writer) error {
		if !done.Delivered {
			return nil
		}
		_, err := fmt.Fprintf(out, "delivered: the server took message %s within %d ms\n", done.Message, done.Took)
		return err
	}); err != nil || done.Delivered {
		return err
	}
	return fmt.Errorf("the test message was not accepted, after %d ms: %s", done.Took, done.Error)
}

// enabling says how to enable a channel.
func enabling(name, folder string) string {
	switch {
	case name == channel.Email:
		return "set --smtp and --smtp-from"
	case name == channel.WebPush:
		return "set --webpush"
	case folder == "":
		return "name the folder of HTTP channels with --channels"
	}
	return fmt.Sprintf("put %s.yaml into %s, or name a channel that is there", name, folder)
}
