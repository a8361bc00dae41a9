// Package kill tests the promise that no acknowledged write is ever lost. It runs the real program
// and lets clients write. It kills the program, cuts the power of its disk or fills the disk. Then
// it compares the stored data with the acknowledged writes.
//
// A kill cannot reveal a missing fsync, because the kernel still has what the program wrote. A
// power cut can, and a test proves it: with synchronous writes switched off, the rig must find a
// loss.
package kill
