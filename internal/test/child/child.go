// Package child makes child processes of tests and benchmarks end with their parent, however it
// dies. This works on Linux only.
package child
