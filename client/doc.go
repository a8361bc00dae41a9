// Package client is the Go client of a hazard data service: of hazardd, and of every other server of the base interface.
//
//	go get github.com/hazardd/hazardd/client
//
//	c, err := client.New("https://hazards.example", client.Options{Username: "ann", Password: password})
//	hazards, err := c.Active(ctx)
//
// A Client logs in when it first needs to, gets new tokens quietly before the old ones expire, and logs in anew, once, when the server
// refuses one. It never asks twice for the same reason: what the server refuses after that is an error. It is safe for concurrent use;
// however many requests wait for a token, one login is under way.
//
// Passwords and tokens go to the scheme, host and port of the base URL and nowhere else: redirects to another place are errors, and so are
// those of anything but GET. Neither is ever part of an error, or printed with the Client or its Options.
//
// A list keeps what could be read: a record that is not what it should be stands in Rejected, with its text and the reason, and of a list
// that breaks off the records before the break are returned beside the error. Numbers may come as strings and strings as numbers, members
// may be missing, null or unknown: servers differ.
//
// Errors that the server answers are a *Problem; errors.Is tells their kind (ErrUnauthorized, ErrForbidden, ErrNotFound, ErrStale, …).
// Answers that are not of such a service (a page of a proxy, a body that breaks off) are an *AnswerError. Every request ends within
// Options.Timeout, and no more than Options.MaxBody is read.
//
// Why a hazard is one is told by Reports, what each source says of it, and PayloadFile, what the source gave. Joins lists what rules have
// joined; JudgeJoin keeps it together or parts it.
//
// Hazards and products are named by a string: their uuid, or their number (ID writes it). Servers other than hazardd may know numbers only.
package client
