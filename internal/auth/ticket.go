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

// A ticket opens one event stream and is part of an address. It is needed because a browser's
// EventSource cannot send headers, and addresses are logged, so a token in one would be valid too
// long. A ticket is a separate kind of token, valid for ticketLife and for one use on any node. It
// contains the parameters of the stream, so that it opens no other. The stream lasts as long as the
// token that bought the ticket, and at most as long as its session.

// ticketLife is how long a ticket is valid.
const ticketLife = time.Minute

const ticketType = "es+jwt"

// ticketClaims are the additional claims of a ticket.
type ticketClaims struct {
	claims `json:",inline"`
	// Query is the requested query of the stream.
	Query string `json:"query"`
	// These fields are from the token with which the ticket was bought.
	Token   uuid.UUID      `json:"token"`
	Until   hazard.Instant `json:"until"`
	Issued  hazard.Instant `json:"issued"`
	Foreign bool           `json:"foreign"`
}

// Ticket is a ticket.
type Ticket struct {
	Text    string
	Expires hazard.Instant // when the ticket expires
}

// Ticket returns a ticket for the event stream with these parameters, for a caller from Verify. The
// error is of the kind ErrInvalidToken if the caller has lost access, or has a read key, which
// needs no ticket.
func (s *Service) Ticket(c *Caller, query string, now hazard.Instant) (Ticket, error) {
	p := s.current.Load()
	if c.key != nil || c.Role == Public {
		return Ticket{}, refusal("a ticket requires a token")
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
	end := min(expiry(g.Issued, ticketLife), c.Expires)
	if all.claims, err = s.claims(g, c.Name, c.sid, end); err != nil {
		return Ticket{}, err
	}
	text, err := sign(p.keys[g.KeyID], ticketType, &all)
	return Ticket{text, end}, err
}

// UseTicket returns the caller of a ticket, as of now, and the parameters of the stream that it
// opens. The ticket is then used up on all nodes. The error is of the kind ErrInvalidToken, or
// comes from the store.
func (s *Service) UseTicket(ctx context.Context, text string, now hazard.Instant) (*Caller, string, error) {
	p := s.current.Load()
	c, err := s.read(p, text, ticketType, ticketLife, now)
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
