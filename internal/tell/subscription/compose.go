package subscription

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/message"
)

const (
	maxItems = 20 // hazards in a summary or a digest; the next one has the others
	// lateAfter is the age of a change from which on a message is marked as late
	// (reliability-security.md section 0.8).
	lateAfter = time.Minute
	// confirmLife is how long an address can be confirmed.
	confirmLife = 48 * time.Hour
)

// compose returns the message of deliveries to a channel; more others are left for the next one.
func (s *Service) compose(sub *subscription, c *Channel, list []delivery, more int, kind message.Kind, id string, now hazard.Instant) message.Notice {
	n := message.Notice{ID: id, Kind: kind, More: more, Name: sub.Name, Subscription: uuid.MustParse(sub.ID), Zone: sub.location()}
	for tag := range strings.SplitSeq(sub.Language, ",") {
		if tag, _, _ = strings.Cut(tag, ";"); strings.TrimSpace(tag) != "" {
			n.Language = append(n.Language, strings.TrimSpace(tag))
		}
	}
	since := now
	for _, d := range list {
		if d.at.After(n.At) {
			n.At = d.at
		}
		since = min(since, d.row.Since)
		if d.row.HazardID <= 0 {
			continue
		}
		if len(list) == 1 {
			n.Thread = d.last.Thread
		}
		if s.Authority != nil {
			d.item.Authority = s.Authority(&d.item.Hazard)
		}
		if s.Links {
			d.item.Link = s.BaseURL + "/h/" + d.item.Hazard.UUID.String()
		}
		n.Items = append(n.Items, d.item)
	}
	if len(list) > 1 {
		bySeverity(n.Items)
	}
	if late := time.Duration(now-since) * time.Millisecond; late > lateAfter && kind != message.Confirm && kind != message.Drafts && kind != message.Digest {
		n.Late = late
	}
	if kind == message.Confirm && c.Kind == channel.HTTP {
		n.Code = s.Key.code(sub.ID, c)
		return n
	}
	if s.Links {
		link := func(purpose string, until hazard.Instant) string {
			return s.BaseURL + "/subscriptions/" + purpose + "?token=" + s.Key.sign(purpose, sub.ID, c.ID, c.Stamp, until)
		}
		n.Manage, n.Unsubscribe = link(ToManage, 0), link(ToUnsubscribe, 0)
		if kind == message.Confirm {
			n.Link = link(ToConfirm, now.Add(confirmLife))
		} else if kind == message.Drafts {
			n.Link = s.BaseURL + "/"
		} else if len(n.Items) == 1 {
			n.Link = n.Items[0].Link
		}
	}
	return n
}
