// Package cluster tests the promises of several nodes on one PostgreSQL cluster. It runs three real
// nodes behind a real nginx, on a primary and a standby. It lets clients write, read and stream,
// breaks one thing after the other, and checks what every client has seen.
//
// A History is what the clients recorded, with the log as it was at the end. Check finds violations
// in it. It does not know what was broken, except when the clients of a node may be refused, and
// whether a failover may have lost changes. The checker is tested with histories that contain each
// fault.
package cluster
