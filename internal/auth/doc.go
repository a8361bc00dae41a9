// Package auth says who a caller is and what role and organizations he has: users, organizations, passwords, tokens,
// signing keys, and the limits on failed logins.
//
// A Service keeps users, organizations, keys and revocations in memory as one immutable picture, which Reload replaces
// whole. Verify asks nothing but that picture, so that a request with a token costs no query and goes on while the store
// is away. Rights come from the picture, never from a token's claims: who is disabled or leaves an organization has lost
// it on every node as soon as that node has reloaded.
//
// Some logins of a user are kept, so that the user can see and end them: fifty at once, and one more every ten minutes. All others write no
// row: their refresh tokens take up room in the store from their first use on. So clients of the base interface, which know no refresh
// and log in again for each request, cost signatures, and users can log in while the store is away. The state of a refresh token is one row per login, whatever the number of its renewals.
//
// All methods of a Service may be called at the same time. Time is an argument. The package knows neither HTTP nor SQL;
// what it needs of a store is Store. Passwords, hashes, tokens and seeds of keys are types that show nothing of
// themselves to fmt, log/slog and encoding/json.
package auth
