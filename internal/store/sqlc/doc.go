// Package sqlc holds typed Go functions for the statements in ../queries. sqlc generates everything
// but this file; run `make generate` after a change.
package sqlc
