// Package cluster tries to break the promises of many nodes on one PostgreSQL cluster: it runs three real nodes behind a real nginx on a primary
// and a standby, lets clients write, read and stream, breaks one thing after the other, and judges what every client has seen.
//
// A History is what the clients recorded, with the log as it was read in the end; Check finds what must not be in it. It does not know what was
// broken, but for the times at which a node's own clients may be refused, and whether a failover may have lost changes. The checker is tested by
// histories with each fault.
package cluster
