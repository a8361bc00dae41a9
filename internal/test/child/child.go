// Package child prepares the processes that tests and benchmarks start, as far as the system can: on Linux they end with the process that started them, however that dies.
package child
