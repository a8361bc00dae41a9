// Package hazardd is empty. Its tests check the code against ARCHITECTURE.md, go.mod and the
// documents.
package hazardd
