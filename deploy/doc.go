// Package deploy holds files that run hazardd. Its tests check them against the real programs: nginx runs
// in front of nodes, systemd reads the unit, and every setting, port and path in a file is the program's.
package deploy
