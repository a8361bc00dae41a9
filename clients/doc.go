// Package clients tests the clients in TypeScript and Python. The test runs one table of cases
// (cases.json) with these and with the Go client, each against a separate real service.
package clients
