// Package client is the Go client of a hazard data service: of hazardd, and of any other server of
// the base interface.
//
//	go get github.com/hazardd/hazardd/client
//
//	c, err := client.New("https://hazards.example", client.Options{Username: "ann", Password: password})
//	hazards, err := c.Active(ctx)
//
// A Client logs in on first use and renews its tokens before they expire. If the server refuses a
// token, it logs in again, once; a further refusal is returned as an error. It is safe for
// concurrent use. However many requests wait for a token, only one login is in progress.
//
// Passwords and tokens are only sent to the scheme, host and port of the base URL. Redirects to
// another place are errors, and so are redirects of anything but GET. Secrets are never part of an
// error, nor printed with the Client or its Options.
//
// Lists are read as far as possible. An invalid record goes to Rejected with its text and the
// reason. If a list is cut off, the records before are returned with the error. Numbers may be
// strings and strings numbers, and members may be missing, null or unknown, because servers differ.
//
// An error answer of the server is a *Problem; use errors.Is for its kind (ErrUnauthorized,
// ErrForbidden, ErrNotFound, ErrStale, …). An answer that does not come from such a service (a
// proxy's page, a truncated body) is an *AnswerError. Every request ends within Options.Timeout,
// and reads at most Options.MaxBody.
//
// A Client reads; what needs a role is grouped: c.Editor() writes hazards and products, and decides
// about drafts and joins, c.Admin() manages accounts, c.Webhooks() manages webhooks.
//
// Reports returns what each source reports about a hazard, and PayloadFile a source's payload as
// received.
//
// A hazard or product is identified by a string: its UUID, or its number (formatted by ID). Servers
// other than hazardd may only know numbers.
package client
