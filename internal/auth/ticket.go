package auth

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// A ticket opens one event stream and is part of an address: a browser's EventSource cannot send
// headers, and a token in an address would be valid too long, because addresses are logged. It is
// its own kind of token, valid for TicketLife and one use on any node, and contains the parameters
// of the stream, so that it opens no other. The stream lasts as long as the token that bought the
// ticket, and at most as long as its session.

// TicketLife is how long a ticket is valid.
const TicketLife = time.Minute

const ticketType = "es+jwt"

// ticketClaims are the additional claims of a ticket.
type ticketClaims struct {
	claims `json:",inline"`
	// Query is the requested query of the stream.
	Query string `json:"query"`
	// Of the token that it was bought with.
	Token   uuid.UUID      `json:"token"`
	Until   hazard.Instant `json:"until"`
	Issued  hazard.Instant `json:"issued"`
	Foreign bool           `json:"foreign"`
}

// Ticket is a ticket.
type Ticket struct {
	Text    string
	Expires hazard.Instant // refused from then on
}

// Ticket returns a ticket for the event stream with these parameters, for a caller from Verify. The
// error is of the kind ErrInvalidToken if the caller has lost access, or has a read key, which
// needs no ticket.
func (s *Service) Ticket(c *Caller, query string, now hazard.Instant) (Ticket, error) {
	p := s.current.Load()
	if c.key != nil || c.Role == Public {
		return Ticket{}, refusal("a ticket is for a token")
	}
	c, err := p.judge(c)
	if err != nil {
		return Ticket{}, err
	}
	g, err := s.grant(p, p.user(c.Name), now)
	if err != nil {
		return Ticket{}, err
	}
	all := ticketClaims{Query: query, Token: c.JTI, Until: c.Expires, Issued: c.issued, Foreign: c.foreign}
	end := min(expiry(g.Issued, TicketLife), c.Expires)
	if all.claims, err = s.claims(g, c.Name, c.sid, end); err != nil {
		return Ticket{}, err
	}
	text, err := sign(p.keys[g.KeyID], ticketType, &all)
	return Ticket{text, end}, err
}

// UseTicket returns the caller that a ticket speaks for, as of now, and the parameters of the stream that it opens. The ticket is used up then, on all
// nodes. Errors are of the kind ErrInvalidToken, or the store's.
func (s *Service) UseTicket(ctx context.Context, text string, now hazard.Instant) (*Caller, string, error) {
	p := s.current.Load()
	c, err := s.read(p, text, ticketType, TicketLife, now)
	if err != nil {
		return nil, "", err
	}
	var all ticketClaims
	body, _ := decode(strings.Split(text, ".")[1])
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, "", refusal("malformed claims")
	}
	ticket, end := c.JTI, c.Expires
	c.JTI, c.Expires, c.issued, c.foreign = all.Token, all.Until, all.Issued, all.Foreign
	if now >= c.Expires {
		return nil, "", errExpired
	}
	if c, err = p.judge(c); err != nil {
		return nil, "", err
	}
	if err := s.Once(ctx, ticket, end.Add(clockSkew)); errors.Is(err, hazard.ErrConflict) {
		return nil, "", refusal("the ticket was used")
	} else if err != nil {
		return nil, "", err
	}
	return c, all.Query, nil
}
