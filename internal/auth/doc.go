// Package auth authenticates callers and determines their role and organizations. It has users,
// organizations, passwords, tokens, signing keys, and the limits on failed logins.
//
// A Service holds users, organizations, keys and revocations in memory as one immutable snapshot,
// which Reload replaces. Verify only uses that snapshot. So a request with a token costs no query,
// and works while the store is unreachable. Rights come from the snapshot, never from a token's
// claims: a user who is disabled or leaves an organization loses the rights on every node once that
// node has reloaded.
//
// Some logins of a user are stored, so that the user can see and end them: fifty at once, and one
// more every ten minutes. Other logins write no row; their refresh tokens are stored on first use.
// So clients of the base interface, which cannot refresh and log in for each request, only cost
// signatures, and users can log in while the store is unreachable. The state of refresh tokens is
// one row per login, however often it is renewed.
//
// All methods of a Service are safe for concurrent use. Time is an argument. The package knows
// neither HTTP nor SQL; it uses a store through the interface Store. Passwords, hashes, tokens and
// seeds of keys have types that fmt, log/slog and encoding/json print as "redacted".
package auth
