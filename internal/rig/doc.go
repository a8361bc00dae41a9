// Package rig tries to break the promise that nothing acknowledged is ever lost: it runs the real program, lets clients write, kills it, cuts the
// power of its disk or fills it, and compares what is there afterwards with what was acknowledged.
//
// A kill cannot see a missing fsync: the kernel still has what the program wrote. Cutting the power can, and a test shows that
// it does: with synchronous writing switched off the rig must see a loss.
package rig
